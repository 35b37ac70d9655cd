package work_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// A stage is a server's side and a worker's, each with an engine of its own, on one store.
type stage struct {
	store  troupe.Store
	queue  *queue
	runner *work.Runner
	engine *troupe.Engine // the worker's
	calls  atomic.Int32
}

func newStage(t *testing.T) *stage {
	s := &stage{store: troupe.NewMemoryStore()}
	s.queue = &queue{store: s.store}
	server, err := troupe.New(troupe.Config{Store: s.store})
	if err != nil {
		t.Fatal(err)
	}
	if s.engine, err = troupe.New(troupe.Config{Store: s.store}); err != nil {
		t.Fatal(err)
	}
	s.runner = &work.Runner{Engine: server, Recorder: work.Recorder{Store: s.store}, Queue: s.queue}
	t.Cleanup(func() { _, _ = server.Close(), s.engine.Close() })
	return s
}

// echo says what it was told, by way of a tool.
func (s *stage) echo() troupe.Step {
	type said struct{ Text string }
	say := troupe.NewTool("say", "Says it.", func(_ context.Context, in said) (string, error) {
		s.calls.Add(1)
		return "said " + in.Text, nil
	})
	return troupe.NewStep("echo", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		result, err := run.Call(ctx, say, said{in.Task})
		return troupe.Handoff{Summary: result.Content}, err
	})
}

// work has a worker at work while f runs.
func (s *stage) work(t *testing.T, step troupe.Step, f func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	w := &work.Worker{Engine: s.engine, Queue: s.queue, Step: func(context.Context, work.Job) (troupe.Step, error) { return step, nil }}
	go func() { done <- w.Work(ctx) }()
	f()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWhatAServerPutsOnRecordAWorkerCarriesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var kinds []string
		s.work(t, s.echo(), func() {
			for e, err := range s.runner.Run(t.Context(), s.echo(), troupe.Input{Text: "hello", User: "ann"}) {
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, e.Kind())
			}
		})
		if got, want := strings.Join(kinds, " "), "run_started user_said run_resumed tool_called tool_returned run_finished"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		if s.calls.Load() != 1 || len(s.queue.jobs) != 0 {
			t.Errorf("%d calls, jobs left: %v", s.calls.Load(), s.queue.jobs)
		}
	})
}

func TestARequestThatIsSentAgainIsOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		input := troupe.Input{Text: "hello", IdempotencyKey: "once"}
		var first work.Recorded
		for range 3 {
			recorded, err := s.runner.Submit(t.Context(), s.echo(), input)
			if err != nil {
				t.Fatal(err)
			}
			if first.Session == "" {
				first = recorded
			} else if recorded.Session != first.Session || recorded.Run != first.Run {
				t.Errorf("%+v, want %+v", recorded, first)
			}
		}
		s.work(t, s.echo(), func() {
			outcome, err := troupe.Collect(s.runner.Run(t.Context(), s.echo(), input))
			if err != nil || !strings.Contains(outcome.Text, "said hello") {
				t.Errorf("%+v, %v", outcome, err)
			}
			time.Sleep(time.Minute) // where the last request came while the worker had the job, it looks at it again
		})
		if recorded, err := s.runner.Submit(t.Context(), s.echo(), input); err != nil || !recorded.Known || recorded.Run != first.Run {
			t.Errorf("%+v, %v", recorded, err)
		}
		if s.calls.Load() != 1 || len(s.queue.jobs) != 0 {
			t.Errorf("%d calls, jobs left: %v", s.calls.Load(), s.queue.jobs)
		}
	})
}

// An atEnd is a store that calls after once the end of a run is on record.
type atEnd struct {
	troupe.Store
	after func()
}

func (s atEnd) Append(ctx context.Context, session string, events ...troupe.Event) error {
	err := s.Store.Append(ctx, session, events...)
	for _, e := range events {
		if _, ok := e.Body.(*troupe.RunFinished); ok && err == nil {
			s.after()
		}
	}
	return err
}

// A worker that is to end when its run has just finished leaves no job to others.
func TestAWorkerThatEndsWithItsRunLeavesNoJob(t *testing.T) {
	s := newStage(t)
	recorded, err := s.runner.Submit(t.Context(), s.echo(), troupe.Input{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	engine, err := troupe.New(troupe.Config{Store: atEnd{s.store, cancel}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if err := work.Perform(ctx, engine, s.echo(), recorded.Session); err != nil || ctx.Err() == nil {
		t.Errorf("%v; it was to end: %v", err, ctx.Err() != nil)
	}
}

func TestASessionWhoseRunWaitsForAWorkerIsBusy(t *testing.T) {
	s := newStage(t)
	recorded, err := s.runner.Submit(t.Context(), s.echo(), troupe.Input{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.runner.Submit(t.Context(), s.echo(), troupe.Input{Session: recorded.Session, Text: "more"}); !errors.Is(err, troupe.ErrBusy) {
		t.Errorf("a second message: %v", err)
	}
}

// What cannot be put into the queue is not on record either.
func TestNothingIsStoredThatNobodyWasToldOf(t *testing.T) {
	s := newStage(t)
	broken := errors.New("the queue is away")
	_, err := s.runner.Recorder.Record(t.Context(), s.echo(), troupe.Input{Text: "hello"}, func(context.Context, string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	for info := range s.store.Sessions(t.Context(), troupe.SessionFilter{}) {
		t.Errorf("stored: %+v", info)
	}
}

func TestAQuestionEndsTheJobAndItsAnswerIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		ask := troupe.NewToolWithCall("ask", "Asks.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
			if len(call.Answers) == 0 {
				return "", &troupe.InputNeeded{Question: "Which colour?", CallAgain: true}
			}
			s.calls.Add(1)
			return "it is " + call.Answers[0].Text, nil
		})
		step := troupe.NewStep("asker", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			result, err := run.Call(ctx, ask, struct{}{})
			return troupe.Handoff{Summary: result.Content}, err
		})
		s.work(t, step, func() {
			asked, err := troupe.Collect(s.runner.Run(t.Context(), step, troupe.Input{Text: "paint"}))
			if err != nil || asked.Stop != "input_requested" {
				t.Fatalf("%+v, %v", asked, err)
			}
			if _, waits, _ := s.queue.JobOf(t.Context(), asked.Session); waits {
				time.Sleep(time.Second) // the worker is about to remove it
			}
			answered, err := troupe.Collect(s.runner.Run(t.Context(), step, troupe.Input{Session: asked.Session, Answer: &troupe.Answer{Text: "red"}}))
			if err != nil || !strings.Contains(answered.Text, "it is red") {
				t.Errorf("%+v, %v", answered, err)
			}
		})
		if s.calls.Load() != 1 {
			t.Errorf("%d calls", s.calls.Load())
		}
	})
}

func TestARunIsCancelledWhetherOrNotAnybodyHasBegunWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		hang := troupe.NewStep("hang", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			<-ctx.Done()
			return troupe.Handoff{}, context.Cause(ctx)
		})
		status := func(session string) string {
			info, _, err := s.store.Ask(t.Context(), session, troupe.SessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return info.Status
		}
		waiting, err := s.runner.Submit(t.Context(), hang, troupe.Input{Text: "wait"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.runner.Cancel(t.Context(), waiting.Session); err != nil || status(waiting.Session) != "cancelled" {
			t.Errorf("nobody has begun: %v, %s", err, status(waiting.Session))
		}
		s.work(t, hang, func() {
			begun, err := s.runner.Submit(t.Context(), hang, troupe.Input{Text: "wait"})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if status(begun.Session) != "running" {
				t.Errorf("not begun: %s", status(begun.Session))
			}
			if err := s.runner.Cancel(t.Context(), begun.Session); err != nil || status(begun.Session) != "cancelled" {
				t.Errorf("under way: %v, %s", err, status(begun.Session))
			}
			time.Sleep(time.Second)
		})
		if len(s.queue.jobs) != 0 {
			t.Errorf("jobs left: %v", s.queue.jobs)
		}
	})
}

// A worker that is told to end gives its run up, and the next one goes on with it.
func TestAWorkerThatEndsLeavesItsRunToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var passes atomic.Int32
		slow := troupe.NewStep("slow", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			if passes.Add(1) == 1 {
				<-ctx.Done()
				return troupe.Handoff{}, context.Cause(ctx)
			}
			return troupe.Handoff{Summary: "done"}, nil
		})
		ended := make(chan error, 1)
		go func() {
			_, err := troupe.Collect(s.runner.Run(t.Context(), slow, troupe.Input{Text: "go"}))
			ended <- err
		}()
		s.work(t, slow, func() { time.Sleep(time.Second) })
		s.work(t, slow, func() {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		if passes.Load() != 2 || len(s.queue.jobs) != 0 {
			t.Errorf("%d passes, jobs left: %v", passes.Load(), s.queue.jobs)
		}
	})
}

// While no worker has a run that one has left, nothing says that it has ended, and whoever wants to say
// something or to go on is told at once that it waits.
func TestARunThatAWorkerHasLeftIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		hang := troupe.NewStep("hang", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			<-ctx.Done()
			return troupe.Handoff{}, context.Cause(ctx)
		})
		run, err := s.runner.Submit(t.Context(), hang, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		s.work(t, hang, func() { time.Sleep(time.Second) })
		for e := range s.store.Events(t.Context(), run.Session, 0) {
			if e.Kind() == "run_cancelled" {
				t.Errorf("on record: %s", e.Kind())
			}
		}
		if _, err := s.runner.Submit(t.Context(), hang, troupe.Input{Session: run.Session, Text: "more"}); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("a message: %v", err)
		}
		if _, err := troupe.Collect(s.runner.Resume(t.Context(), hang, run.Session)); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("to go on: %v", err)
		}
		if err := s.runner.Cancel(t.Context(), run.Session); err != nil || len(s.queue.jobs) != 0 {
			t.Errorf("to cancel it: %v, jobs left: %v", err, s.queue.jobs)
		}
	})
}

// To go on with a run is on record before a worker takes it up.
func TestARunThatIsResumedIsUnderWayAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		fails := true
		step := troupe.NewStep("flaky", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
			if fails {
				return troupe.Handoff{}, errors.New("no")
			}
			return troupe.Handoff{Summary: "yes"}, nil
		})
		run, err := s.runner.Submit(t.Context(), step, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		s.work(t, step, func() { time.Sleep(time.Second) })
		fails = false
		for e, err := range s.runner.Resume(t.Context(), step, run.Session) {
			if err != nil || e.Kind() != "run_resumed" {
				t.Errorf("first comes %v, %v", e.Body, err)
			}
			break
		}
		if _, err := s.runner.Submit(t.Context(), step, troupe.Input{Session: run.Session, Text: "more"}); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("a message: %v", err)
		}
		s.work(t, step, func() { time.Sleep(time.Second) })
		outcome, err := s.runner.Engine.Outcome(t.Context(), run.Session)
		if err != nil || outcome.Text != "yes" || len(s.queue.jobs) != 0 {
			t.Errorf("%+v, %v, jobs left: %v", outcome, err, s.queue.jobs)
		}
	})
}

// A run waits for a worker that has its definition.
func TestAJobOfAnotherDefinitionIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		newer := troupe.NewStep("echo", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
			t.Error("carried out by a worker that has another definition")
			return troupe.Handoff{}, nil
		}, s.echo())
		if _, err := s.runner.Submit(t.Context(), s.echo(), troupe.Input{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		s.work(t, newer, func() { time.Sleep(time.Minute) })
		if len(s.queue.jobs) != 1 {
			t.Error("the job is gone")
		}
		s.work(t, s.echo(), func() { time.Sleep(time.Second) })
		if len(s.queue.jobs) != 0 || s.calls.Load() != 1 {
			t.Errorf("%d calls, jobs left: %v", s.calls.Load(), s.queue.jobs)
		}
	})
}

// Somebody may go on with a session as soon as its run has ended, and the worker removes the job of
// that run alone.
func TestWhatIsSaidWhileAJobIsRemovedIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		step := s.echo()
		first, err := s.runner.Submit(t.Context(), step, troupe.Input{Text: "one"})
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		s.queue.beforeRemove = func() {
			once.Do(func() {
				if _, err := s.runner.Submit(t.Context(), step, troupe.Input{Session: first.Session, Text: "two", IdempotencyKey: "2"}); err != nil {
					t.Error(err)
				}
			})
		}
		s.work(t, step, func() { time.Sleep(time.Minute) })
		info, _, err := s.store.Ask(t.Context(), first.Session, troupe.SessionRequest{})
		if err != nil || info.Status != "completed" || s.calls.Load() != 2 || len(s.queue.jobs) != 0 {
			t.Errorf("%+v, %v, %d calls, jobs left: %v", info, err, s.calls.Load(), s.queue.jobs)
		}
	})
}

// A run that waits for a worker is not given up for another message, whatever its key.
func TestAnotherMessageWaitsForARunThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		first := troupe.Input{Text: "one", IdempotencyKey: "1"}
		run, err := s.runner.Submit(t.Context(), s.echo(), first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.runner.Submit(t.Context(), s.echo(), troupe.Input{Session: run.Session, Text: "two", IdempotencyKey: "2"}); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("another message: %v", err)
		}
		first.Session = run.Session
		if again, err := s.runner.Submit(t.Context(), s.echo(), first); err != nil || again.Run != run.Run {
			t.Errorf("the same one: %+v, %v", again, err)
		}
	})
}
