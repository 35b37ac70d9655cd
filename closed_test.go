package troupe_test

import (
	"context"
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
)

// waitThrough begins a run of a step that waits for its context, or goes on with it, and ends that with
// a cause when the step has begun.
func waitThrough(t *testing.T, engine *troupe.Engine, session string, step troupe.Step, began <-chan struct{}, cause error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(cause)
	}()
	events := engine.Resume(ctx, step, session)
	if session == "" {
		events = engine.Run(ctx, step, troupe.Input{Text: "go"})
	}
	if _, err := troupe.Collect(events); !errors.Is(err, cause) {
		t.Fatalf("the run came to %v, want %v", err, cause)
	}
}

// waiter is a flow around a step that waits until its context is done.
func waiter(began chan<- struct{}) troupe.Step {
	inner := troupe.NewStep("inner", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		began <- struct{}{}
		<-ctx.Done()
		return troupe.Handoff{}, context.Cause(ctx)
	})
	return troupe.NewStep("outer", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return run.Do(ctx, inner, in)
	}, inner)
}

// A process that is told to end and leaves its run to another has not ended the run: however often that
// happens at the same place, it is not given up.
func TestARunThatIsLeftToAnotherProcessHasNotEnded(t *testing.T) {
	store := troupe.NewMemoryStore()
	began := make(chan struct{})
	step := waiter(began)
	session := ""
	for pass := range 7 {
		waitThrough(t, newEngine(t, troupe.Config{Store: store}), session, step, began, troupe.ErrClosed)
		for info := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
			if session = info.ID; info.Status != "interrupted" {
				t.Errorf("after pass %d the session is %s", pass, info.Status)
			}
		}
	}
	for e := range store.Events(t.Context(), session, 0) {
		switch e.Kind() {
		case "run_cancelled", "run_failed", "run_finished":
			t.Errorf("event %d of run %s is %s", e.Seq, e.Run, e.Kind())
		}
	}
}

// An engine that is closed ends its runs: nobody else may be there to go on with them.
func TestClosingAnEngineCancelsItsRuns(t *testing.T) {
	store := troupe.NewMemoryStore()
	began := make(chan struct{})
	engine, step := newEngine(t, troupe.Config{Store: store}), waiter(began)
	handle, err := engine.Start(t.Context(), step, troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	for info := range store.Sessions(t.Context(), troupe.SessionFilter{ID: handle.Session}) {
		if info.Status != "cancelled" {
			t.Errorf("the session is %s", info.Status)
		}
	}
}
