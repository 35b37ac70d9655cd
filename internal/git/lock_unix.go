//go:build unix

package git

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// tryLock locks a file for whoever has it open, programs that are started with it
// included. File systems without locks do without.
func tryLock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)
}

// passLock has a program keep a lock for as long as it runs, whoever started it.
func passLock(cmd *exec.Cmd, lock *os.File) { cmd.ExtraFiles = append(cmd.ExtraFiles, lock) }
