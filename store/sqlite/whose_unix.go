//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"syscall"
)

// mayUse is an error where this process may not read and write a file.
func mayUse(name string) error {
	const read, write = 4, 2
	return syscall.Access(name, read|write)
}

// whose says whom a file belongs to that this process may not open, and what to do.
func whose(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() {
		return ""
	}
	return fmt.Sprintf(": it belongs to user %d, and this is user %d; run troupe as its owner, or give the data directory to this user with chown -R", owner.Uid, os.Geteuid())
}
