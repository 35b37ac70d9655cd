package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Files returns the hashes of the files of a space, by path: see [Store.PutFile].
func (s *Store) Files(ctx context.Context, space string) (hashes map[string]string, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT path, hash FROM files WHERE space = $1", space)
		if err != nil {
			return err
		}
		hashes = map[string]string{}
		var path, hash string
		_, err = pgx.ForEachRow(rows, []any{&path, &hash}, func() error { hashes[path] = hash; return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", space, err)
	}
	return hashes, nil
}

// PutFile keeps a file of a space: that of a session, or the project's documents. The hash is what
// it is kept by: what is there already is not sent again.
func (s *Store) PutFile(ctx context.Context, space, path, hash string, content []byte) error {
	if s.readOnly {
		return fmt.Errorf("keep %s: %w", path, ErrReadOnly)
	}
	err := s.retrying(ctx, func(ctx context.Context) error {
		name, err := s.keepElsewhere(ctx, hash, content)
		if err != nil {
			return err
		}
		var used *string // the name that it is kept under
		err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			// Whoever removes what nobody has any more waits until the file has its place.
			err := tx.QueryRow(ctx, "UPDATE blobs SET made = clock_timestamp() WHERE hash = $1 RETURNING name", hash).Scan(&used)
			if errors.Is(err, pgx.ErrNoRows) {
				inside := content
				if name != nil {
					inside = nil
				}
				err = tx.QueryRow(ctx, "INSERT INTO blobs (hash, content, name) VALUES ($1, $2, $3) ON CONFLICT (hash) DO UPDATE SET made = clock_timestamp() RETURNING name", hash, inside, name).Scan(&used)
			}
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO files (space, path, hash) VALUES ($1, $2, $3) ON CONFLICT (space, path) DO UPDATE SET hash = $3", space, clean(path), hash)
			}
			return err
		})
		if err == nil && name != nil && (used == nil || *used != *name) {
			if failed := s.blobs.Delete(ctx, *name); failed != nil { // somebody else was faster
				err = &blobError{failed}
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("keep %s of %s: %w", path, space, err)
	}
	return nil
}

// keepElsewhere keeps what is in a file where the database does not, under a name of its own, unless
// it is there. The name is nil where nothing was kept.
func (s *Store) keepElsewhere(ctx context.Context, hash string, content []byte) (*string, error) {
	if s.blobs == nil {
		return nil, nil
	}
	var isThere bool
	if err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM blobs WHERE hash = $1 AND made > clock_timestamp() - interval '30 minutes' OR hash = $1 AND EXISTS (SELECT 1 FROM files WHERE files.hash = $1))", hash).Scan(&isThere); err != nil || isThere {
		return nil, err
	}
	name := hash + "-" + rand.Text()
	if err := s.blobs.Put(ctx, name, content); err != nil {
		return nil, &blobError{err}
	}
	return &name, nil
}

// A blobError is the error of what keeps files in place of the database. It is not that the
// database is away, and was tried again already.
type blobError struct{ err error }

func (e *blobError) Error() string { return e.err.Error() }
func (e *blobError) Unwrap() error { return e.err }

// ReadBlob returns what is kept under a hash.
func (s *Store) ReadBlob(ctx context.Context, hash string) (content []byte, err error) {
	var name *string
	err = s.retrying(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT content, name FROM blobs WHERE hash = $1", hash).Scan(&content, &name)
	})
	switch {
	case err != nil || name == nil:
	case s.blobs == nil:
		err = errors.New("it is in a bucket, and none is configured: set files in troupe.yaml as it was")
	default:
		content, err = s.blobs.Get(ctx, *name)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is kept as %.16s: %w", hash, err)
	}
	return content, nil
}

// DropFile forgets a file of a space, or, if it has no path, all of them.
func (s *Store) DropFile(ctx context.Context, space, path string) error {
	return s.retrying(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, "DELETE FROM files WHERE space = $1 AND ($2 = '' OR path = $2)", space, clean(path))
		return err
	})
}

// sweepBlobs removes what no file is any more.
func (s *Store) sweepBlobs(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM files WHERE space LIKE 'session/%' AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = substr(files.space, 9))`)
	if err != nil {
		return err
	}
	// What is kept elsewhere is left to those who can reach it. It is forgotten first, so that nothing
	// is ever taken for kept that is not.
	rows, err := s.pool.Query(ctx, `DELETE FROM blobs WHERE made < clock_timestamp() - interval '1 hour' AND (name IS NULL OR $1)
AND NOT EXISTS (SELECT 1 FROM files WHERE files.hash = blobs.hash) RETURNING name`, s.blobs != nil)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[*string])
	for _, name := range names {
		if name != nil {
			err = errors.Join(err, s.blobs.Delete(ctx, *name))
		}
	}
	return err
}
