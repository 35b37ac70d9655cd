//go:build unix

package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/internal/worktest"
)

// patient is work that goes on until somebody lets it end.
const patient = "patient"

// never is longer than a test takes.
const never = time.Hour

// stepOf makes the step of a kind of work.
func stepOf(place worktest.Place, kind string) (troupe.Step, error) {
	if kind != patient {
		return place.Step(kind)
	}
	wait := troupe.NewTool("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		for {
			if _, err := os.Stat(gate(place)); err == nil {
				return "the gate is open", nil
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
	}, troupe.RepeatSafe())
	return troupe.NewStep(patient, func(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
		_, err := run.Call(ctx, wait, struct{}{})
		return troupe.Handoff{Summary: "done"}, err
	}), nil
}

// gate is the file that ends patient work.
func gate(place worktest.Place) string { return filepath.Join(string(place), "gate") }

// begin starts a worker that has a patient run, and returns its session.
func (s *siege) begin() string {
	s.t.Helper()
	step, err := stepOf(s.place, patient)
	if err != nil {
		s.t.Fatal(err)
	}
	run, err := s.runner.Submit(s.t.Context(), step, troupe.Input{Text: "wait"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.workers = append(s.workers, s.hire())
	s.untilHeld(run.Session, s.workers[0])
	return run.Session
}

// untilHeld waits until a worker has a session.
func (s *siege) untilHeld(session string, w *exec.Cmd) {
	s.t.Helper()
	until(s.t, "a worker has the run", func() bool {
		info, _, err := s.store.Ask(s.t.Context(), session, troupe.SessionRequest{})
		return err == nil && info.Owner.PID == w.Process.Pid && info.Status == "running"
	})
}

// untilOver waits until a run and its workflow have ended.
func (s *siege) untilOver(session, status string) {
	s.t.Helper()
	until(s.t, "Temporal answers", func() bool { _, err := s.client.CheckHealth(s.t.Context(), nil); return err == nil })
	result, err := (&temporal.Dispatcher{Client: s.client}).Wait(s.t.Context(), session)
	if err != nil || result.Status != status {
		s.t.Errorf("the workflow: %+v, %v", result, err)
	}
	info, _, err := s.store.Ask(s.t.Context(), session, troupe.SessionRequest{})
	if err != nil || info.Status != status {
		s.t.Errorf("the run: %+v, %v", info, err)
	}
	if _, there, err := s.store.JobOf(s.t.Context(), session); there || err != nil {
		s.t.Errorf("the job is there: %v, %v", there, err)
	}
	text := history(s.t, s.client, "troupe-"+session)
	if n := strings.Count(text, "ActivityTaskStartedEventAttributes"); n > 1 {
		s.t.Errorf("%d activities were started", n)
	}
}

func (s *siege) openGate() {
	s.t.Helper()
	if err := os.WriteFile(gate(s.place), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// A run whose worker is frozen goes on elsewhere when its lease is over, whatever Temporal knows: here it
// would not miss the worker within the test. The one before is refused when it wakes up, and goes on with the
// run when the next one is frozen.
func TestALostRunGoesOnWhenItsLeaseIsOver(t *testing.T) {
	s := newSiege(t, time.Second, never)
	session := s.begin()
	frozen := s.workers[0].Process
	if err := frozen.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.workers = append(s.workers, s.hire())
	s.untilHeld(session, s.workers[1])
	if err := frozen.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := s.workers[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.untilHeld(session, s.workers[0])
	s.openGate()
	s.untilOver(session, "completed")
}

// A workflow that is cancelled cancels the run, whoever has taken it over.
func TestARunThatWasTakenOverCanBeCancelled(t *testing.T) {
	s := newSiege(t, time.Second, 6*time.Second)
	session := s.begin()
	s.replace(0)
	s.untilHeld(session, s.workers[0])
	if err := (&temporal.Dispatcher{Client: s.client}).Cancel(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	s.untilOver(session, "cancelled")
}

// A worker that has taken a run over and is told to end gives it up at once, to whom Temporal
// gives it.
func TestARunThatWasTakenOverIsGivenUpByAWorkerThatEnds(t *testing.T) {
	s := newSiege(t, time.Second, never)
	session := s.begin()
	s.replace(0)
	s.untilHeld(session, s.workers[0])
	s.workers = append(s.workers, s.hire())
	ending := s.workers[0]
	if err := ending.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := ending.Wait(); err != nil {
		t.Fatal(err)
	}
	s.untilHeld(session, s.workers[1])
	s.openGate()
	s.untilOver(session, "completed")
}

// While Temporal is away, a run goes on whose worker is killed, and when it is back, it hears what came of it.
func TestALostRunGoesOnWhileTemporalIsAway(t *testing.T) {
	s := newSiege(t, time.Second, heartbeat)
	session := s.begin()
	s.workers = append(s.workers, s.hire())
	until(t, "both workers take runs", func() bool {
		queue, err := s.client.DescribeTaskQueue(t.Context(), temporal.QueueName(queueName), enumspb.TASK_QUEUE_TYPE_ACTIVITY)
		return err == nil && len(queue.GetPollers()) == 2
	})
	s.cluster.kill()
	_ = s.workers[0].Process.Kill()
	s.untilHeld(session, s.workers[1])
	s.openGate()
	until(t, "the run has ended", func() bool {
		info, _, err := s.store.Ask(t.Context(), session, troupe.SessionRequest{})
		return err == nil && info.Status == "completed"
	})
	s.cluster.run()
	s.untilOver(session, "completed")
}

// Where the store does not miss a worker, as one that cannot reach Temporal alone, Temporal does.
func TestARunWhoseHeartbeatIsMissedIsSeized(t *testing.T) {
	s := newSiege(t, never, heartbeat)
	session := s.begin()
	s.replace(0)
	s.untilHeld(session, s.workers[0])
	s.openGate()
	s.untilOver(session, "completed")
}
