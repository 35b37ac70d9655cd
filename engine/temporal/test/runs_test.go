package test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/schedule"
	"github.com/troupe-dev/troupe/work"
)

const secret = "a secret that no cluster needs to know"

func echo() troupe.Step {
	return troupe.NewStep("echo", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return troupe.Handoff{Summary: "said " + in.Task}, nil
	})
}

func TestARunIsAWorkflowAndOnlyIdsTravel(t *testing.T) {
	s := newStage(t, echo())
	s.start(t)
	run, err := s.Start(t.Context(), echo(), troupe.Input{Text: secret, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Wait(t.Context(), run.Session)
	if err != nil || result.Status != "completed" || s.status(t, run.Session) != "completed" {
		t.Errorf("%+v, %v", result, err)
	}
	if text := history(t, s.Client, "troupe-"+run.Session); strings.Contains(text, "secret") || !strings.Contains(text, "ActivityTaskCompleted") && !strings.Contains(text, "activity_task_completed") {
		t.Errorf("the history: %.2000s", text)
	}
	keep(t, s.Client, "troupe-"+run.Session, "run")
	until(t, "the run is found by its search attributes", func() bool {
		found, err := s.Client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "TroupeAgent = 'echo' AND TroupeUser = 'ann' AND TroupeStatus = 'completed' AND TroupeSession = '" + run.Session + "'",
		})
		return err == nil && len(found.GetExecutions()) == 1
	})
	again, err := s.Start(t.Context(), echo(), troupe.Input{Session: run.Session, Text: "more", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := s.Wait(t.Context(), again.Session); err != nil || result.Status != "completed" {
		t.Errorf("another message: %+v, %v", result, err)
	}
}

func TestAFailedRunIsAnOutcomeAndNotTriedAgain(t *testing.T) {
	var tries atomic.Int32
	broken := troupe.NewStep("broken", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		tries.Add(1)
		return troupe.Handoff{}, errors.New(secret)
	})
	s := newStage(t, broken)
	s.start(t)
	run, err := s.Start(t.Context(), broken, troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "failed" || tries.Load() != 1 {
		t.Errorf("%+v, %v, %d tries", result, err, tries.Load())
	}
	keep(t, s.Client, "troupe-"+run.Session, "failed")
	if strings.Contains(history(t, s.Client, "troupe-"+run.Session), "secret") {
		t.Error("what went wrong is in the history")
	}
}

func TestCancellingTheWorkflowCancelsTheRun(t *testing.T) {
	begun := make(chan struct{}, 1)
	hang := troupe.NewStep("hang", func(ctx context.Context, _ *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return troupe.Handoff{}, context.Cause(ctx)
	})
	s := newStage(t, hang)
	s.Heartbeat = 3 * time.Second
	s.start(t)
	run, err := s.Start(t.Context(), hang, troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := s.Cancel(t.Context(), run.Session); err != nil {
		t.Fatal(err)
	}
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "cancelled" || s.status(t, run.Session) != "cancelled" {
		t.Errorf("%+v, %v, %s", result, err, s.status(t, run.Session))
	}
	keep(t, s.Client, "troupe-"+run.Session, "cancelled")
	if err := s.Cancel(t.Context(), "00000000-0000-4000-8000-000000000000"); err != nil {
		t.Errorf("a session without a workflow: %v", err)
	}
}

func TestAQuestionEndsTheWorkflow(t *testing.T) {
	ask := troupe.NewToolWithCall("ask", "Asks.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: "Which colour?", CallAgain: true}
		}
		return "it is " + call.Answers[0].Text, nil
	})
	asker := troupe.NewStep("asker", func(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
		result, err := run.Call(ctx, ask, struct{}{})
		return troupe.Handoff{Summary: result.Content}, err
	})
	s := newStage(t, asker)
	s.start(t)
	run, err := s.Start(t.Context(), asker, troupe.Input{Text: "paint"})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "waiting" {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, err := s.Start(t.Context(), asker, troupe.Input{Session: run.Session, Answer: &troupe.Answer{Text: "red"}}); err != nil {
		t.Fatal(err)
	}
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "completed" {
		t.Errorf("%+v, %v", result, err)
	}
}

// A run waits for a worker that has its definition, and whoever looks is told so.
func TestARunGoesToAWorkerThatHasItsDefinition(t *testing.T) {
	newer := troupe.NewStep("echo", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		t.Error("carried out by a worker that has another definition")
		return troupe.Handoff{}, nil
	}, echo())
	s := newStage(t, newer)
	w := s.worker.New(s.Client)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	run, err := s.Start(t.Context(), echo(), troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the run is known to be stuck", func() bool {
		stuck, err := temporal.FindStuck(t.Context(), s.Client, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range stuck {
			if one.Session == run.Session && strings.Contains(one.Why, "another definition") {
				return true
			}
		}
		return false
	})
	w.Stop()
	s.worker.Step = func(context.Context, work.Job) (troupe.Step, error) { return echo(), nil }
	s.start(t)
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "completed" {
		t.Errorf("%+v, %v", result, err)
	}
}

// Many inputs are children of one workflow, so many at the same time.
func TestABatchIsCarriedOutWithACap(t *testing.T) {
	var now, most atomic.Int32
	busy := troupe.NewStep("busy", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		if in.Task == "fail" {
			return troupe.Handoff{}, errors.New("it fails")
		}
		return troupe.Handoff{Summary: "done"}, nil
	})
	s := newStage(t, busy)
	s.start(t)
	batch := temporal.Batch{Name: "inputs", Job: temporal.Run{Job: work.Job{Step: "busy", Queue: s.Queue, Digest: busy.Definition().Digest()}}, MaxParallel: 3}
	for i := range 20 {
		text := "go"
		if i == 7 {
			text = "fail"
		}
		run, err := s.Recorder.Record(t.Context(), busy, troupe.Input{Text: text}, func(context.Context, string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		batch.Sessions = append(batch.Sessions, run.Session)
	}
	run, err := s.StartBatch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	var counts temporal.Counts
	if err := run.Get(t.Context(), &counts); err != nil || counts != (temporal.Counts{Completed: 19, Failed: 1}) {
		t.Errorf("%+v, %v", counts, err)
	}
	keep(t, s.Client, run.GetID(), "each")
	if most.Load() > 3 {
		t.Errorf("%d at the same time", most.Load())
	}
	// What is done is done: again, nothing is carried out.
	if run, err = s.StartBatch(t.Context(), temporal.Batch{Name: "inputs", Job: batch.Job, Sessions: batch.Sessions[:3]}); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(t.Context(), &counts); err != nil || counts.Completed != 3 {
		t.Errorf("%+v, %v", counts, err)
	}
}

func TestSchedulesAreTemporalsOwn(t *testing.T) {
	s := newStage(t, echo())
	book := schedule.Book{Shelf: schedule.Folder(t.TempDir())}
	if _, err := book.Add(t.Context(), schedule.Schedule{Name: "often", Cron: "@every 1s", Step: "echo", Text: secret}); err != nil {
		t.Fatal(err)
	}
	s.worker.Begin = func(ctx context.Context, name string, due time.Time) (work.Job, error) {
		found, err := book.Find(ctx, name)
		if err != nil {
			return work.Job{}, err
		}
		job := work.Job{Session: found.Session(due), Step: found.Step, Queue: s.Queue, Digest: echo().Definition().Digest()}
		_, err = s.Recorder.Record(ctx, echo(), troupe.Input{Session: job.Session, Text: found.Text, IdempotencyKey: "schedule"}, func(context.Context, string) error { return nil })
		return job, err
	}
	s.start(t)
	synchronize := func() {
		t.Helper()
		all, err := book.All(t.Context())
		if err == nil {
			err = temporal.SyncSchedules(t.Context(), s.Client, all, func(schedule.Schedule) string { return s.Queue })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	synchronize()
	synchronize() // what is there is left alone
	completed := func() (n int) {
		for info, err := range s.store.Sessions(t.Context(), troupe.SessionFilter{Status: "completed"}) {
			if err != nil || info.Title != secret {
				t.Fatalf("%+v, %v", info, err)
			}
			n++
		}
		return n
	}
	until(t, "the schedule is carried out", func() bool { return completed() >= 2 })
	until(t, "its workflows are found", func() bool {
		list, err := s.Client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'troupe.scheduled' AND TroupeStatus = 'completed'"})
		if err != nil || len(list.GetExecutions()) == 0 {
			return false
		}
		keep(t, s.Client, list.GetExecutions()[0].GetExecution().GetWorkflowId(), "scheduled")
		return true
	})
	found, err := book.Find(t.Context(), "often")
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Remove(t.Context(), "often"); err != nil {
		t.Fatal(err)
	}
	if err := temporal.BackfillSchedule(t.Context(), s.Client, found, time.Now().Add(-time.Second), time.Now()); err != nil {
		t.Error(err)
	}
	synchronize()
	if err := temporal.BackfillSchedule(t.Context(), s.Client, found, time.Now().Add(-time.Second), time.Now()); err == nil {
		t.Error("the schedule is still there")
	}
}

// Times that had passed when the schedule was added are carried out where that is asked for.
func TestTimesBeforeAScheduleWasAddedAreMadeUpFor(t *testing.T) {
	s := newStage(t, echo())
	book := schedule.Book{Shelf: schedule.Folder(t.TempDir())}
	for name, when := range map[string]string{"daily": "0 7 * * *", "hours": "@every 24h"} {
		if _, err := book.Add(t.Context(), schedule.Schedule{Name: name, Cron: when, Step: "echo", Text: name}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	begun := map[string][]time.Time{}
	s.worker.Begin = func(_ context.Context, name string, due time.Time) (work.Job, error) {
		mu.Lock()
		defer mu.Unlock()
		begun[name] = append(begun[name], due)
		return work.Job{}, nil
	}
	s.start(t)
	all, err := book.All(t.Context())
	if err == nil {
		err = temporal.SyncSchedules(t.Context(), s.Client, all, func(schedule.Schedule) string { return s.Queue })
	}
	if err != nil {
		t.Fatal(err)
	}
	last := time.Now().Add(-24 * time.Hour)
	first := last.Add(-3 * 24 * time.Hour)
	for _, entry := range all {
		want, err := entry.Past(first, last)
		if err != nil || len(want) != 3 {
			t.Fatalf("%s: %v, %v", entry.Name, want, err)
		}
		if err := temporal.BackfillSchedule(t.Context(), s.Client, entry, first, last); err != nil {
			t.Fatal(err)
		}
		until(t, "three days of "+entry.Name+" are made up for", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.EqualFunc(begun[entry.Name], want, time.Time.Equal)
		})
	}
}

// A session's next run may be put on record when the workflow of the one before has not ended:
// then that is followed by another. To be told of the same run twice changes nothing.
func TestAWorkflowThatIsUnderWayIsToldOfTheNextRun(t *testing.T) {
	begun, finish := make(chan struct{}, 1), make(chan struct{})
	slow := troupe.NewStep("slow", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		begun <- struct{}{}
		<-finish
		return troupe.Handoff{Summary: "done"}, nil
	})
	s := newStage(t, slow)
	s.start(t)
	job := work.Job{Step: "slow", Queue: s.Queue, Digest: slow.Definition().Digest(), Since: time.Now()}
	run, err := s.Recorder.Record(t.Context(), slow, troupe.Input{Text: "go"}, func(ctx context.Context, session string) error {
		job.Session = session
		return s.StartJob(ctx, job)
	})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	current := func() string {
		t.Helper()
		found, err := s.Client.DescribeWorkflowExecution(t.Context(), "troupe-"+run.Session, "")
		if err != nil {
			t.Fatal(err)
		}
		return found.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	first := current()
	next := job
	next.Since = job.Since.Add(time.Second)
	for _, told := range []work.Job{job, next} {
		if err := s.StartJob(t.Context(), told); err != nil {
			t.Fatal(err)
		}
	}
	close(finish)
	if result, err := s.Wait(t.Context(), run.Session); err != nil || result.Status != "completed" || current() == first {
		t.Errorf("%+v, %v, followed by another: %v", result, err, current() != first)
	}
	keepRun(t, s.Client, "troupe-"+run.Session, first, "again")
}
