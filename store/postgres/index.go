package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

const (
	// indexDelay lets events gather before they are indexed: together they cost less.
	indexDelay = 500 * time.Millisecond
	// indexEvents is how many events are indexed in a transaction.
	indexEvents = 256
)

// errBusy says that another process is indexing.
var errBusy = errors.New("another process is indexing")

// indexInBackground indexes what is stored until ctx is done. An error ends it until
// more is stored; a search looks at what is not indexed itself.
func (s *Store) indexInBackground(ctx context.Context) {
	for {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = s.indexSome(ctx, "SKIP LOCKED"); err != nil {
				break
			}
		}
		select {
		case <-s.stored:
			wait(ctx, indexDelay)
		case <-ctx.Done():
			return
		}
	}
}

// catchUp returns when all is indexed that can be.
func (s *Store) catchUp(ctx context.Context) error {
	for more := true; more; {
		err := s.retrying(ctx, func(ctx context.Context) (err error) {
			more, err = s.indexSome(ctx, "")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// indexSome indexes a few events more, and reports whether there are others. Only what
// nothing can be added before any more is indexed. Of several processes one does it.
func (s *Store) indexSome(ctx context.Context, locked string) (more bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var upto, settled int64
		// A crash may undo what comes here: then it is done again.
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, "SELECT upto FROM indexed FOR UPDATE "+locked).Scan(&upto)
		if errors.Is(err, pgx.ErrNoRows) {
			return errBusy
		}
		if err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 20").Scan(&settled); err != nil {
			return err
		}
		more, err = index(ctx, tx, upto, settled)
		return err
	})
	if errors.Is(err, errBusy) {
		return false, nil
	}
	return more, err
}

// index adds the words of some events to the index. An event that is damaged has none.
func index(ctx context.Context, tx pgx.Tx, upto, settled int64) (more bool, err error) {
	rows, err := tx.Query(ctx, "SELECT month, key, event FROM events WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3", upto, settled, indexEvents)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var months []int32
	var keys []int64
	var vectors []string
	n := 0
	for rows.Next() {
		var m int32
		var content string
		if err := rows.Scan(&m, &upto, &content); err != nil {
			return false, err
		}
		n++
		var event troupe.Event
		if event.UnmarshalJSON([]byte(content)) != nil {
			continue
		}
		if words := splitWords(store.Text(event.Body)); len(words) > 0 {
			months, keys, vectors = append(months, m), append(keys, upto), append(vectors, vector(words))
		}
	}
	if err := rows.Err(); err != nil || n == 0 {
		return false, err
	}
	rows.Close()
	if len(keys) > 0 {
		_, err := tx.Exec(ctx, "INSERT INTO texts (month, key, words) SELECT * FROM (SELECT m, k, w::tsvector FROM unnest($1::int[], $2::bigint[], $3::text[]) AS t (m, k, w)) t ON CONFLICT DO NOTHING",
			months, keys, vectors)
		if err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, "UPDATE indexed SET upto = $1", upto)
	return n == indexEvents, err
}
