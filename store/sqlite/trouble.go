package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/troupe-dev/troupe"
)

var (
	// ErrFull reports that there was no room on the disk. Nothing was written; the
	// store goes on as soon as there is room.
	ErrFull = errors.New("the disk is full: nothing was written")
	// ErrStopped reports a store that found its disk or its file not to be trusted,
	// and takes nothing more. It can be read; opening it again checks the file.
	ErrStopped = errors.New("the store takes nothing more until it is opened again")
	// ErrReadOnly reports a file that may not be written to, or a store that was
	// opened for reading.
	ErrReadOnly = errors.New("the store is read-only")

	errUnwritable = errors.New("the file cannot be written: a quota or a limit on the size of files is reached, or the disk fails")
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
			return fmt.Errorf("%w: %w", errUnwritable, err)
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

// isFatal reports an error of a write after which no other may be tried: what is
// on disk is not known. That the full-text index is damaged harms searches only.
func isFatal(err error) bool {
	code := codeOf(err)
	return isDamage(err) && code != codes.SQLITE_CORRUPT_VTAB ||
		primary(code) == codes.SQLITE_IOERR && code != codes.SQLITE_IOERR_SHMSIZE
}

// isRefusal reports a write that was refused before it changed anything.
func isRefusal(err error) bool {
	return errors.Is(err, troupe.ErrConflict) || errors.Is(err, troupe.ErrNotFound) || errors.Is(err, troupe.ErrBusy)
}
