package postgres

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/troupe-dev/troupe/store"
)

// followPause is how long it takes at most until what was stored is noticed, where no
// notification says so.
const followPause = 500 * time.Millisecond

// Follow implements [store.Log]. It compares what the database shows now with what it
// showed before, so that it does not miss what was begun early and committed late.
func (s *Store) Follow(ctx context.Context, query store.Query) iter.Seq2[store.Hit, error] {
	return func(yield func(store.Hit, error) bool) {
		if err := s.follow(ctx, &query, yield); err != nil {
			yield(store.Hit{}, fmt.Errorf("follow: %w", err))
		}
	}
}

func (s *Store) follow(ctx context.Context, q *store.Query, yield func(store.Hit, error) bool) error {
	terms, err := parseTerms(q.Text)
	if err != nil || q.Text != "" && len(terms) == 0 {
		return err
	}
	seen := moment{}
	if q.After <= 0 {
		if seen, err = s.moment(ctx); err != nil {
			return err
		}
	}
	scan := &scan{store: s, yield: yield, left: q.Limit}
	if scan.left <= 0 {
		scan.left = math.MaxInt
	}
	for {
		heard := s.heard()
		now, err := s.moment(ctx)
		if err != nil {
			return err
		}
		if now.snapshot != seen.snapshot {
			// All that was seen before is visible in the earlier snapshot, or older.
			err := scan.pass(ctx, &selection{query: q, terms: terms, after: seen.settled - 1, before: math.MaxInt64, since: seen.snapshot, until: now.snapshot})
			if err != nil {
				return err
			}
			seen = now
		}
		if scan.left == 0 {
			return nil
		}
		select {
		case <-heard:
		case <-time.After(followPause):
		case <-s.closed.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// heard returns what is closed when another process, or this one, says something. Who
// only reads hears nothing.
func (s *Store) heard() <-chan struct{} {
	if s.notices == nil {
		return nil
	}
	return s.notices.next()
}
