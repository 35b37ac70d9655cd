package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// Append implements [troupe.Store]. It returns when the events are on disk. Appends
// that come in while a transaction is being written share the next one; each of
// them succeeds or fails on its own.
func (s *Store) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows, err := encode(events)
	if err == nil {
		err = s.writer.write(ctx, len(events), func(w *writer) error { return w.append(session, events, rows) })
	}
	if err != nil {
		return fmt.Errorf("append to session %s: %w", session, err)
	}
	return nil
}

// A row is what is stored of an event, but for its place.
type row struct {
	time        int64
	tool, class sql.NullString
	content     string
	sum         []byte
}

func encode(events []troupe.Event) ([]row, error) {
	rows := make([]row, len(events))
	for i := range events {
		e := &events[i]
		data, err := e.MarshalJSON()
		if err != nil {
			return nil, err
		}
		rows[i] = row{time: store.Nanoseconds(e.Time), content: string(data)}
		tool, class := store.Facets(e.Body)
		rows[i].tool = sql.NullString{String: tool, Valid: tool != ""}
		rows[i].class = sql.NullString{String: string(class), Valid: class != ""}
	}
	return rows, nil
}

// append adds events to a session if they continue its log.
func (w *writer) append(id string, events []troupe.Event, rows []row) error {
	if err := w.checkEpoch(id, events[0].Epoch); err != nil {
		return err
	}
	s, err := w.session(id)
	if err != nil {
		return err
	}
	var costs []troupe.DayCost
	for i := range events {
		if e := &events[i]; e.Seq != s.info.Events+1 {
			return fmt.Errorf("event %d after %d: %w", e.Seq, s.info.Events, troupe.ErrConflict)
		}
		s.info.Note(&events[i])
		costs = events[i].AddCost(costs)
		s.chain = store.Link(s.chain, rows[i].content)
		rows[i].sum = s.chain
	}
	if err := w.save(id, &s); err != nil {
		return err
	}
	for i := range rows {
		if err := w.insert(s.number, &events[i], &rows[i]); err != nil {
			return err
		}
	}
	if err := w.spend(costs); err != nil {
		return err
	}
	if len(w.atHand) == maxAtHand {
		clear(w.atHand)
	}
	w.atHand[id] = s
	return nil
}

func (w *writer) insert(session int64, e *troupe.Event, r *row) error {
	key := max(w.lastKey+1, r.time)
	_, err := w.exec("INSERT INTO events (key, session, seq, time, run, agent, kind, tool, class, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		key, session, e.Seq, r.time, e.Run, e.Agent, string(e.Kind()), r.tool, r.class, r.sum)
	if err != nil {
		return err
	}
	if _, err := w.exec("INSERT INTO contents (key, event) VALUES (?, ?)", key, r.content); err != nil {
		return err
	}
	w.lastKey, w.newest = key, key
	return nil
}
