package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// Wherever a run is when its workflow is cancelled, it is cancelled: before it goes on, where the worker has no
// room for it, and where another has its session.
func TestARunIsCancelledWhereverItIs(t *testing.T) {
	for name, c := range map[string]struct {
		used        int
		isElsewhere bool
		after       time.Duration
	}{
		"before it goes on":              {},
		"as it goes on":                  {after: time.Second},
		"without room":                   {used: 1},
		"while it waits for room":        {used: 1, after: busyPause / 2},
		"elsewhere":                      {isElsewhere: true},
		"while it waits for its session": {isElsewhere: true, after: busyPause / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := troupe.NewMemoryStore()
				engine, other := newTestEngine(t, store), newTestEngine(t, store)
				run, err := work.Recorder{Store: store}.Record(t.Context(), slow(), troupe.Input{Text: "go"}, func(context.Context, string) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				var elsewhere sync.WaitGroup
				defer elsewhere.Wait()
				if c.isElsewhere {
					elsewhere.Go(func() { _ = work.Perform(t.Context(), other, slow(), run.Session) })
					time.Sleep(time.Second) // it is not had for a moment only
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				if c.after == 0 {
					cancel(temporal.NewCanceledError())
				} else {
					time.AfterFunc(c.after, func() { cancel(temporal.NewCanceledError()) })
				}
				w := &Worker{Engine: engine, Store: store, MaxParallel: 1, Step: func(context.Context, work.Job) (troupe.Step, error) { return slow(), nil }}
				w.slots.used = c.used
				if err := perform(ctx, w, work.Job{Session: run.Session, Step: "slow"}); !temporal.IsCanceledError(err) {
					t.Errorf("the activity: %v", err)
				}
				info, _, err := store.Ask(t.Context(), run.Session, troupe.SessionRequest{})
				if err != nil || info.Status != "cancelled" {
					t.Errorf("%+v, %v", info, err)
				}
				if w.slots.used != c.used {
					t.Errorf("%d slots are in use", w.slots.used)
				}
			})
		})
	}
}

// A session that somebody has for longer than usual as a run is put on record is tried again soon.
func TestARunWhoseSessionIsHadAtFirstIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := troupe.NewMemoryStore()
		run, err := work.Recorder{Store: store}.Record(t.Context(), slow(), troupe.Input{Text: "go"}, func(context.Context, string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		lease, err := store.Acquire(t.Context(), run.Session)
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release(t.Context())
		w := &Worker{Engine: newTestEngine(t, store), Store: store, Step: func(context.Context, work.Job) (troupe.Step, error) { return slow(), nil }}
		err = perform(t.Context(), w, work.Job{Session: run.Session, Step: "slow"})
		if failure, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failure.Type() != notYet {
			t.Errorf("%v", err)
		}
	})
}

// perform has a worker carry out an activity, which ends when ctx is done.
func perform(ctx context.Context, w *Worker, job work.Job) error {
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.SetTestTimeout(time.Hour)
	env.RegisterActivityWithOptions(w.perform, activity.RegisterOptions{Name: performActivity})
	_, err := env.ExecuteActivity(performActivity, job)
	return err
}

func newTestEngine(t *testing.T, store troupe.Store) *troupe.Engine {
	t.Helper()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// Temporal tells a run that it was cancelled in answer to a heartbeat: none is held back for long.
func TestARunThatWasCancelledHearsOfItSoon(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{15 * time.Second: beatMost, 3 * time.Second: time.Second} {
		if got := beatEvery(timeout); got != want {
			t.Errorf("with a timeout of %v it is heard of every %v, not %v", timeout, got, want)
		}
	}
	if got := (&Worker{}).options().MaxHeartbeatThrottleInterval; got != beatMost {
		t.Errorf("heartbeats are held back for %v", got)
	}
}

func TestATemporalThatIsAwayIsSaidToBe(t *testing.T) {
	for _, err := range []error{
		serviceerror.NewUnavailable("connection refused"), serviceerror.NewDeadlineExceeded("too late"), fmt.Errorf("failed reaching server: %w", context.DeadlineExceeded),
	} {
		if got := Explain(err); !strings.Contains(got.Error(), "TEMPORAL_ADDRESS") || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
