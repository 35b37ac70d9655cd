package temporal

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// A run whose workflow is cancelled before it goes on does not go on, whether or not the worker has
// room for it.
func TestARunThatIsCancelledBeforeItGoesOnIsCancelled(t *testing.T) {
	for name, used := range map[string]int{"room": 0, "no room": 1} {
		t.Run(name, func(t *testing.T) {
			store := troupe.NewMemoryStore()
			engine, err := troupe.New(troupe.Config{Store: store})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			step := slow()
			run, err := work.Recorder{Store: store}.Record(t.Context(), step, troupe.Input{Text: "go"}, func(context.Context, string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(temporal.NewCanceledError())
			w := &Worker{Engine: engine, Store: store, MaxParallel: 1, Step: func(context.Context, work.Job) (troupe.Step, error) { return step, nil }}
			w.slots.used = used
			env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			env.SetTestTimeout(2 * time.Minute)
			env.RegisterActivityWithOptions(w.perform, activity.RegisterOptions{Name: performActivity})
			_, err = env.ExecuteActivity(performActivity, work.Job{Session: run.Session, Step: step.Name()})
			if !temporal.IsCanceledError(err) {
				t.Errorf("the activity: %v", err)
			}
			info, _, err := store.Ask(t.Context(), run.Session, troupe.SessionRequest{})
			if err != nil || info.Status != "cancelled" {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}
