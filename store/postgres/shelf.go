package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
)

// Read returns what is kept under a name, nil if nothing is.
func (s *Store) Read(ctx context.Context, name string) (value []byte, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, "SELECT value FROM shelf WHERE name = $1", clean(name)).Scan(&value)
		if errors.Is(err, pgx.ErrNoRows) {
			value, err = nil, nil
		}
		return err
	})
	return value, err
}

// ReadMany returns what is kept under names, by name, without those under which nothing is.
func (s *Store) ReadMany(ctx context.Context, names []string) (kept map[string][]byte, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT name, value FROM shelf WHERE name = ANY($1)", names)
		if err != nil {
			return err
		}
		kept = map[string][]byte{}
		var name string
		var value []byte
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error { kept[name] = value; value = nil; return nil })
		return err
	})
	return kept, err
}

// Change puts in the place of what is kept under a name what change makes of it, which is
// called while nobody else changes it. Nil removes it. Where the connection is lost, it is
// not known whether that was done, and the error says so.
func (s *Store) Change(ctx context.Context, name string, change func(before []byte) (after []byte, err error)) error {
	if s.readOnly {
		return fmt.Errorf("keep %s: %w", name, ErrReadOnly)
	}
	name = clean(name)
	lock := fnv.New64a()
	lock.Write([]byte(s.schema + "/" + name))
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Something may be kept under a name that has no row yet to lock.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lock.Sum64())); err != nil {
			return err
		}
		var before []byte
		if err := tx.QueryRow(ctx, "SELECT value FROM shelf WHERE name = $1", name).Scan(&before); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		if after == nil {
			_, err = tx.Exec(ctx, "DELETE FROM shelf WHERE name = $1", name)
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO shelf (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2, changed = now()", name, after)
		return err
	})
	return s.outcome(ctx, err)
}
