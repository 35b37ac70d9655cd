package troupetest

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
)

func (s *storeTest) acquire(session string) troupe.Lease {
	s.Helper()
	lease, err := s.store.Acquire(s.Context(), session)
	if err != nil {
		s.Fatalf("acquire session %s: %v", session, err)
	}
	return lease
}

func (s *storeTest) release(lease troupe.Lease) {
	s.Helper()
	if err := lease.Release(s.Context()); err != nil {
		s.Errorf("release: %v", err)
	}
}

// owned makes the event that a lease's holder writes next.
func owned(lease troupe.Lease, session string, seq int64) troupe.Event {
	e := said(session, seq, 1)[0]
	e.Epoch = lease.Epoch()
	return e
}

// ownerOf returns who has a session.
func (s *storeTest) ownerOf(session string) troupe.Owner {
	s.Helper()
	info, _, err := s.store.Ask(s.Context(), session, troupe.SessionRequest{})
	if err != nil {
		s.Fatalf("ask for session %s: %v", session, err)
	}
	return info.Owner
}

// expectOwned checks that an error names the owner of a session.
func (s *storeTest) expectOwned(what string, err error) {
	s.Helper()
	owned, ok := errors.AsType[*troupe.Owner](err)
	if !ok || !errors.Is(err, troupe.ErrBusy) || owned.PID == 0 || owned.Host == "" || owned.Since.IsZero() {
		s.Errorf("%s: got %v, want an error that names the owner", what, err)
	}
}

func (s *storeTest) ownership() {
	lease := s.acquire(sessionID(1)) // it need not exist
	if lease.Last() != 0 || lease.Epoch() < 1 {
		s.Errorf("a new session has %d events, its epoch is %d", lease.Last(), lease.Epoch())
	}
	s.append(owned(lease, sessionID(1), 1))
	_, err := s.store.Acquire(s.Context(), sessionID(1))
	s.expectOwned("to acquire what somebody has", err)
	s.expectOwned("to write without a lease", s.store.Append(s.Context(), sessionID(1), said(sessionID(1), 2, 1)...))
	other := s.acquire(sessionID(2))
	s.append(owned(other, sessionID(2), 1))
	if owner := s.ownerOf(sessionID(1)); owner.PID == 0 {
		s.Errorf("the owner is %+v", owner)
	}
	s.release(lease)
	s.release(lease) // once is enough, and twice does no harm
	promptly(s.T, "the end of requests", func() {
		for range lease.Requests() { // the channel is closed
		}
	})
	if owner := s.ownerOf(sessionID(1)); owner != (troupe.Owner{}) {
		s.Errorf("after the release the owner is %+v", owner)
	}
	s.append(said(sessionID(1), 2, 1)...)
	again := s.acquire(sessionID(1))
	if again.Epoch() <= lease.Epoch() || again.Last() != 2 {
		s.Errorf("epoch %d comes after %d, and there are %d events", again.Epoch(), lease.Epoch(), again.Last())
	}
	s.append(owned(again, sessionID(1), 3))
	s.expect(sessionID(1), 0, said(sessionID(1), 1, 3))
}

func (s *storeTest) ownersToBe() {
	const candidates = 8
	var won atomic.Int64
	var wg sync.WaitGroup
	for range candidates {
		wg.Go(func() {
			_, err := s.store.Acquire(s.Context(), sessionID(1))
			if err == nil {
				won.Add(1)
			} else {
				s.expectOwned("to come second", err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n != 1 {
		s.Errorf("%d of %d have the session", n, candidates)
	}
}

func (s *storeTest) lateWriter() {
	first := s.acquire(sessionID(1))
	s.append(owned(first, sessionID(1), 1))
	s.release(first)
	s.expectConflict(owned(first, sessionID(1), 2))
	second := s.acquire(sessionID(1))
	s.expectConflict(owned(first, sessionID(1), 2))
	s.append(owned(second, sessionID(1), 2))
	s.expectConflict(owned(first, sessionID(1), 3))
	s.expect(sessionID(1), 0, said(sessionID(1), 1, 2))
	// A session that is deleted is nobody's.
	if err := s.store.Delete(s.Context(), sessionID(1)); err != nil {
		s.Error(err)
	}
	promptly(s.T, "the end of requests", func() {
		for range second.Requests() {
		}
	})
	s.expectConflict(owned(second, sessionID(1), 1))
	s.append(owned(s.acquire(sessionID(1)), sessionID(1), 1))
}

func (s *storeTest) requests() {
	if _, _, err := s.store.Ask(s.Context(), sessionID(1), troupe.SessionRequest{Cancel: true}); !errors.Is(err, troupe.ErrNotFound) {
		s.Errorf("to ask for a session that is not there: %v", err)
	}
	s.append(said(sessionID(1), 1, 1)...)
	info, _, err := s.store.Ask(s.Context(), sessionID(1), troupe.SessionRequest{Cancel: true})
	if err != nil || info.Owner != (troupe.Owner{}) || info.Events != 1 {
		s.Errorf("to ask where nobody is: %+v, %v", info, err)
	}
	lease := s.acquire(sessionID(1))
	yes := &troupe.UserSaid{Text: "yes", CallID: "c1", Answer: &troupe.Answer{Approved: true}}
	for _, want := range []troupe.SessionRequest{{Cancel: true}, {Title: "new"}, {Question: "r#1", Said: yes}, {}} {
		promptly(s.T, "a request", func() {
			if _, _, err := s.store.Ask(s.Context(), sessionID(1), want); err != nil {
				s.Errorf("ask %+v: %v", want, err)
			}
			if got := <-lease.Requests(); !reflect.DeepEqual(got, want) {
				s.Errorf("asked was %+v, and what arrived is %+v", want, got)
			}
		})
	}
}

func (s *storeTest) replies() {
	lease := s.acquire(sessionID(1))
	s.append(owned(lease, sessionID(1), 1))
	reply := eventOf(sessionID(1), 0, &troupe.TextDelta{Text: "so far", Attempt: 1})
	if err := lease.Show(s.Context(), []troupe.Event{reply}); err != nil {
		s.Fatal(err)
	}
	_, got, err := s.store.Ask(s.Context(), sessionID(1), troupe.SessionRequest{})
	if err != nil || len(got) != 1 || inJSON(s.T, got[0]) != inJSON(s.T, reply) {
		s.Errorf("shown is %+v, %v", got, err)
	}
	s.release(lease)
	if _, got, err := s.store.Ask(s.Context(), sessionID(1), troupe.SessionRequest{}); err != nil || len(got) != 0 {
		s.Errorf("after the release %d replies are in progress, %v", len(got), err)
	}
}
