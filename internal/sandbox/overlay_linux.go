package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxUppers is how many programs may use an overlay at the same time; more do without.
const maxUppers = 32

// ownUppers gives every overlay a directory for changes that nobody else uses meanwhile:
// the kernel does not keep two mounts with the same one apart, and the second to come
// removes what the first is about to put there. The locks are held until they are closed,
// and a process that dies gives them up.
func ownUppers(overlays []Overlay) (own []Overlay, locks []*os.File) {
	for _, o := range overlays {
		if lock := o.takeUpper(); lock != nil {
			own, locks = append(own, o), append(locks, lock)
		}
	}
	return own, locks
}

// takeUpper takes the first directory that is free. Without one there is no overlay: it
// only saves time.
func (o *Overlay) takeUpper() *os.File {
	if os.MkdirAll(filepath.Dir(o.Upper), 0o755) != nil {
		return nil
	}
	first := o.Upper
	for n := range maxUppers {
		if n > 0 {
			o.Upper = fmt.Sprintf("%s.%d", first, n)
		}
		lock, err := os.OpenFile(o.Upper+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return lock
		} else if lock.Close(); !errors.Is(err, unix.EWOULDBLOCK) {
			return nil
		}
	}
	return nil
}
