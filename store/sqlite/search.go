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
		if isIndexDamage(err) && !shown && r.file.rebuild(ctx) == nil {
			err = r.search(ctx, &query, show)
		}
		if err != nil {
			yield(Hit{}, fmt.Errorf("search: %w", r.readError(ctx, err)))
		}
	}
}

func (r *Reader) search(ctx context.Context, q *Query, yield func(Hit, error) bool) error {
	s, err := r.newScan(q, latestFirst, yield)
	if err != nil {
		return err
	}
	defer s.close()
	var upto int64
	if q.Text != "" {
		if err := r.file.catchUp(ctx); err != nil {
			return err
		}
		if upto, _, err = r.marks(ctx); err != nil {
			return err
		}
	}
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
}

func (r *Reader) newScan(q *Query, order string, yield func(Hit, error) bool) (*scan, error) {
	chosen, err := indexed(q, order)
	if err != nil {
		return nil, err
	}
	s := &scan{reader: r, query: q, order: order, indexed: chosen, unindexed: unindexed(q, order), yield: yield, left: q.Limit}
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
	for s.left > 0 {
		n := min(s.left, pageEvents)
		keys, err := s.reader.keys(ctx, chosen, after, before, n)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := s.show(ctx, key, chosen.sift); err != nil || s.left == 0 {
				return err
			}
		}
		if len(keys) < n {
			return nil
		}
		if s.order == latestFirst {
			before = keys[n-1]
		} else {
			after = keys[n-1]
		}
	}
	return nil
}

func (r *Reader) keys(ctx context.Context, chosen selection, after, before int64, n int) (keys []int64, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		keys = keys[:0]
		rows, err := db.QueryContext(ctx, chosen.text, append(chosen.values, after, before, n)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key int64
			if err := rows.Scan(&key); err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return rows.Err()
	})
	return keys, err
}

// show yields an event, unless it was deleted meanwhile or has to be sifted and is
// not what the query looks for.
func (s *scan) show(ctx context.Context, key int64, sift bool) error {
	hit, err := s.reader.hit(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && sift {
		var found bool
		if found, err = s.sifted(ctx, &hit); err == nil && !found {
			return nil
		}
	}
	if err != nil {
		return err
	}
	s.left--
	if !s.yield(hit, nil) {
		s.left = 0
	}
	return nil
}

func (r *Reader) hit(ctx context.Context, key int64) (Hit, error) {
	hit := Hit{Number: key}
	e := stored{key: key}
	var when int64
	err := r.file.read(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT s.id, e.seq, e.time, e.run, e.agent, c.event FROM contents c "+
			"JOIN events e ON e.key = c.key JOIN sessions s ON s.number = e.session WHERE c.key = ?", key).
			Scan(&hit.Event.Session, &hit.Event.Seq, &when, &hit.Event.Run, &hit.Event.Agent, &e.content)
	})
	if err != nil {
		return Hit{}, err
	}
	hit.Event.Time = time.Unix(0, when).UTC()
	if event, err := e.decode(); err != nil {
		hit.Err = err
	} else {
		hit.Event = event
	}
	return hit, nil
}
