package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/store"
)

// follow begins to follow all events after a number, and returns what comes.
func follow(t *testing.T, s *Store, after int64) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	came, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for hit, err := range s.Follow(ctx, store.Query{After: after}) {
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			came <- hit.Event.Session[35:] + fmt.Sprint("/", hit.Event.Seq)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return func() string { return <-came }
}

// What was begun early and committed late is neither missed nor keeps others waiting.
func TestFollowMissesNothingThatIsCommittedLate(t *testing.T) {
	address := shared.Server(t).Schema()
	s, other := openAt(t, address), openAt(t, address)
	mustAppend(t, s, eventsOf(id(1), 1, said("before"))...)
	last, err := s.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := follow(t, s, last)
	next := func() string {
		got := told()
		for got == "1/1" { // which is not settled for as long as any transaction of the server is open, as one of another test
			got = told()
		}
		return got
	}

	// An append is one statement: here it is one in a transaction that stays open.
	slow, err := other.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close(context.Background())
	tx, err := slow.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := encode(id(2), eventsOf(id(2), 1, said("begun early")))
	if err != nil {
		t.Fatal(err)
	}
	b.follow(session{}, now())
	if stored, err := other.insertIn(t.Context(), tx, b); err != nil || !stored {
		t.Fatal(stored, err)
	}
	var key int64
	if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text::bigint << 20").Scan(&key); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, eventsOf(id(3), 1, said("begun late"))...)
	if got := next(); got != "3/1" {
		t.Errorf("%s came first", got)
	}
	if unsettled, err := s.Last(t.Context()); err != nil || unsettled >= key {
		t.Errorf("up to %d nothing is added any more, and the open transaction adds something before it, %v", unsettled, err)
	}
	mustAppend(t, other, eventsOf(id(4), 1, said("later still"))...)
	if got := next(); got != "4/1" {
		t.Errorf("%s came second", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "2/1" {
		t.Errorf("%s came third", got)
	}
	mustAppend(t, other, eventsOf(id(4), 2, said("the end"))...)
	if got := next(); got != "4/2" {
		t.Errorf("%s came last", got)
	}
}

func TestFollowAfterASearchMissesNothingBetween(t *testing.T) {
	s := openNew(t)
	for n := range 5 {
		mustAppend(t, s, eventsOf(id(n), 1, said("hi"), said("ho"))...)
	}
	last, err := s.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for hit, err := range s.Search(t.Context(), store.Query{Before: last + 1}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, hit.Event.Session[35:]+fmt.Sprint("/", hit.Event.Seq))
	}
	mustAppend(t, s, eventsOf(id(5), 1, said("hi"))...)
	next := follow(t, s, last)
	for !slices.Contains(names, "5/1") {
		names = append(names, next())
	}
	slices.Sort(names)
	if len(names) != 11 || len(slices.Compact(names)) != 11 {
		t.Errorf("seen were %v", names)
	}
}
