package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

// Search yields the events that a query chooses, the latest first. Events that
// are stored meanwhile are not among them.
func (r *Reader) Search(ctx context.Context, query Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		shown := false
		show := func(h Hit, err error) bool {
			shown = true
			return yield(h, err)
		}
		err := r.search(ctx, &query, show)
		if isIndexDamage(err) && !shown {
			if r.file.rebuild(ctx) == nil {
				err = r.search(ctx, &query, show)
			} else {
				err = r.sift(ctx, &query, 0, show) // it takes longer and finds the same
			}
		}
		if err != nil {
			yield(Hit{}, fmt.Errorf("search: %w", r.readError(ctx, err)))
		}
	}
}

func (r *Reader) search(ctx context.Context, q *Query, yield func(Hit, error) bool) error {
	var upto int64
	if q.Text != "" {
		err := r.file.catchUp(ctx)
		if err == nil {
			upto, _, err = r.marks(ctx)
		}
		if err != nil {
			return err
		}
	}
	return r.sift(ctx, q, upto, yield)
}

// sift is search with the index up to a key; what comes after it is read.
func (r *Reader) sift(ctx context.Context, q *Query, upto int64, yield func(Hit, error) bool) error {
	s, err := r.newScan(q, latestFirst, yield)
	if err != nil {
		return err
	}
	defer s.close()
	before := q.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	return s.between(ctx, 0, before, upto)
}

// marks returns the key up to which events are indexed, and that of the newest.
func (r *Reader) marks(ctx context.Context) (upto, newest int64, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT upto, coalesce((SELECT max(key) FROM events), 0) FROM indexed").Scan(&upto, &newest)
	})
	return upto, newest, err
}

// The orders of a scan.
const (
	latestFirst = "DESC"
	oldestFirst = "ASC"
)

// A scan goes through the events that a query chooses.
type scan struct {
	reader             *Reader
	query              *Query
	order              string
	indexed, unindexed selection
	yield              func(Hit, error) bool
	left               int    // how many more are wanted
	sieve              *sieve // nil until something has to be sifted
	needs              needs
}

func (r *Reader) newScan(q *Query, order string, yield func(Hit, error) bool) (*scan, error) {
	chosen, err := indexed(q, order)
	if err != nil {
		return nil, err
	}
	s := &scan{reader: r, query: q, order: order, indexed: chosen, unindexed: unindexed(q, order), yield: yield, left: q.Limit, needs: needed(q.Text)}
	if s.left <= 0 {
		s.left = math.MaxInt
	}
	return s, nil
}

func (s *scan) close() {
	if s.sieve != nil {
		s.sieve.close()
	}
}

// between yields what has a key between two others, as long as it is wanted. Texts
// are looked for in the index as far as that goes, and sifted after it.
func (s *scan) between(ctx context.Context, after, before, upto int64) error {
	after = max(after, floor(s.query))
	if s.query.Text == "" {
		return s.pass(ctx, s.unindexed, after, before)
	}
	indexed := func() error { return s.pass(ctx, s.indexed, after, min(before, upto+1)) }
	unindexed := func() error { return s.pass(ctx, s.unindexed, max(after, upto), before) }
	first, second := indexed, unindexed
	if s.order == latestFirst {
		first, second = unindexed, indexed
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

// pass yields what a selection finds between two keys.
func (s *scan) pass(ctx context.Context, chosen selection, after, before int64) error {
	for s.left > 0 && after < before-1 {
		n := pageEvents
		if !chosen.sift {
			n = min(s.left, pageEvents)
		}
		page, err := s.reader.choose(ctx, chosen, after, before, n)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := s.show(ctx, &page[i], chosen.sift); err != nil || s.left == 0 {
				return err
			}
		}
		if s.order == latestFirst {
			before = page[len(page)-1].key
		} else {
			after = page[len(page)-1].key
		}
	}
	return nil
}

// A row that was chosen is an event with what is known of it even if it is damaged.
type chosenRow struct {
	stored
	hit Hit
}

// choose returns some of the events that a selection finds between two keys: not as
// many as that, if they are large.
func (r *Reader) choose(ctx context.Context, chosen selection, after, before int64, n int) (page []chosenRow, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		page = page[:0]
		rows, err := db.QueryContext(ctx, chosen.text, append(chosen.values[:len(chosen.values):len(chosen.values)], after, before, n)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for size := 0; size < pageBytes && rows.Next(); {
			var row chosenRow
			var when int64
			e := &row.hit.Event
			if err := rows.Scan(&row.key, &e.Session, &e.Seq, &when, &e.Run, &e.Agent, &row.content); err != nil {
				return err
			}
			row.hit.Number, e.Time = row.key, time.Unix(0, when).UTC()
			page = append(page, row)
			size += len(row.content)
		}
		return rows.Err()
	})
	return page, err
}

// show yields an event, unless it has to be sifted and is not what the query looks for.
func (s *scan) show(ctx context.Context, row *chosenRow, sift bool) error {
	if sift && !s.needs.mayBeIn(row.content) {
		return nil
	}
	hit := row.hit
	if event, err := row.decode(); err != nil {
		hit.Err = err
	} else {
		hit.Event = event
	}
	if sift {
		if found, err := s.sifted(ctx, &hit); err != nil || !found {
			return err
		}
	}
	if gone, err := s.isGone(ctx, row.key); err != nil || gone {
		return err
	}
	s.left--
	if !s.yield(hit, nil) {
		s.left = 0
	}
	return nil
}

// isGone reports whether an event was deleted since its page was read.
func (s *scan) isGone(ctx context.Context, key int64) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	var there int
	err := s.reader.file.read(ctx, func(db *sql.DB) error {
		return s.reader.prepared.get(ctx, db, "SELECT 1 FROM contents WHERE key = ?", []any{key}, &there)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return false, err
}
