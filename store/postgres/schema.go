package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// migrations holds the scripts that make a schema of the one before, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// A VersionError reports a store of another version than this program's.
type VersionError struct {
	// Place names the database and the schema in it.
	Place string
	// Version is the store's, Known the latest that this program knows.
	Version, Known int
}

// Error says what to do.
func (e *VersionError) Error() string {
	if e.Version > e.Known {
		return fmt.Sprintf("%s: written by a newer Troupe (version %d, this one knows %d): update this program, or use another schema", e.Place, e.Version, e.Known)
	}
	return fmt.Sprintf("%s: written by an older Troupe (version %d, this one has %d): open it for writing once, with 'troupe serve' or any run", e.Place, e.Version, e.Known)
}

// ErrNoStore reports a database in which there is no store yet.
var ErrNoStore = errors.New("there is no store in the database yet")

// known returns the steps to the latest version that this program knows.
func known() (scripts []string, err error) { return fs.Glob(migrations, "migrations/*.sql") }

// version returns that of the store's schema, 0 if there is none.
func version(ctx context.Context, db querier, schema string) (version int, err error) {
	var there bool
	err = db.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'troupe_version')", schema).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT version FROM troupe_version").Scan(&version)
	return version, err
}

// A querier is a connection, or something that has connections.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// An execer is a connection, a transaction, or something that has connections.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// migrationLock is the advisory lock under which the schema is changed: "Trpe".
const migrationLock = 0x54727065

// migrate brings the store to the latest version, all steps or none. Processes that
// open it at the same time wait for each other.
func (s *Store) migrate(ctx context.Context, conn *pgx.Conn) error {
	scripts, err := known()
	if err != nil {
		return err
	}
	at, err := version(ctx, conn, s.schema)
	if err == nil && at > len(scripts) {
		err = &VersionError{s.place, at, len(scripts)}
	}
	if err != nil || at == len(scripts) {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.migrateIn(ctx, tx, scripts) })
}

func (s *Store) migrateIn(ctx context.Context, tx pgx.Tx, scripts []string) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	// Whoever has a schema need not be allowed to create one, not even one that is there.
	var there bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", s.schema).Scan(&there)
	if err == nil && !there {
		_, err = tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{s.schema}.Sanitize())
	}
	if err != nil {
		return err
	}
	if err := s.becomeOwner(ctx, tx); err != nil {
		return err
	}
	at, err := version(ctx, tx, s.schema)
	if err != nil {
		return err
	}
	if at == 0 {
		_, err = tx.Exec(ctx, "CREATE TABLE troupe_version AS SELECT 0 AS version")
	}
	if err != nil {
		return err
	}
	for _, name := range scripts[min(at, len(scripts)):] {
		script, err := migrations.ReadFile(name)
		if err == nil {
			_, err = tx.Exec(ctx, string(script))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	_, err = tx.Exec(ctx, "UPDATE troupe_version SET version = $1 WHERE version < $1", len(scripts))
	return err
}

// checkVersion fails unless the store is of this program's version.
func (s *Store) checkVersion(ctx context.Context, db querier) error {
	scripts, err := known()
	if err != nil {
		return err
	}
	at, err := version(ctx, db, s.schema)
	switch {
	case err != nil:
		return err
	case at == 0:
		return fmt.Errorf("%s: %w", s.place, ErrNoStore)
	case at != len(scripts):
		return &VersionError{s.place, at, len(scripts)}
	}
	return nil
}
