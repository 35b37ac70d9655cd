package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Snapshot copies the database at path, as it is at one moment, into a new file, while
// others go on reading and writing. All that was acknowledged before it is called is in
// the copy. It is for any SQLite database, and fails with [io/fs.ErrExist] if there is a
// file already.
func Snapshot(ctx context.Context, path, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("snapshot of %s: %s: %w", path, to, os.ErrExist)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	db, conn, err := connectTo(ctx, path, "mode=rw&_pragma=busy_timeout(20000)")
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", path, err)
	}
	_, err = conn.ExecContext(ctx, "VACUUM INTO ?", to)
	if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
		return fmt.Errorf("snapshot of %s: %w", path, explain(err))
	}
	return nil
}
