//go:build unix

package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// giveTo has all that is in a directory, and itself, belong to whom another directory
// belongs to, where this process may do so: root restores for the user of a service.
func giveTo(dir, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("it is not known whom " + like + " belongs to")
	}
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, int(owner.Uid), int(owner.Gid))
	})
}
