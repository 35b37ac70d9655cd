package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// maxRequests is how many requests wait for a session's owner. More than that say the
// same.
const maxRequests = 16

// A lease is this process's on a session.
type lease struct {
	store       *Store
	session     string
	since       time.Time
	epoch, last int64 // the epoch is 0 until the session was acquired
	requests    chan troupe.SessionRequest
	shown       string // what others were last shown
}

// Acquire implements [troupe.Store]. A session can be taken over from a process that
// has not been heard of for as long as its lease lasts.
func (s *Store) Acquire(ctx context.Context, session string) (troupe.Lease, error) {
	if err := s.refuse("acquire", session); err != nil {
		return nil, err
	}
	l := &lease{store: s, session: session, since: now(), requests: make(chan troupe.SessionRequest, maxRequests)}
	err := s.owner.reserve(l)
	if err == nil {
		if err = s.insisting(ctx, l.acquire); err != nil {
			s.owner.unreserve(l)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("acquire session %s: %w", session, err)
	}
	s.notices.add(notice{kind: taken, session: session})
	return l, nil
}

// acquire takes the session if it is as it was a moment ago, when nobody had it. It may
// be called again after a lost connection: what is this process's is its own to take.
func (l *lease) acquire(ctx context.Context) error {
	s := l.store
	for {
		h, err := s.holder(ctx, l.session)
		if err != nil {
			return err
		}
		if h.alive && *h.name != s.owner.name {
			return h.owned(l.session)
		}
		var epoch, last int64
		if h.there {
			err = s.pool.QueryRow(ctx, `UPDATE sessions SET epoch = nextval('epochs'), owner = $2, since = $3
WHERE id = $1 AND epoch = $4 AND owner IS NOT DISTINCT FROM $5 RETURNING epoch, events`,
				l.session, s.owner.name, l.since.UnixNano(), h.epoch, h.name).Scan(&epoch, &last)
		} else {
			err = s.pool.QueryRow(ctx, `INSERT INTO sessions (id, month, epoch, owner, since) VALUES ($1, $2, nextval('epochs'), $3, $4)
ON CONFLICT DO NOTHING RETURNING epoch, events`, l.session, int32(monthOf(l.since)), s.owner.name, l.since.UnixNano()).Scan(&epoch, &last)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			continue // somebody was faster
		}
		if err != nil {
			return err
		}
		s.owner.hold(l, epoch, last)
		return nil
	}
}

// Epoch implements [troupe.Lease].
func (l *lease) Epoch() int64 { return l.epoch }

// Last implements [troupe.Lease].
func (l *lease) Last() int64 { return l.last }

// Requests implements [troupe.Lease].
func (l *lease) Requests() <-chan troupe.SessionRequest { return l.requests }

// Release implements [troupe.Lease].
func (l *lease) Release(ctx context.Context) error {
	s := l.store
	if !s.owner.has(l) {
		return nil
	}
	err := s.insisting(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `WITH r AS (
	UPDATE sessions SET owner = NULL WHERE id = $1 AND epoch = $2 AND owner = $3 AND events > 0
), d AS (
	DELETE FROM sessions WHERE id = $1 AND epoch = $2 AND owner = $3 AND events = 0
) DELETE FROM live WHERE session = $1 AND epoch = $2`, l.session, l.epoch, s.owner.name)
		return err
	})
	s.owner.end(l)
	s.notices.add(notice{kind: changed, session: l.session})
	if err != nil {
		return fmt.Errorf("release session %s: %w", l.session, err)
	}
	return nil
}

// Show implements [troupe.Lease]. What is shown is kept in a table that a crash of the
// database empties: it costs the disk nothing.
func (l *lease) Show(ctx context.Context, replies []troupe.Event) error {
	data, err := json.Marshal(replies)
	if err != nil || string(data) == l.shown || !l.store.owner.has(l) {
		return err
	}
	_, err = l.store.pool.Exec(ctx, "INSERT INTO live (session, epoch, replies) VALUES ($1, $2, $3) ON CONFLICT (session) DO UPDATE SET epoch = $2, replies = $3",
		l.session, l.epoch, clean(string(data)))
	if err != nil {
		return fmt.Errorf("show replies of session %s: %w", l.session, l.store.outcome(ctx, err))
	}
	l.shown = string(data)
	l.store.notices.add(notice{kind: changed, session: l.session})
	return nil
}
