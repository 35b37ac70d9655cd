package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// eventsEach is how many events a session has that fill stores.
const eventsEach = 100

// fill stores sessions of one run each, from one number to another.
func fill(t *testing.T, s *sqlite.Store, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)
		bodies := []troupe.Body{&troupe.RunStarted{Input: troupe.Handoff{Task: "Count."}}}
		for len(bodies) < eventsEach-1 {
			bodies = append(bodies, &troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: "One."}, Finish: troupe.FinishStop, Model: "m", Attempt: 1, Usage: troupe.Usage{Input: 4, Output: 1}})
		}
		bodies = append(bodies, &troupe.RunFinished{Stop: "answered", Output: troupe.Handoff{Summary: "One."}})
		var events []troupe.Event
		for i, body := range bodies {
			events = append(events, troupe.Event{Seq: int64(i + 1), Time: time.Unix(int64(n), 0).UTC(), Session: id, Run: "r", Step: fmt.Sprint(i), Agent: "clerk", Body: body})
		}
		if err := s.Append(t.Context(), id, events...); err != nil {
			t.Fatal(err)
		}
	}
}

// What was counted by the clock is not counted again, what came since is, and where sessions
// were deleted all is counted anew.
func TestMetricsAreKept(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	opened, err := project.Open(dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s, err := sqlite.Open(t.Context(), filepath.Join(opened.DataDir(), "troupe.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const many = worthKeeping/eventsEach + 1
	file := filepath.Join(opened.DataDir(), foldedName)
	started := func(want int) *foldedFile {
		t.Helper()
		reader, err := opened.OpenReader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		metrics, err := fold(t.Context(), reader, opened.DataDir(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		anew := newFolded()
		if _, err := foldAll(t.Context(), reader, anew.Metrics, 0, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if got := metrics.Summary(); int(got.Runs.Started) != want || !reflect.DeepEqual(got, anew.Metrics.Summary()) {
			t.Errorf("counted: %+v, and anew %+v; want %d", got, anew.Metrics.Summary(), want)
		}
		return readFolded(file)
	}

	fill(t, s, 0, many)
	if _, err := foldKept(t.Context(), s, opened.DataDir()); err != nil {
		t.Fatal(err)
	}
	if kept := readFolded(file); kept.Events != eventsEach*many || int(kept.Metrics.Summary().Runs.Started) != many {
		t.Errorf("kept of %d events: %+v", kept.Events, kept.Metrics.Summary())
	}
	fill(t, s, many, many+5)
	if kept := started(many + 5); kept.Events != eventsEach*many {
		t.Errorf("for few events it was written again: %d", kept.Events)
	}
	if err := s.Delete(t.Context(), "00000000-0000-4000-8000-000000000000"); err != nil {
		t.Fatal(err)
	}
	if kept := started(many + 4); kept.Events != eventsEach*(many+4) {
		t.Errorf("after a deletion, kept of %d events", kept.Events)
	}
}

// Commands that run something keep the count close to what is stored, a piece at a time.
func TestCommandsCountWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "troupe.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	file := filepath.Join(dir, foldedName)
	const sessions = 6 * worthKeeping / eventsEach
	fill(t, s, 0, sessions)
	var counted []int64
	for range 4 {
		if err := countFirst(t.Context(), s, dir, mostAtOnce); err != nil {
			t.Fatal(err)
		}
		kept := readFolded(file)
		if n, err := s.Count(t.Context(), 0, kept.Upto); err != nil || n != kept.Events || readUpto(file) != kept.Upto {
			t.Fatalf("kept of %d events up to %d, of which there are %d, %v", kept.Events, kept.Upto, n, err)
		}
		counted = append(counted, kept.Events)
	}
	// In pages of some thousand, as many as it takes.
	if counted[0] < mostAtOnce || counted[0] >= mostAtOnce+worthKeeping || counted[1] <= counted[0]+worthKeeping || counted[2] != sessions*eventsEach || counted[3] != counted[2] {
		t.Errorf("counted %d of %d", counted, sessions*eventsEach)
	}
	metrics, err := fold(t.Context(), s, dir, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if got := metrics.Summary(); int(got.Runs.Started) != sessions || int(got.Runs.Success) != sessions {
		t.Errorf("counted %+v", got.Runs)
	}
	fill(t, s, sessions, sessions+1)
	if err := countFirst(t.Context(), s, dir, mostAtOnce); err != nil || readUpto(file) != readFolded(file).Upto || readFolded(file).Events != sessions*eventsEach {
		t.Errorf("few events were counted, %v", err)
	}
}

// A served project's metrics are counted without being asked for.
func TestAServerCountsByTheClock(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	const atOnce = worthKeeping/eventsEach + 1
	sessions := 0
	more := func() {
		s, err := sqlite.Open(t.Context(), filepath.Join(dir, "data", "troupe.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, sessions, sessions+atOnce)
		sessions += atOnce
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	more()
	synctest.Test(t, func(t *testing.T) {
		opened, err := project.Open(dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }})
		if err != nil {
			t.Fatal(err)
		}
		served, err := newGeneration(t.Context(), opened, func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		for minute := range 2 {
			time.Sleep(countEvery)
			synctest.Wait()
			want := int64(sessions * eventsEach)
			if kept := readFolded(filepath.Join(dir, "data", foldedName)); kept.Events != want {
				t.Errorf("after minute %d, %d events are counted of %d", minute+1, kept.Events, want)
			}
			if minute == 0 {
				more()
			}
		}
		if err := errors.Join(served.close(), opened.Close()); err != nil {
			t.Error(err)
		}
	})
}
