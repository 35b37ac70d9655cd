package postgres

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// Verify implements [store.Log]. Each event has a checksum of itself and of all events
// of its session before it; what stands beside them must follow from them.
func (s *Store) Verify(ctx context.Context) iter.Seq2[store.Fault, error] {
	return func(yield func(store.Fault, error) bool) {
		if err := s.verify(ctx, yield); err != nil {
			yield(store.Fault{}, fmt.Errorf("verify: %w", err))
		}
	}
}

func (s *Store) verify(ctx context.Context, yield func(store.Fault, error) bool) error {
	for after := ""; ; {
		var sessions []session
		err := s.retrying(ctx, func(ctx context.Context) error {
			rows, err := s.pool.Query(ctx, "SELECT "+summary+" FROM sessions WHERE id > $1 AND events > 0 ORDER BY id LIMIT $2", after, listPage)
			if err != nil {
				return err
			}
			sessions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (session, error) { return scanSession(row) })
			return err
		})
		if err != nil {
			return err
		}
		if len(sessions) == 0 {
			return s.orphans(ctx, yield)
		}
		for i := range sessions {
			after = sessions[i].info.ID
			fault, err := s.verifySession(ctx, &sessions[i])
			if err != nil {
				return err
			}
			if fault != nil && !yield(*fault, nil) {
				return nil
			}
		}
	}
}

// orphans yields the sessions that have events and no row of their own.
func (s *Store) orphans(ctx context.Context, yield func(store.Fault, error) bool) error {
	var found []store.Fault
	err := s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT DISTINCT session FROM events e WHERE NOT EXISTS (SELECT FROM sessions s WHERE s.id = e.session) ORDER BY session LIMIT $1", listPage)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f store.Fault, err error) {
			f.Problem = store.Orphaned
			return f, row.Scan(&f.Session)
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, fault := range found {
		if !yield(fault, nil) {
			break
		}
	}
	return nil
}

// A stored event is not decoded yet.
type stored struct {
	seq     int64
	sum     []byte
	content string
	columns store.Columns
}

// derived returns what should stand beside an event: see [clean].
func derived(e *troupe.Event) store.Columns {
	c := store.ColumnsOf(e)
	c.Run, c.Agent, c.Tool = clean(c.Run), clean(c.Agent), clean(c.Tool)
	return c
}

// verifySession returns the first fault of a session, nil if there is none.
func (s *Store) verifySession(ctx context.Context, at *session) (*store.Fault, error) {
	var seq int64
	var sum []byte
	var info troupe.SessionInfo // as the events so far say it is
	var beside *store.Fault     // the first of what does not follow from them
	fault := func(seq int64, problem string) *store.Fault {
		return &store.Fault{Session: at.info.ID, Seq: seq, Problem: problem}
	}
	for seq < at.info.Events {
		var page []stored
		err := s.retrying(ctx, func(ctx context.Context) error {
			rows, err := s.pool.Query(ctx, "SELECT seq, sum, event, time, run, agent, kind, coalesce(tool, ''), coalesce(class, '') FROM events WHERE month = $1 AND session = $2 AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5",
				int32(at.month), at.info.ID, seq, at.info.Events, hitPage)
			if err != nil {
				return err
			}
			page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e stored, err error) {
				c := &e.columns
				err = row.Scan(&e.seq, &e.sum, &e.content, &c.Time, &c.Run, &c.Agent, &c.Kind, &c.Tool, &c.Class)
				return e, err
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return fault(seq+1, "it is missing"), nil
		}
		for _, e := range page {
			if e.seq != seq+1 {
				return fault(seq+1, "it is missing"), nil
			}
			if !bytes.Equal(e.sum, store.Link(sum, e.content)) {
				return fault(e.seq, "it was changed, or one before it was"), nil
			}
			seq, sum = e.seq, e.sum
			var event troupe.Event
			if err := event.UnmarshalJSON([]byte(e.content)); err != nil {
				return fault(e.seq, "it cannot be read: "+err.Error()), nil
			}
			info.Note(&event)
			if problem := e.columns.Against(derived(&event)); problem != "" && beside == nil {
				beside = &store.Fault{Session: at.info.ID, Seq: seq, Problem: problem, IsDerived: true}
			}
		}
	}
	if !bytes.Equal(sum, at.chain) {
		return fault(at.info.Events, "it is not the one that was stored last"), nil
	}
	info.User, info.Agent, info.Title = clean(info.User), clean(info.Agent), clean(info.Title)
	if problem := store.AgainstEvents(&at.info, &info); problem != "" && beside == nil {
		beside = &store.Fault{Session: at.info.ID, Problem: problem, IsDerived: true}
	}
	return beside, nil
}
