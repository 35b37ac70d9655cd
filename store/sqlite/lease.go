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

// maxRequests is how many requests wait for a session's owner. More than that say the
// same.
const maxRequests = 16

// A lease is this process's on a session.
type lease struct {
	store       *Store
	session     string
	epoch, last int64
	requests    chan troupe.SessionRequest
	shown       string // what others were last shown
	isShown     bool   // there is something that others are shown; for the writer alone
}

// Acquire implements [troupe.Store]. A session can be taken over from a process that
// has ended, or has not been heard of for as long as a lease lasts.
func (s *Store) Acquire(ctx context.Context, session string) (troupe.Lease, error) {
	l := &lease{store: s, session: session, requests: make(chan troupe.SessionRequest, maxRequests)}
	err := s.writer.writeLoosely(ctx, func(w *writer) error { return w.acquire(s.path, l) })
	if err != nil {
		return nil, fmt.Errorf("acquire session %s: %w", session, err)
	}
	s.owner.mu.Lock()
	s.owner.leases[session] = l
	s.owner.mu.Unlock()
	return l, nil
}

func (w *writer) acquire(path string, l *lease) error {
	if err := w.checkFree(path, l.session); err != nil {
		return err
	}
	now := time.Now()
	about, err := about(now)
	if err != nil {
		return err
	}
	result, err := w.exec("INSERT OR REPLACE INTO leases (session, owner, about, until) VALUES (?, ?, ?, ?)",
		l.session, w.owner.name, about, now.Add(w.owner.lease).UnixNano())
	if err != nil {
		return err
	}
	if l.epoch, err = result.LastInsertId(); err != nil {
		return err
	}
	s, err := w.session(l.session)
	l.last = s.info.Events
	return err
}

// checkFree fails if somebody has a session.
func (w *writer) checkFree(path, session string) error {
	var owner, about string
	var until int64
	err := w.get("SELECT owner, about, until FROM leases WHERE session = ?", []any{session}, &owner, &about, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case owner != w.owner.name && (until < time.Now().UnixNano() || hasEnded(path, owner)):
		return nil
	}
	holder := ownerFrom(about)
	return fmt.Errorf("session %s: %w", session, &holder)
}

// checkEpoch fails unless events may be written under an epoch.
func (w *writer) checkEpoch(session string, epoch int64) error {
	if epoch == 0 {
		return w.checkFree(w.path, session)
	}
	if l := w.owner.leaseOn(session); l == nil || l.epoch != epoch {
		return fmt.Errorf("the lease that it is written under is over: %w", troupe.ErrConflict)
	}
	return nil
}

// renew keeps the leases of this process alive.
func (w *writer) renew() error {
	_, err := w.exec("UPDATE leases SET until = ? WHERE owner = ?", time.Now().Add(w.owner.lease).UnixNano(), w.owner.name)
	return err
}

// releaseAll gives up all that this process has.
func (w *writer) releaseAll() error {
	_, err := w.exec("DELETE FROM leases WHERE owner = ?", w.owner.name)
	return err
}

// Epoch implements [troupe.Lease].
func (l *lease) Epoch() int64 { return l.epoch }

// Last implements [troupe.Lease].
func (l *lease) Last() int64 { return l.last }

// Requests implements [troupe.Lease].
func (l *lease) Requests() <-chan troupe.SessionRequest { return l.requests }

// Release implements [troupe.Lease].
func (l *lease) Release(ctx context.Context) error {
	o := l.store.owner
	if o.leaseOn(l.session) != l {
		return nil
	}
	err := l.store.writer.writeLoosely(ctx, func(w *writer) error {
		if _, err := w.exec("DELETE FROM leases WHERE epoch = ?", l.epoch); err != nil || !l.isShown {
			return err
		}
		_, err := w.exec("DELETE FROM live WHERE session = ?", l.session)
		return err
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leases[l.session] == l {
		o.end(l.session)
	}
	if err != nil {
		return fmt.Errorf("release session %s: %w", l.session, err)
	}
	return nil
}

// Show implements [troupe.Lease].
func (l *lease) Show(ctx context.Context, replies []troupe.Event) error {
	data, err := json.Marshal(replies)
	if err != nil || string(data) == l.shown {
		return err
	}
	err = l.store.writer.writeLoosely(ctx, func(w *writer) error {
		if w.owner.leaseOn(l.session) != l {
			return nil
		}
		l.isShown = true
		_, err := w.exec("INSERT OR REPLACE INTO live (session, replies) VALUES (?, ?)", l.session, string(data))
		return err
	})
	if err != nil {
		return fmt.Errorf("show replies of session %s: %w", l.session, err)
	}
	l.shown = string(data)
	return nil
}
