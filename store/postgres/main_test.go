package postgres

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// shared is the server of all tests that do not harm it.
var shared postgrestest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Remove()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// openAt opens the store at an address for as long as the test.
func openAt(tb testing.TB, address string, options ...Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), address, append(options, Options{})[0])
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// openNew opens an empty store for as long as the test.
func openNew(tb testing.TB, options ...Options) *Store {
	tb.Helper()
	return openAt(tb, shared.Server(tb).Schema(), options...)
}

// id returns the id of the nth session of a test.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// eventsOf makes events of a session, numbered from a number, of bodies.
func eventsOf(session string, from int64, bodies ...troupe.Body) []troupe.Event {
	var events []troupe.Event
	for i, body := range bodies {
		seq := from + int64(i)
		when := time.Date(2024, 2, 29, 12, 0, 0, int(seq), time.UTC)
		events = append(events, troupe.Event{Seq: seq, Time: when, Session: session, Run: "r", Step: fmt.Sprint(seq), Agent: "alex", Body: body})
	}
	return events
}

// under returns events as the holder of a lease writes them.
func under(lease troupe.Lease, events []troupe.Event) []troupe.Event {
	for i := range events {
		events[i].Epoch = lease.Epoch()
	}
	return events
}

func said(text string) troupe.Body { return &troupe.UserSaid{Text: text} }

func mustAppend(tb testing.TB, s troupe.Store, events ...troupe.Event) {
	tb.Helper()
	if err := s.Append(tb.Context(), events[0].Session, events...); err != nil {
		tb.Fatal(err)
	}
}

func mustAcquire(tb testing.TB, s troupe.Store, session string) troupe.Lease {
	tb.Helper()
	lease, err := s.Acquire(tb.Context(), session)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// lengthOf returns how many events a session has.
func lengthOf(tb testing.TB, s troupe.Store, session string) (n int) {
	tb.Helper()
	for _, err := range s.Events(tb.Context(), session, 0) {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return n
}
