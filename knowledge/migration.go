package knowledge

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

// A migration takes a database to the latest schema.
type migration struct {
	// scripts make a schema of the one before, in the order of their names.
	scripts embed.FS
	// version is how many of them a database has seen, and mark keeps that.
	version func(context.Context, *sql.Tx) (int, error)
	mark    func(ctx context.Context, tx *sql.Tx, version int) error
}

// run takes all steps or none.
func (m migration) run(ctx context.Context, db *sql.DB) error {
	scripts, err := fs.Glob(m.scripts, "*/*.sql")
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := m.version(ctx, tx)
	switch {
	case err != nil:
		return err
	case version > len(scripts):
		return fmt.Errorf("written by a newer Troupe (schema %d, this one knows %d)", version, len(scripts))
	case version == len(scripts):
		return nil
	}
	for _, name := range scripts[version:] {
		script, err := m.scripts.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := m.mark(ctx, tx, len(scripts)); err != nil {
		return err
	}
	return tx.Commit()
}
