package test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/work"
)

// Of a queue with a rate no more begin than that, however many workers there are; other queues have
// nothing to do with it. That a machine is slow cannot make it fail.
func TestARateHoldsOverAllWorkersOfAQueue(t *testing.T) {
	const rate, runs = 4, 24
	var mu sync.Mutex
	var begins []time.Time
	note := troupe.NewStep("note", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		mu.Lock()
		defer mu.Unlock()
		begins = append(begins, time.Now())
		return troupe.Handoff{Summary: "noted"}, nil
	})
	s := newStage(t, note)
	s.worker.RunsPerSecond = rate
	s.start(t)
	s.start(t) // another worker of the same queue
	free := newStage(t, note)
	free.Dispatcher.Queue, free.worker.Queue = free.Queue+"-free", free.worker.Queue+"-free"
	free.start(t)
	if _, err := free.Wait(t.Context(), startRuns(t, free.Dispatcher, note, 1)[0]); err != nil {
		t.Fatal(err)
	}
	// The server knows the rate from the workers' first polls.
	if _, err := s.Wait(t.Context(), startRuns(t, s.Dispatcher, note, 1)[0]); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	begins = nil
	mu.Unlock()
	for _, session := range startRuns(t, s.Dispatcher, note, runs) {
		if _, err := s.Wait(t.Context(), session); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(begins, time.Time.Compare)
	// A second's worth may come at once, and of a queue's four partitions each rounds up.
	const burst = 2 * rate
	if took, least := begins[len(begins)-1].Sub(begins[0]), time.Duration(runs-burst)*time.Second/rate; len(begins) != runs || took < least {
		t.Errorf("%d runs began within %s; at %d a second that takes at least %s", len(begins), took, rate, least)
	} else {
		t.Logf("%d runs began within %s, %.1f a second", len(begins), took.Round(time.Millisecond), float64(runs)/took.Seconds())
	}
}

func startRuns(t *testing.T, d *temporal.Dispatcher, step troupe.Step, n int) (sessions []string) {
	t.Helper()
	for range n {
		var run work.Recorded
		run, err := d.Start(t.Context(), step, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, run.Session)
	}
	return sessions
}
