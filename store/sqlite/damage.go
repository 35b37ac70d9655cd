package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A DamagedError reports a file that is damaged. Open has set it aside as it was,
// and the next Open begins an empty store.
type DamagedError struct {
	Path string
	// Aside is where the file is now, empty if it was opened for reading and is
	// where it was.
	Aside string
	Err   error
}

// Error says what to do.
func (e *DamagedError) Error() string {
	if e.Aside == "" {
		return fmt.Sprintf("%s is damaged (%v): put a backup in its place, or open it for writing to have it set aside", e.Path, e.Err)
	}
	return fmt.Sprintf("%s is damaged (%v) and was set aside unchanged as %s: put a backup in its place, or begin an empty store by opening it again; "+
		"what is left can be read with sqlite3 and its command .recover", e.Path, e.Err, filepath.Base(e.Aside))
}

func (e *DamagedError) Unwrap() error { return e.Err }

// A finding is damage that is not an error of SQLite's.
type finding string

func (f finding) Error() string { return string(f) }

const (
	isEmpty   finding = "it is empty"
	isMissing finding = "it is missing, and its -wal file is there"
	isShort   finding = "events that were acknowledged are missing, for its -wal file was removed or cut short; renamed back, it is opened without them"
)

// prepare makes sure that there is a sound file at path. It returns the damage
// that it got past.
func prepare(ctx context.Context, path string, c *claim, options Options) (*DamagedError, error) {
	missing, err := inspect(ctx, path, c)
	if err == nil && !missing {
		return nil, nil
	}
	var damage *DamagedError
	if err != nil {
		if !isDamage(err) {
			return nil, err
		}
		if damage, err = setAside(path, err); err != nil {
			return nil, err
		}
	}
	if err := c.settle(); err != nil {
		return nil, err
	}
	if damage != nil && !options.Recover {
		return nil, damage
	}
	return damage, create(ctx, path)
}

// inspect examines the file without changing it. It reports a file that is missing.
func inspect(ctx context.Context, path string, c *claim) (missing bool, err error) {
	size, err := sizeOf(path)
	if err != nil {
		return false, err
	}
	logSize, err := sizeOf(path + "-wal")
	switch {
	case err != nil:
		return false, err
	case size < 0 && logSize > 0:
		return false, isMissing
	case size < 0:
		return true, nil
	case size == 0:
		return false, isEmpty
	}
	p := forInspectingAlone
	if logSize >= 0 {
		p = forInspecting
	}
	db, conn, err := connectTo(ctx, path, p)
	if err != nil {
		return false, err
	}
	version, err := checkSchema(ctx, conn, path)
	if err == nil && (logSize > 0 || c.note.Suspect) {
		err = checkPages(ctx, conn)
	}
	if err == nil {
		err = checkLast(ctx, conn, version, c.note.Acknowledged)
	}
	return false, errors.Join(err, conn.Close(), db.Close())
}

// sizeOf returns the size of a file, -1 if there is none.
func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return -1, nil
	case err != nil:
		return 0, err
	}
	return info.Size(), nil
}

// checkPages looks at every page of the file: some 500 MB in a second.
func checkPages(ctx context.Context, conn *sql.Conn) error {
	var result string
	if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return finding(result)
	}
	return nil
}

// checkLast looks for the event that was acknowledged last.
func checkLast(ctx context.Context, conn *sql.Conn, version int, acknowledged int64) error {
	var last int64
	err := conn.QueryRowContext(ctx, "SELECT coalesce(max(key), 0) FROM events").Scan(&last)
	if err != nil {
		return err
	}
	if last < acknowledged && version >= leasesSchema { // a session may have been deleted
		err = conn.QueryRowContext(ctx, "SELECT max(given, ?) FROM indexed", last).Scan(&last)
	}
	if err != nil {
		return err
	}
	if last < acknowledged {
		return isShort
	}
	return nil
}

// setAside renames a damaged file and what belongs to it.
func setAside(path string, cause error) (*DamagedError, error) {
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	for _, suffix := range fileSuffixes {
		err := os.Rename(path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("%s is damaged: %w", path, cause), fmt.Errorf("set it aside: %w", err))
		}
	}
	return &DamagedError{path, aside, cause}, syncDirectory(filepath.Dir(path))
}
