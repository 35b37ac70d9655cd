package postgres

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// hitPage is how many hits are read at a time.
const hitPage = 64

// A moment is what the database has seen at one.
type moment struct {
	snapshot string
	// settled is the key before which all that ever will be there is there, and end one
	// that is greater than all there are.
	settled, end int64
	indexed      int64 // the key up to which events are indexed
}

// moment returns the one that is now.
func (s *Store) moment(ctx context.Context) (m moment, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, `SELECT s::text, pg_snapshot_xmin(s)::text::bigint << 20, pg_snapshot_xmax(s)::text::bigint << 20, (SELECT upto FROM indexed)
FROM pg_current_snapshot() s`).Scan(&m.snapshot, &m.settled, &m.end, &m.indexed)
	})
	return m, err
}

// Last implements [store.Log].
func (s *Store) Last(ctx context.Context) (int64, error) {
	m, err := s.moment(ctx)
	if err != nil {
		return 0, fmt.Errorf("find the last event: %w", err)
	}
	return m.settled - 1, nil
}

// Search implements [store.Log].
func (s *Store) Search(ctx context.Context, query store.Query) iter.Seq2[store.Hit, error] {
	return func(yield func(store.Hit, error) bool) {
		if err := s.search(ctx, &query, yield); err != nil {
			yield(store.Hit{}, fmt.Errorf("search: %w", err))
		}
	}
}

func (s *Store) search(ctx context.Context, q *store.Query, yield func(store.Hit, error) bool) error {
	terms, err := parseTerms(q.Text)
	if err != nil || q.Text != "" && len(terms) == 0 {
		return err
	}
	if q.Text != "" && !s.readOnly {
		if err := s.catchUp(ctx); err != nil {
			return err
		}
	}
	scan, m, err := s.newScan(ctx, q, yield)
	if err != nil {
		return err
	}
	before := m.end
	if q.Text == "" {
		return scan.pass(ctx, &selection{query: q, before: before, latestFirst: true})
	}
	// What is not in the index yet is the latest.
	if err := scan.pass(ctx, &selection{query: q, terms: terms, after: m.indexed, before: before, latestFirst: true}); err != nil {
		return err
	}
	return scan.pass(ctx, &selection{query: q, terms: terms, before: min(before, m.indexed+1), latestFirst: true, indexed: true})
}

// A scan yields hits as long as they are wanted.
type scan struct {
	store *Store
	yield func(store.Hit, error) bool
	left  int // how many more are wanted
}

// newScan is a scan for as many hits as a query wants, and the moment that is now, whose end
// is before what the query does not want.
func (s *Store) newScan(ctx context.Context, q *store.Query, yield func(store.Hit, error) bool) (*scan, moment, error) {
	m, err := s.moment(ctx)
	if q.Before > 0 {
		m.end = min(m.end, q.Before)
	}
	c := &scan{store: s, yield: yield, left: q.Limit}
	if c.left <= 0 {
		c.left = math.MaxInt
	}
	return c, m, err
}

// pass yields what a selection finds.
func (c *scan) pass(ctx context.Context, chosen *selection) error {
	for c.left > 0 {
		n := hitPage
		if len(chosen.terms) == 0 || chosen.indexed {
			n = min(n, c.left)
		}
		hits, err := c.store.hits(ctx, chosen, n)
		if err != nil {
			return err
		}
		for _, hit := range hits {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(chosen.terms) > 0 && !chosen.indexed && !finds(chosen.terms, splitWords(textOf(&hit))) {
				continue
			}
			if c.left--; !c.yield(hit, nil) {
				c.left = 0
			}
			if c.left == 0 {
				return nil
			}
		}
		if len(hits) < n {
			return nil
		}
		if last := hits[n-1].Number; chosen.latestFirst {
			chosen.before = last
		} else {
			chosen.after = last
		}
	}
	return nil
}

// textOf returns what an event can be found by. One that is damaged has nothing.
func textOf(hit *store.Hit) string {
	if hit.Err != nil {
		return ""
	}
	return store.Text(hit.Event.Body)
}

// hits reads some of the events that a selection finds.
func (s *Store) hits(ctx context.Context, chosen *selection, n int) (hits []store.Hit, err error) {
	statement, values := chosen.compile(n)
	err = s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, statement, values...)
		if err != nil {
			return err
		}
		hits, err = pgx.CollectRows(rows, scanHit)
		return err
	})
	return hits, err
}

func scanHit(row pgx.CollectableRow) (hit store.Hit, err error) {
	var when int64
	var content string
	e := &hit.Event
	if err := row.Scan(&hit.Number, &e.Session, &e.Seq, &when, &e.Run, &e.Agent, &content); err != nil {
		return store.Hit{}, err
	}
	e.Time = timeOf(when)
	var event troupe.Event
	if hit.Err = event.UnmarshalJSON([]byte(content)); hit.Err == nil {
		hit.Event = event
	}
	return hit, nil
}
