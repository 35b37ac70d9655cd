package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
)

// A glance is how a session stood that another process has.
type glance struct {
	at, asked time.Time // when it was looked at, and when replies were last asked for
	foreign   int64     // what the writer had counted then
	info      troupe.SessionInfo
	replies   []troupe.Event
}

const (
	// glanceTime is how long a glance is good for where nothing has changed: that a
	// process has ended changes nothing in the file.
	glanceTime = time.Second
	// maxGlances is how many are kept.
	maxGlances = 8192
)

// Ask implements [troupe.Store].
func (s *Store) Ask(ctx context.Context, session string, request troupe.SessionRequest) (troupe.SessionInfo, []troupe.Event, error) {
	if s.owner.deliver(session, request) {
		return s.Reader.Ask(ctx, session, troupe.SessionRequest{})
	}
	follows := request == (troupe.SessionRequest{})
	now, foreign := time.Now(), s.writer.foreign.Load()
	last := s.owner.lastGlance(session)
	if follows && now.Sub(last.at) < glanceTime && last.foreign == foreign {
		return last.info, last.replies, nil
	}
	info, replies, err := s.Reader.Ask(ctx, session, troupe.SessionRequest{})
	if err != nil {
		return info, nil, err
	}
	next := glance{at: now, asked: last.asked, foreign: foreign, info: info, replies: replies}
	if info.Owner != (troupe.Owner{}) && (!follows || info.Owner != last.info.Owner || now.Sub(last.asked) > glanceTime) {
		if follows {
			next.asked = now
		}
		err = s.leaveRequest(ctx, session, request)
	}
	s.owner.remember(session, &next)
	return info, replies, err
}

func (s *Store) leaveRequest(ctx context.Context, session string, request troupe.SessionRequest) error {
	text, err := json.Marshal(request)
	if err == nil {
		err = s.writer.writeLoosely(ctx, func(w *writer) error {
			_, err := w.exec("INSERT OR IGNORE INTO requests (session, request) SELECT session, ? FROM leases WHERE session = ?", string(text), session)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("ask for session %s: %w", session, err)
	}
	return nil
}

// deliver passes a request on if this process has the session.
func (o *owner) deliver(session string, request troupe.SessionRequest) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.leases[session]
	if l == nil {
		return false
	}
	select {
	case l.requests <- request:
	default:
	}
	return true
}

func (o *owner) lastGlance(session string) glance {
	o.mu.Lock()
	defer o.mu.Unlock()
	if g := o.looked[session]; g != nil {
		return *g
	}
	return glance{}
}

func (o *owner) remember(session string, g *glance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.looked) >= maxGlances {
		clear(o.looked)
	}
	o.looked[session] = g
}

// takeRequests passes on what other processes have asked of this one.
func (w *writer) takeRequests() error {
	statement, err := w.prepare("SELECT r.number, r.session, r.request FROM requests r JOIN leases l ON l.session = r.session WHERE l.owner = ? ORDER BY r.number")
	if err != nil {
		return err
	}
	rows, err := statement.Query(w.owner.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	var taken []int64
	for rows.Next() {
		var number int64
		var session, text string
		if err := rows.Scan(&number, &session, &text); err != nil {
			return err
		}
		var request troupe.SessionRequest
		if json.Unmarshal([]byte(text), &request) == nil {
			w.owner.deliver(session, request)
		}
		taken = append(taken, number)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, number := range taken {
		if _, err := w.exec("DELETE FROM requests WHERE number = ?", number); err != nil {
			return err
		}
	}
	return nil
}

// replies returns what a session's owner shows of replies in progress.
func (r *Reader) replies(ctx context.Context, session string) (replies []troupe.Event, err error) {
	var text string
	err = r.file.read(ctx, func(db *sql.DB) error {
		return r.prepared.get(ctx, db, "SELECT replies FROM live WHERE session = ?", []any{session}, &text)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("session %s: %w", session, r.readError(ctx, err))
	}
	if err := json.Unmarshal([]byte(text), &replies); err != nil {
		return nil, nil // what is shown for a moment is not worth an error
	}
	return replies, nil
}
