package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe/store"
)

// Prune deletes the sessions that nothing has happened in since a time and that nobody
// has, and returns how many. A month of which nothing is left is dropped as a whole,
// which takes no time, however much there was.
func (s *Store) Prune(ctx context.Context, before time.Time) (deleted int64, err error) {
	if s.readOnly {
		return 0, fmt.Errorf("prune: %w", ErrReadOnly)
	}
	var months []int32
	rows, err := s.pool.Query(ctx, "SELECT DISTINCT month FROM sessions WHERE updated < $1 AND events > 0 ORDER BY month", store.Nanoseconds(before))
	if err == nil {
		months, err = pgx.CollectRows(rows, pgx.RowTo[int32])
	}
	for _, m := range months {
		if err != nil {
			break
		}
		var n int64
		n, err = s.pruneMonth(ctx, month(m), before)
		deleted += n
	}
	if err != nil {
		return deleted, fmt.Errorf("prune: %w", s.outcome(ctx, err))
	}
	return deleted, nil
}

// forgettable are the sessions of a month that nothing has happened in since a time and
// that nobody has.
const forgettable = "FROM sessions WHERE month = $1 AND updated < $2 AND events > 0 AND NOT EXISTS (SELECT 1 FROM owners o WHERE o.name = sessions.owner AND " + isAlive + ")"

func (s *Store) pruneMonth(ctx context.Context, m month, before time.Time) (deleted int64, err error) {
	whole, err := s.dropMonth(ctx, m, before)
	if err != nil || whole > 0 {
		return whole, err
	}
	for {
		tag, err := s.pool.Exec(ctx, `WITH gone AS (
	DELETE FROM sessions WHERE id IN (SELECT id `+forgettable+` ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING id
), e AS (
	DELETE FROM events USING gone WHERE events.month = $1 AND events.session = gone.id RETURNING events.key
), t AS (
	DELETE FROM texts USING e WHERE texts.month = $1 AND texts.key = e.key
) SELECT id FROM gone`, int32(m), store.Nanoseconds(before), listPage)
		if err != nil {
			return deleted, err
		}
		deleted += tag.RowsAffected()
		if tag.RowsAffected() < listPage {
			return deleted, nil
		}
	}
}

// dropMonth forgets a month that has passed as a whole, if nothing of it is to stay. It
// returns how many sessions it had, 0 if it was left as it was.
func (s *Store) dropMonth(ctx context.Context, m month, before time.Time) (deleted int64, err error) {
	if m >= monthOf(time.Now()) {
		return 0, nil
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE "+forgettable, int32(m), store.Nanoseconds(before))
		if err != nil {
			return err
		}
		var left bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM sessions WHERE month = $1)", int32(m)).Scan(&left); err != nil {
			return err
		}
		if left {
			return errStays
		}
		for _, table := range partitioned {
			if _, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+m.table(table)); err != nil {
				return err
			}
		}
		deleted = tag.RowsAffected()
		return nil
	})
	if err == errStays {
		return 0, nil
	}
	return deleted, err
}

// errStays undoes what was begun with a month of which something is to stay.
var errStays = fmt.Errorf("something of the month is to stay")
