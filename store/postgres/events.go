package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// Events implements [troupe.Store]. It yields the session's events as they were when the
// iteration began. An event that is damaged ends it with an error, and concerns no other
// session. No connection is held while somebody looks at what was read.
func (s *Store) Events(ctx context.Context, session string, after int64) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		if err := s.each(ctx, session, max(after, 0), yield); err != nil {
			yield(troupe.Event{}, fmt.Errorf("session %s: %w", session, err))
		}
	}
}

func (s *Store) each(ctx context.Context, id string, after int64, yield func(troupe.Event, error) bool) error {
	var at session
	err := s.retrying(ctx, func(ctx context.Context) (err error) {
		at, _, err = s.standing(ctx, id, true)
		return err
	})
	if err == nil && at.info.Events == 0 {
		err = troupe.ErrNotFound
	}
	if err != nil {
		return err
	}
	for after < at.info.Events {
		page, err := s.page(ctx, &at, after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return s.absence(ctx, id, after+1)
		}
		for _, content := range page {
			if err := ctx.Err(); err != nil {
				return err
			}
			var event troupe.Event
			err := event.UnmarshalJSON([]byte(content))
			if err == nil && event.Seq != after+1 {
				err = fmt.Errorf("it says it is event %d", event.Seq)
			}
			if err != nil {
				return fmt.Errorf("event %d is missing or damaged: %w", after+1, err)
			}
			if !yield(event, nil) {
				return nil
			}
			after++
		}
	}
	return nil
}

// A page has at most pageEvents events, and ends with the one that fills pageBytes.
const (
	pageEvents = 256
	pageBytes  = 1 << 20
)

// page reads the events that follow a number.
func (s *Store) page(ctx context.Context, at *session, after int64) (page []string, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		page = nil
		// What does not fit the page any more need not be sent.
		rows, err := s.pool.Query(ctx, `SELECT event FROM (
	SELECT seq, event, sum(octet_length(event)) OVER (ORDER BY seq) - octet_length(event) AS before
	FROM events WHERE month = $1 AND session = $2 AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5
) e WHERE before < $6 ORDER BY seq`, int32(at.month), at.info.ID, after, min(at.info.Events, after+pageEvents), pageEvents, pageBytes)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return page, err
}

// absence says why an event is not there that was there a moment ago.
func (s *Store) absence(ctx context.Context, id string, seq int64) error {
	at, _, err := s.standing(ctx, id, true)
	switch {
	case err != nil:
		return s.outcome(ctx, err)
	case at.info.Events < seq:
		return troupe.ErrNotFound
	}
	return fmt.Errorf("event %d is missing", seq)
}

// Delete implements [troupe.Store].
func (s *Store) Delete(ctx context.Context, session string) error {
	if err := s.refuse("delete", session); err != nil {
		return err
	}
	sure := true
	err := s.insisting(ctx, func(ctx context.Context) error {
		var there bool
		err := s.pool.QueryRow(ctx, `WITH gone AS (
	DELETE FROM sessions WHERE id = $1 RETURNING month, events > 0 AS there
), e AS (
	DELETE FROM events USING gone WHERE events.month = gone.month AND events.session = $1 RETURNING events.month, events.key
), t AS (
	DELETE FROM texts USING e WHERE texts.month = e.month AND texts.key = e.key
), l AS (
	DELETE FROM live WHERE session = $1
) SELECT there FROM gone`, session).Scan(&there)
		switch {
		case isLost(err):
			sure = false
		case errors.Is(err, pgx.ErrNoRows) || err == nil && !there:
			if err = troupe.ErrNotFound; !sure {
				err = nil // the attempt whose answer was lost has deleted it
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete session %s: %w", session, err)
	}
	s.atHand.forget(session)
	s.owner.forget(session)
	s.notices.add(notice{kind: taken, session: session})
	return nil
}
