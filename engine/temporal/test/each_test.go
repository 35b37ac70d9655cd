package test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/internal/worktest"
	"github.com/troupe-dev/troupe/work"
)

// record puts runs of a step on record and returns their sessions.
func (s *stage) record(t *testing.T, step troupe.Step, runs int) (sessions []string) {
	t.Helper()
	for range runs {
		run, err := s.Recorder.Record(t.Context(), step, troupe.Input{Text: "go"}, func(context.Context, string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, run.Session)
	}
	return sessions
}

// historyOf returns how many events one execution of a workflow has, and the one that goes on
// with it, empty if none does.
func (s *stage) historyOf(t *testing.T, workflow, run string) (events int, next string) {
	t.Helper()
	for all := s.Client.GetWorkflowHistory(t.Context(), workflow, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
		e, err := all.Next()
		if err != nil {
			t.Fatal(err)
		}
		events++
		if attributes := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); attributes != nil {
			next = attributes.GetNewExecutionRunId()
		}
	}
	return events, next
}

// Temporal warns at so many events of a history, and ends a workflow at five times as many.
const longHistory = 10_240

// Many inputs are children of one workflow, so many at the same time, and its histories stay
// short. TROUPE_INPUTS=10000 does it with as many as that.
func TestManyInputsAreCarriedOutWithACap(t *testing.T) {
	var now, most, carried atomic.Int64
	quick := troupe.NewStep("quick", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		carried.Add(1)
		return troupe.Handoff{Summary: "done"}, nil
	})
	s := newStage(t, quick)
	s.worker.MaxParallel = 50
	inputs, perHistory := worktest.Scaled(t, "TROUPE_INPUTS", 150), 0
	if inputs < 1000 {
		perHistory = 40
	}
	batch := temporal.Batch{Name: "many", Job: temporal.Run{Job: work.Job{Step: "quick", Queue: s.Queue}}, MaxParallel: 20, PerHistory: perHistory, Sessions: s.record(t, quick, inputs)}
	s.start(t)
	began := time.Now()
	run, err := s.StartBatch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	first := run.GetRunID()
	var counts temporal.Counts
	if err := run.Get(t.Context(), &counts); err != nil || counts != (temporal.Counts{Completed: inputs}) || carried.Load() != int64(inputs) {
		t.Errorf("%+v, %v, %d carried out", counts, err, carried.Load())
	}
	took := time.Since(began)
	histories, longest := 0, 0
	for id := first; id != ""; histories++ {
		var events int
		events, id = s.historyOf(t, run.GetID(), id)
		longest = max(longest, events)
	}
	if want := (inputs + max(perHistory, 500*min(1, inputs/1000)) - 1) / max(perHistory, 500*min(1, inputs/1000)); histories != want || longest > longHistory {
		t.Errorf("%d histories, want %d; the longest has %d events", histories, want, longest)
	}
	if most.Load() > 20 {
		t.Errorf("%d at the same time", most.Load())
	}
	t.Logf("%d inputs in %s, %d a second, at most %d at the same time; %d histories of at most %d events",
		inputs, took.Round(time.Millisecond), int(float64(inputs)/took.Seconds()), most.Load(), histories, longest)
}

func TestABatchThatIsTooLargeIsRefusedInOneLine(t *testing.T) {
	s := newStage(t)
	_, err := s.StartBatch(t.Context(), temporal.Batch{Name: "huge", Sessions: make([]string, 50_001)})
	if err == nil || !strings.Contains(err.Error(), "divide it") {
		t.Error(err)
	}
}

// An outbox has jobs that were handed over long ago.
type outbox struct {
	mu     sync.Mutex
	jobs   []work.Job
	handed map[string]int
}

func (o *outbox) UnhandedJobs(context.Context, string, int, time.Duration) (left []work.Job, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, job := range o.jobs {
		if o.handed[job.Session] == 0 {
			left = append(left, job)
		}
	}
	return left, nil
}

func (o *outbox) HandJob(_ context.Context, session string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handed[session]++
	return nil
}

// relay hands everything over once.
func (o *outbox) relay(t *testing.T, s *stage) {
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Relay(ctx, o, slogTo(t)) }()
	until(t, "all is handed over", func() bool {
		left, err := o.UnhandedJobs(ctx, "", 0, 0)
		return err == nil && len(left) == 0
	})
	cancel()
	<-over
}

// A batch takes as long as it takes: meanwhile nobody else starts what waits for its turn in it.
func TestABatchUnderWayKeepsItsCap(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{}, 10)
	hang := troupe.NewStep("hang", func(ctx context.Context, _ *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return troupe.Handoff{Summary: "done"}, context.Cause(ctx)
	})
	s := newStage(t, hang)
	s.start(t)
	sessions := s.record(t, hang, 3)
	run, err := s.StartBatch(t.Context(), temporal.Batch{Name: "slow", Job: temporal.Run{Job: work.Job{Step: "hang", Queue: s.Queue}}, MaxParallel: 1, Sessions: sessions})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	box := &outbox{handed: map[string]int{}}
	for _, session := range sessions {
		box.jobs = append(box.jobs, work.Job{Session: session, Step: "hang", Queue: s.Queue, Batch: "slow"})
	}
	box.relay(t, s)
	for _, session := range sessions[1:] {
		if _, err := s.Client.DescribeWorkflowExecution(t.Context(), "troupe-"+session, ""); err == nil {
			t.Errorf("session %s was started beside the batch", session)
		}
	}
	close(release)
	var counts temporal.Counts
	if err := run.Get(t.Context(), &counts); err != nil || counts.Completed != 3 {
		t.Errorf("%+v, %v", counts, err)
	}
	// Of a batch that is lost its runs are carried out all the same.
	lost := s.record(t, hang, 1)
	box = &outbox{handed: map[string]int{}, jobs: []work.Job{{Session: lost[0], Step: "hang", Queue: s.Queue, Batch: "gone"}}}
	box.relay(t, s)
	if result, err := s.Wait(t.Context(), lost[0]); err != nil || result.Status != "completed" {
		t.Errorf("%+v, %v", result, err)
	}
}
