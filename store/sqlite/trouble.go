package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/troupe-dev/troupe"
)

// A diskError is trouble with the disk. It counts as the system's error that is like it,
// so that those who explain errors to people need not know this package.
type diskError struct {
	text string
	like syscall.Errno
}

func (e *diskError) Error() string { return e.text }

// Is implements the interface that [errors.Is] looks for.
func (e *diskError) Is(target error) bool { return target == e.like }

var (
	// ErrFull reports that there was no room on the disk. Nothing was written; the
	// store goes on as soon as there is room.
	ErrFull error = &diskError{"the disk is full: nothing was written", syscall.ENOSPC}
	// ErrUnwritable reports that the system did not take what was to be written. Nothing
	// of it counts, and what was acknowledged before is untouched: a transaction is first
	// appended to the log file, and is none before its last page is there and synchronized.
	// The store goes on as soon as it can write again.
	ErrUnwritable error = &diskError{"the file cannot be written: a quota or a limit on the size of files is reached, or the disk fails", syscall.EFBIG}
	// ErrStopped reports a store that found its disk or its file not to be trusted,
	// and takes nothing more. It can be read; opening it again checks the file. After a
	// synchronization that failed, the system may take for written what is not on disk:
	// what is committed on top of that could be lost with it.
	ErrStopped error = &diskError{"the store takes nothing more until it is opened again", syscall.EIO}
	// ErrReadOnly reports a file that may not be written to, or a store that was
	// opened for reading.
	ErrReadOnly = errors.New("the store is read-only")
)

// codeOf returns SQLite's extended code of an error, 0 if it has none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return codes.SQLITE_OK
}

// primary returns what kind of error a code is of.
func primary(code int) int { return code & 0xff }

// explain says of an error what a person can do about it.
func explain(err error) error {
	switch code := codeOf(err); primary(code) {
	case codes.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case codes.SQLITE_IOERR:
		switch code {
		case codes.SQLITE_IOERR_SHMSIZE:
			return fmt.Errorf("%w: %w", ErrFull, err)
		case codes.SQLITE_IOERR_WRITE:
			return fmt.Errorf("%w: %w", ErrUnwritable, err)
		}
	}
	return err
}

// isDamage reports an error that says the file is not what SQLite wrote.
func isDamage(err error) bool {
	if _, found := errors.AsType[finding](err); found {
		return true
	}
	code := codeOf(err)
	return primary(code) == codes.SQLITE_NOTADB || primary(code) == codes.SQLITE_CORRUPT
}

// isIndexDamage reports an error that says the full-text index is damaged.
func isIndexDamage(err error) bool { return codeOf(err) == codes.SQLITE_CORRUPT_VTAB }

// isFatal reports an error of a write after which no other may be tried: what is
// on disk is not known. That the full-text index is damaged harms searches only, and
// what the system did not take at all is not on disk.
func isFatal(err error) bool {
	code := codeOf(err)
	return isDamage(err) && !isIndexDamage(err) ||
		primary(code) == codes.SQLITE_IOERR && code != codes.SQLITE_IOERR_SHMSIZE && code != codes.SQLITE_IOERR_WRITE
}

// isTrouble reports an error of a write that others will have, too, until somebody has
// done something about it.
func isTrouble(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrUnwritable) || errors.Is(err, ErrReadOnly)
}

// Trouble says why the store takes nothing at the moment, nil if it does. It looks for
// itself every second whether it can write again, unless it has stopped.
func (s *Store) Trouble() error {
	for _, why := range []*error{s.writer.broken.Load(), s.writer.trouble.Load()} {
		if why != nil {
			return *why
		}
	}
	return nil
}

// Stopped is closed when the store has stopped with [ErrStopped] and opening it again may
// help: not where its file is damaged, which is for a person to look at.
func (s *Store) Stopped() <-chan struct{} { return s.writer.stopped }

// isRefusal reports a write that was refused before it changed anything.
func isRefusal(err error) bool {
	return errors.Is(err, troupe.ErrConflict) || errors.Is(err, troupe.ErrNotFound) || errors.Is(err, troupe.ErrBusy)
}
