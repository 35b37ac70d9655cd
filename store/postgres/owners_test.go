package postgres

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// pair opens two stores of one database, as two processes would.
func pair(t *testing.T, options Options) (one, two *Store) {
	t.Helper()
	address := shared.Server(t).Schema()
	return openAt(t, address, options), openAt(t, address, options)
}

// freeze has a store's process be heard of no more, as if it were stopped.
func freeze(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), "UPDATE owners SET until = clock_timestamp() - interval '1 second', lease = '0' WHERE name = $1", s.owner.name)
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnotherProcessIsToldWhoHasASession(t *testing.T) {
	one, two := pair(t, Options{})
	lease := mustAcquire(t, one, id(1))
	mustAppend(t, one, under(lease, eventsOf(id(1), 1, &troupe.RunStarted{}))...)
	_, err := two.Acquire(t.Context(), id(1))
	owner, ok := errors.AsType[*troupe.Owner](err)
	if !ok || owner.PID == 0 || owner.Host == "" || time.Since(owner.Since) > time.Hour {
		t.Errorf("to acquire: %v", err)
	}
	err = two.Append(t.Context(), id(1), eventsOf(id(1), 2, said("without a lease"))...)
	if _, ok := errors.AsType[*troupe.Owner](err); !ok {
		t.Errorf("to write: %v", err)
	}
	for info, err := range two.Sessions(t.Context(), troupe.SessionFilter{Status: "running"}) {
		if err != nil || info.Owner != *owner {
			t.Errorf("listed is %+v, %v", info, err)
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := mustAcquire(t, two, id(1))
	if again.Epoch() <= lease.Epoch() || again.Last() != 1 {
		t.Errorf("epoch %d comes after %d, with %d events", again.Epoch(), lease.Epoch(), again.Last())
	}
}

func TestASilentProcessLosesItsSessionsAndItsLateWritesAreRefused(t *testing.T) {
	one, two := pair(t, Options{Lease: time.Hour})
	late := mustAcquire(t, one, id(1))
	mustAppend(t, one, under(late, eventsOf(id(1), 1, &troupe.RunStarted{}))...)
	freeze(t, one)
	for info, err := range two.Sessions(t.Context(), troupe.SessionFilter{ID: id(1)}) {
		if err != nil || info.Status != "interrupted" || info.Owner != (troupe.Owner{}) {
			t.Errorf("it is listed as %+v, %v", info, err)
		}
	}
	// Until somebody takes the session over, nobody is harmed by a late write.
	mustAppend(t, one, under(late, eventsOf(id(1), 2, said("late")))...)
	lease := mustAcquire(t, two, id(1))
	if lease.Last() != 2 {
		t.Errorf("the new owner begins after event %d", lease.Last())
	}
	for _, seq := range []int64{2, 3} {
		if err := one.Append(t.Context(), id(1), under(late, eventsOf(id(1), seq, said("too late")))...); !errors.Is(err, troupe.ErrConflict) {
			t.Errorf("a late event %d: %v", seq, err)
		}
	}
	mustAppend(t, two, under(lease, eventsOf(id(1), 3, said("mine")))...)
	for range late.Requests() { // which ends, because the first one hears of it
	}
	if err := late.Release(t.Context()); err != nil {
		t.Error(err)
	}
	mustAppend(t, two, under(lease, eventsOf(id(1), 4, said("still mine")))...)
	if n := lengthOf(t, one, id(1)); n != 4 {
		t.Errorf("there are %d events", n)
	}
}

func TestWritingWithoutALeaseGoesOnWhereASilentProcessLeftOff(t *testing.T) {
	one, two := pair(t, Options{Lease: time.Hour})
	lease := mustAcquire(t, one, id(1))
	mustAppend(t, one, under(lease, eventsOf(id(1), 1, &troupe.RunStarted{}))...)
	freeze(t, one)
	mustAppend(t, two, eventsOf(id(1), 2, said("a title"))...)
	if err := one.Append(t.Context(), id(1), under(lease, eventsOf(id(1), 3, said("too late")))...); !errors.Is(err, troupe.ErrConflict) {
		t.Errorf("a late event: %v", err)
	}
}

func TestClosingGivesUpSessions(t *testing.T) {
	one, two := pair(t, Options{Lease: time.Hour})
	mustAcquire(t, one, id(1)) // which never got an event
	lease := mustAcquire(t, one, id(2))
	mustAppend(t, one, under(lease, eventsOf(id(2), 1, &troupe.RunStarted{}))...)
	one.Close()
	mustAcquire(t, two, id(1))
	if got := mustAcquire(t, two, id(2)); got.Last() != 1 {
		t.Errorf("it has %d events", got.Last())
	}
	if err := one.Append(t.Context(), id(3), eventsOf(id(3), 1, said("hi"))...); !errors.Is(err, ErrClosed) {
		t.Errorf("to write to a closed store: %v", err)
	}
}

func TestRequestsAndRepliesReachOtherProcesses(t *testing.T) {
	one, two := pair(t, Options{})
	lease := mustAcquire(t, one, id(1))
	mustAppend(t, one, under(lease, eventsOf(id(1), 1, &troupe.RunStarted{}))...)
	for _, want := range []troupe.SessionRequest{{Cancel: true}, {Title: "a new title with \"quotes\" and 雪"}, {Question: "r#2", Said: &troupe.UserSaid{Text: "yes,\nthis one", Answer: &troupe.Answer{Approved: true}}}, {}} {
		info, _, err := two.Ask(t.Context(), id(1), want)
		if err != nil || info.Owner.PID == 0 {
			t.Fatalf("ask: %+v, %v", info, err)
		}
		if got := <-lease.Requests(); !reflect.DeepEqual(got, want) {
			t.Errorf("asked was %+v, and what arrived is %+v", want, got)
		}
	}
	reply := troupe.Event{Session: id(1), Run: "r", Step: "2", Agent: "alex", Body: &troupe.TextDelta{Text: "so far", Attempt: 1}}
	if err := lease.Show(t.Context(), []troupe.Event{reply}); err != nil {
		t.Fatal(err)
	}
	shown := func(want int) {
		t.Helper()
		for {
			_, replies, err := two.Ask(t.Context(), id(1), troupe.SessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if len(replies) == want {
				return
			}
			time.Sleep(time.Millisecond) // until the other has heard of it
		}
	}
	shown(1)
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown(0)
}

// An answer from memory is never older than what was heard.
func TestWhoFollowsSeesEventsOfAnotherProcess(t *testing.T) {
	one, two := pair(t, Options{})
	lease := mustAcquire(t, one, id(1))
	for seq := int64(1); seq <= 20; seq++ {
		mustAppend(t, one, under(lease, eventsOf(id(1), seq, said("hi")))...)
		for {
			info, _, err := two.Ask(t.Context(), id(1), troupe.SessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if info.Events == seq {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestADeletedSessionIsTakenFromAnotherProcess(t *testing.T) {
	one, two := pair(t, Options{})
	lease := mustAcquire(t, one, id(1))
	mustAppend(t, one, under(lease, eventsOf(id(1), 1, &troupe.RunStarted{}))...)
	if err := two.Delete(t.Context(), id(1)); err != nil {
		t.Fatal(err)
	}
	for range lease.Requests() {
	}
	if err := one.Append(t.Context(), id(1), under(lease, eventsOf(id(1), 2, said("hi")))...); !errors.Is(err, troupe.ErrConflict) {
		t.Errorf("to write to it: %v", err)
	}
	// The id may have another log by now: what the first remembers of it does not count.
	mustAppend(t, two, eventsOf(id(1), 1, said("another log"))...)
	mustAppend(t, one, eventsOf(id(1), 2, said("goes on"))...)
	for info, err := range one.Sessions(t.Context(), troupe.SessionFilter{}) {
		if err != nil || info.Title != "another log" || info.Events != 2 {
			t.Errorf("it is %+v, %v", info, err)
		}
	}
}

// Who was not told that it has a session does not keep it.
func TestALeaseThatNobodyKnowsOfIsGivenUp(t *testing.T) {
	one, two := pair(t, Options{Lease: time.Hour})
	mustAppend(t, one, eventsOf(id(1), 1, &troupe.RunStarted{})...)
	kept := mustAcquire(t, one, id(2))
	lost := mustAcquire(t, one, id(1)).(*lease)
	one.owner.unreserve(lost) // as if the answer had not come
	// Somebody else gets it when its owner has looked at what it has, which it may do at any time.
	if _, err := two.Acquire(t.Context(), id(1)); err != nil {
		if !errors.Is(err, troupe.ErrBusy) {
			t.Error(err)
		}
		if err := one.owner.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, two, id(1))
	}
	mustAppend(t, one, under(kept, eventsOf(id(2), 1, said("still mine")))...)
}

// Whoever follows a session asks each of its owners for replies in progress, however soon
// one comes after the other.
func TestTheNextOwnerIsAskedForRepliesAtOnce(t *testing.T) {
	one, two := pair(t, Options{})
	var last troupe.Owner
	for n := range 3 {
		lease := mustAcquire(t, one, id(1))
		if n == 0 {
			mustAppend(t, one, under(lease, eventsOf(id(1), 1, &troupe.RunStarted{}))...)
		}
		for isNew := false; !isNew; time.Sleep(time.Millisecond) { // until the other has heard of it
			info, _, err := two.Ask(t.Context(), id(1), troupe.SessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			isNew = info.Owner != (troupe.Owner{}) && info.Owner != last
			if isNew {
				last = info.Owner
			}
		}
		select {
		case <-lease.Requests():
		case <-time.After(10 * time.Second):
			t.Fatalf("owner %d was not asked", n+1)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
