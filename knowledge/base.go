package knowledge

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Local is the user of a base that is used without asking who it is.
const Local = "local"

// A Base is a file or a database of documents, as one user sees it. It may be used
// concurrently, and the file or database by several processes at once.
type Base struct {
	dialect
	db     *sql.DB
	user   string
	rounds int // what a guess at a password costs
}

// Open opens the base at path, as [Local] sees it. A file that is not there is
// created, readable by its owner alone; its directory must be there.
func Open(ctx context.Context, path string) (*Base, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("knowledge base: %w", err)
	}
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, fmt.Errorf("knowledge base %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("knowledge base %s: %w", path, err), db.Close())
	}
	return &Base{db: db, dialect: inFile{}, user: Local, rounds: iterations}, nil
}

const (
	// patience is how long a base waits for another process that has the file to
	// itself, and pause how long between two tries.
	patience = 5 * time.Second
	pause    = 10 * time.Millisecond
)

// prepare takes the file to the latest schema. Of two that open a new file at the
// same time one is told that it is busy, and not made to wait: that is done here.
func prepare(ctx context.Context, db *sql.DB) error {
	for began := time.Now(); ; {
		err := migrate(ctx, db)
		if !isBusy(err) || time.Since(began) > patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func isBusy(err error) bool {
	busy, ok := errors.AsType[*sqlite.Error](err)
	return ok && busy.Code()&0xff == sqlite3.SQLITE_BUSY
}

// As returns the base as another user sees it, who has documents of their own. It
// asks for no password, and the user need not have been created.
func (b *Base) As(user string) *Base {
	return &Base{dialect: b.dialect, db: b.db, user: user, rounds: b.rounds}
}

// Close closes the file or the connections, for all users.
func (b *Base) Close() error { return b.db.Close() }

// create makes an empty file unless there is one. It is closed before it gets its
// name: closing a file that SQLite has open would end the locks of this process.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".knowledge-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// dataSource names the file for the driver. A transaction takes the file's one lock
// for writing at its start, where it can wait for it; a commit is on disk.
func dataSource(path string) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?mode=rw&_txlock=immediate&_dqs=0&_pragma=busy_timeout(5000)" +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
}

//go:embed sqlite/*.sql
var fileScripts embed.FS

// applicationID is what the first migration marks files with.
const applicationID = 0x546b6273

// migrate takes a file to the latest schema.
func migrate(ctx context.Context, db *sql.DB) error {
	return migration{fileScripts, fileVersion, func(ctx context.Context, tx *sql.Tx, version int) error {
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
		return err
	}}.run(ctx, db)
}

// fileVersion is the version of a file's schema, 0 for a new file.
func fileVersion(ctx context.Context, tx *sql.Tx) (version int, err error) {
	var id, tables int
	err = tx.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&id, &version, &tables)
	if err == nil && id != applicationID && (id != 0 || tables > 0) {
		err = errors.New("it is a database of another program")
	}
	return version, err
}
