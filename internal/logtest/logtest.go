// Package logtest holds logs to what [store.Log] promises beyond a troupe.Store.
package logtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// Scan checks that a scan of a log which is new has every event once, in the order in which
// they were stored, small ones and large ones, and that forks are known.
func Scan(t *testing.T, s store.Log) {
	before := mustLast(t, s)
	const sessions = 40
	for seq := int64(1); seq <= 60; seq += 20 {
		for n := range sessions {
			bodies := make([]troupe.Body, 20)
			for i := range bodies {
				bodies[i] = &troupe.UserSaid{Text: "Said."}
				if n == 7 {
					bodies[i] = &troupe.UserSaid{Text: strings.Repeat("long ", 20_000)}
				}
			}
			if n == 3 && seq == 21 {
				bodies[4] = &troupe.SessionForked{From: id(1), After: 2}
			}
			appendTo(t, s, id(n+1), seq, bodies...)
		}
	}
	if err := s.Delete(t.Context(), id(30)); err != nil {
		t.Fatal(err)
	}
	const want = (sessions - 1) * 60
	upto := mustLast(t, s)
	for began := time.Now(); mustCount(t, s, before, upto) < want; upto = mustLast(t, s) {
		if time.Since(began) > patience { // until what others do in the same database has ended
			t.Fatalf("of %d events the last is %d", want, upto)
		}
	}
	appendTo(t, s, id(99), 1, &troupe.UserSaid{Text: "After it."})

	next, got := map[string]int64{}, 0
	scan := func(after int64, enough int) int64 {
		for page, err := range s.Scan(t.Context(), after, upto) {
			if err != nil {
				t.Fatal(err)
			}
			if page.Upto <= after || page.Upto > upto || page.Len() == 0 {
				t.Fatalf("a page of %d events up to %d, after %d", page.Len(), page.Upto, after)
			}
			for content := range page.Events() {
				var e troupe.Event
				if err := json.Unmarshal(content, &e); err != nil {
					t.Fatal(err)
				}
				if next[e.Session]++; e.Seq != next[e.Session] {
					t.Fatalf("session %s: event %d; want %d", e.Session, e.Seq, next[e.Session])
				}
				got++
			}
			after = page.Upto
			if page.Release(); got > enough {
				break
			}
		}
		return after
	}
	scan(scan(before, want/2), want) // half of it, and on from there
	if got != want {
		t.Errorf("%d events; want %d", got, want)
	}
	if n := mustCount(t, s, before, upto); n != want {
		t.Errorf("counted %d; want %d", n, want)
	}
	forks, err := s.Forks(t.Context(), before, upto)
	if err != nil || !maps.Equal(forks, map[string]int64{id(4): 25}) {
		t.Errorf("forks %v, %v", forks, err)
	}
	if forks, err := s.Forks(t.Context(), upto, upto+1); err != nil || len(forks) != 0 {
		t.Errorf("forks after all: %v, %v", forks, err)
	}
}

// patience is how long it may take until everything is settled that was stored.
const patience = time.Minute

func mustCount(t *testing.T, s store.Log, after, upto int64) int64 {
	t.Helper()
	n, err := s.Count(t.Context(), after, upto)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func mustLast(t *testing.T, s store.Log) int64 {
	t.Helper()
	last, err := s.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func appendTo(t *testing.T, s store.Log, session string, from int64, bodies ...troupe.Body) {
	t.Helper()
	var events []troupe.Event
	for i, body := range bodies {
		seq := from + int64(i)
		when := time.Date(2024, 2, 29, 12, 0, 0, int(seq), time.UTC)
		events = append(events, troupe.Event{Seq: seq, Time: when, Session: session, Run: "r", Step: fmt.Sprint(seq), Agent: "alex", Body: body})
	}
	if err := s.Append(t.Context(), session, events...); err != nil {
		t.Fatal(err)
	}
}
