package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A purpose is what a connection is for, in the words of a data source.
type purpose string

const (
	// An acknowledged commit is on disk: synchronous is FULL. A checkpoint every
	// 4000 pages of 4 KiB keeps the log file at some 16 MiB, and a limit lets it
	// shrink again where a reader was in the way for long.
	forWriting purpose = "mode=rw&_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(4000)&_pragma=journal_size_limit(67108864)"
	forReading purpose = "mode=rw&_pragma=busy_timeout(5000)&_pragma=query_only(1)"
	// A connection for inspecting writes nothing: it leaves the log file alone,
	// which others take over into the database when they are closed.
	forInspecting purpose = "mode=ro&_pragma=busy_timeout(5000)"
	// Where there is no log file, none is created either.
	forInspectingAlone purpose = forInspecting + "&immutable=1"
	forSifting         purpose = "mode=memory"
)

// dataSource names the file at path for the driver.
func dataSource(path string, p purpose) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?_error_rc=1&_dqs=0&" + string(p)
}

// connectTo opens one connection, which is the only one of its pool.
func connectTo(ctx context.Context, path string, p purpose) (*sql.DB, *sql.Conn, error) {
	db, err := sql.Open("sqlite", dataSource(path, p))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(explain(err), db.Close())
	}
	return db, conn, nil
}

// create makes an empty store. Under its own name the file is never seen unfinished.
func create(ctx context.Context, path string) error {
	unfinished := path + newSuffix
	for _, suffix := range fileSuffixes {
		if err := os.Remove(unfinished + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	file, err := os.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	db, conn, err := connectTo(ctx, unfinished, forWriting)
	if err != nil {
		return err
	}
	if err := errors.Join(migrate(ctx, conn, 0), conn.Close(), db.Close()); err != nil {
		return err
	}
	failpoint.Here(failpoint.StoreBeforeRename)
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	failpoint.Here(failpoint.StoreAfterRename)
	return syncDirectory(filepath.Dir(path))
}

// newSuffix is added to the name of a store in the making.
const newSuffix = ".new"

// fileSuffixes are those of the files that make a database, itself first.
var fileSuffixes = []string{"", "-wal", "-shm", "-journal"}

func syncDirectory(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
