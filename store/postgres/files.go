package postgres

import (
	"context"
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
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			// Whoever removes what nobody has any more waits until the file has its place.
			tag, err := tx.Exec(ctx, "UPDATE blobs SET made = clock_timestamp() WHERE hash = $1", hash)
			if err == nil && tag.RowsAffected() == 0 {
				_, err = tx.Exec(ctx, "INSERT INTO blobs (hash, content) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET made = clock_timestamp()", hash, content)
			}
			if err == nil {
				_, err = tx.Exec(ctx, "INSERT INTO files (space, path, hash) VALUES ($1, $2, $3) ON CONFLICT (space, path) DO UPDATE SET hash = $3", space, clean(path), hash)
			}
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("keep %s of %s: %w", path, space, err)
	}
	return nil
}

// ReadBlob returns what is kept under a hash.
func (s *Store) ReadBlob(ctx context.Context, hash string) (content []byte, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT content FROM blobs WHERE hash = $1", hash).Scan(&content)
	})
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
	if err == nil {
		_, err = s.pool.Exec(ctx, `DELETE FROM blobs WHERE made < clock_timestamp() - interval '1 hour' AND NOT EXISTS (SELECT 1 FROM files WHERE files.hash = blobs.hash)`)
	}
	return err
}
