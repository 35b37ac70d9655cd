//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// openWithoutWaiting keeps open from waiting for the other end of a pipe, and a
// terminal from becoming ours.
const openWithoutWaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

// device returns the number of the file system that a file is on.
func device(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev)
	}
	return 0
}

// links returns how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// lockDir keeps others, in this process and in others, from looking at a directory for a
// name that they are about to make: of two names that differ only in case the second one
// must see the first. File systems without locks do without.
func lockDir(dir *os.Root) (unlock func()) {
	f, err := dir.Open(".")
	if err != nil {
		return func() {}
	}
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	return func() { f.Close() }
}

// syncDir makes the names in dir as durable as the files.
func syncDir(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
