package sqlite

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// followPause is how long it takes at most until what was stored is noticed.
const followPause = 100 * time.Millisecond

// Follow yields the events that a query chooses, the oldest first, then those to
// come as they are stored, until ctx is done. It begins after query.After, or with
// what is stored from now on if that is 0, and yields each event once, whoever
// stores it: owners of the file may come and go. query.Before has no meaning here.
func (r *Reader) Follow(ctx context.Context, query Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		if err := r.follow(ctx, &query, yield); err != nil {
			yield(Hit{}, fmt.Errorf("follow: %w", r.readError(ctx, err)))
		}
	}
}

func (r *Reader) follow(ctx context.Context, q *Query, yield func(Hit, error) bool) error {
	s, err := r.newScan(q, oldestFirst, yield)
	if err != nil {
		return err
	}
	defer s.close()
	upto, newest, err := r.marks(ctx)
	if err != nil {
		return err
	}
	after := q.After
	if after <= 0 {
		after = newest
	}
	for {
		if newest > after {
			if err := s.between(ctx, after, newest+1, upto); err != nil {
				return err
			}
			after = newest
		}
		if s.left == 0 {
			return nil
		}
		select {
		case <-time.After(followPause):
		case <-r.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
		if upto, newest, err = r.marks(ctx); err != nil {
			return err
		}
	}
}

// Last implements [store.Log]: the greatest number there is.
func (r *Reader) Last(ctx context.Context) (int64, error) {
	_, newest, err := r.marks(ctx)
	if err != nil {
		return 0, fmt.Errorf("find the last event: %w", r.readError(ctx, err))
	}
	return max(newest, 1), nil
}
