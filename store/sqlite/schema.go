package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// migrations holds the scripts that make a schema of the one before, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is what the first migration marks files with.
const applicationID = 0x54727065

// leasesSchema is the one from which on there are leases and checksums.
const leasesSchema = 3

// A NewerError reports a file whose schema this program does not know.
type NewerError struct {
	Path string
	// Schema is the file's, Known the latest that this program knows.
	Schema, Known int
}

// Error says what to do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("%s: written by a newer Troupe (schema %d, this one knows %d): update, or use another data directory",
		e.Path, e.Schema, e.Known)
}

// errForeign reports a database that is not a store.
var errForeign = errors.New("it is a database of another program")

// checkSchema returns the version of the file's schema if this program can use it.
func checkSchema(ctx context.Context, conn *sql.Conn, path string) (version int, err error) {
	scripts, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var id int
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if id != applicationID {
		return 0, fmt.Errorf("%s: %w", path, errForeign)
	}
	if version > len(scripts) {
		return 0, &NewerError{path, version, len(scripts)}
	}
	return version, nil
}

// checkUpToDate fails unless the file's schema is the latest.
func checkUpToDate(ctx context.Context, conn *sql.Conn, path string) error {
	version, err := checkSchema(ctx, conn, path)
	if err != nil {
		return err
	}
	scripts, err := fs.Glob(migrations, "migrations/*.sql")
	if err == nil && version < len(scripts) {
		err = fmt.Errorf("%s: written by an older Troupe (schema %d, this one has %d): open it for writing once", path, version, len(scripts))
	}
	return err
}

// migrate takes a file from a schema to the latest, all steps or none.
func migrate(ctx context.Context, conn *sql.Conn, from int) error {
	scripts, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || from == len(scripts) {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback()
	for _, name := range scripts[from:] {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, explain(err))
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(scripts))); err != nil {
		return explain(err)
	}
	return explain(tx.Commit())
}
