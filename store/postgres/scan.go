package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/troupe-dev/troupe/store"
)

// Scan implements [store.Log].
func (s *Store) Scan(ctx context.Context, after, upto int64) iter.Seq2[*store.Page, error] {
	return func(yield func(*store.Page, error) bool) {
		n := fewScanned
		for {
			page, err := s.scanned(ctx, after, upto, n)
			if err != nil {
				yield(nil, fmt.Errorf("scan: %w", err))
				return
			}
			if page.Len() == 0 {
				return
			}
			after, n = page.Upto, min(max(2*page.Len(), fewScanned), manyScanned) // whoever has the page may release it
			if !yield(page, nil) {
				return
			}
		}
	}
}

// How many events the database is asked for at a time: it sends them all, and where they are
// large most of them would not fit into the page.
const (
	fewScanned  = 16
	manyScanned = 1024
)

// scanned reads what fills a page, and no more than n events.
func (s *Store) scanned(ctx context.Context, after, upto int64, n int) (page *store.Page, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		page = store.NewPage()
		rows, err := s.pool.Query(ctx, "SELECT key, event FROM events WHERE key > $1 AND key <= $2 ORDER BY key LIMIT $3", after, upto, n)
		if err != nil {
			return err
		}
		defer rows.Close()
		var key int64
		var event pgtype.DriverBytes
		for !page.IsFull() && rows.Next() {
			if err := rows.Scan(&key, &event); err != nil {
				return err
			}
			page.Add(key, string(event))
		}
		rows.Close()
		return rows.Err()
	})
	return page, err
}

// Forks implements [store.Log].
func (s *Store) Forks(ctx context.Context, after, upto int64) (forks map[string]int64, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		forks = map[string]int64{}
		rows, err := s.pool.Query(ctx, "SELECT session, max(seq) FROM events WHERE key > $1 AND key <= $2 AND kind = 'session_forked' GROUP BY session", after, upto)
		if err != nil {
			return err
		}
		var id string
		var seq int64
		_, err = pgx.ForEachRow(rows, []any{&id, &seq}, func() error {
			forks[id] = seq
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for forks: %w", err)
	}
	return forks, nil
}

// Count implements [store.Log].
func (s *Store) Count(ctx context.Context, after, upto int64) (n int64, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT count(*) FROM events WHERE key > $1 AND key <= $2", after, upto).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	return n, nil
}
