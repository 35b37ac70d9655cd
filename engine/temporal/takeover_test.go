package temporal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// cluster is a Temporal that knows one workflow for each session, with one activity.
type cluster struct {
	client.Client
	mu sync.Mutex
	// isBetween says that the activity is between two attempts, isCancelled that its workflow was
	// cancelled, and isScheduled that a schedule began it.
	isBetween, isCancelled, isScheduled bool
	takes                               time.Duration // to describe a workflow
	beats                               int
	completed                           chan completion
}

type completion struct {
	workflow, activity string
	result             any
	err                error
}

func (c *cluster) DescribeWorkflowExecution(ctx context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if !pause(ctx, c.takes) {
		return nil, context.Cause(ctx)
	}
	if c.isScheduled && id != "news-2026" {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "r"}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING},
		PendingActivities: []*workflowpb.PendingActivityInfo{
			{ActivityId: "4", ActivityType: &commonpb.ActivityType{Name: beginActivity}},
			{ActivityId: "5", ActivityType: &commonpb.ActivityType{Name: performActivity}, ActivityOptions: &activitypb.ActivityOptions{HeartbeatTimeout: durationpb.New(3 * time.Second)}},
		},
	}, nil
}

func (c *cluster) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		{Execution: &commonpb.WorkflowExecution{WorkflowId: "news-2026", RunId: "r"}},
	}}, nil
}

func (c *cluster) RecordActivityHeartbeatByID(_ context.Context, _, _, _, activity string, details ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.beats++; activity != "5" || len(details) != 1 || details[0] != thisProcess() {
		return errors.New("not what it is to be")
	}
	if c.isBetween && c.beats < 3 {
		return serviceerror.NewNotFound("not started")
	}
	if c.isCancelled {
		return temporal.NewCanceledError()
	}
	return nil
}

func (c *cluster) CompleteActivityByID(_ context.Context, _, workflow, _, activity string, result any, err error) error {
	c.completed <- completion{workflow, activity, result, err}
	return nil
}

// lostJobs are those that are lost until somebody has gone on with them.
type lostJobs struct {
	store troupe.Store
	jobs  []work.Job
}

func (l *lostJobs) LostJobs(ctx context.Context, _ string, _ int) (lost []work.Job, err error) {
	for _, job := range l.jobs {
		info, _, err := l.store.Ask(ctx, job.Session, troupe.SessionRequest{})
		if err == nil && info.Owner == (troupe.Owner{}) && info.Status != "completed" && info.Status != "cancelled" {
			lost = append(lost, job)
		}
	}
	return lost, nil
}

// A takeover is a worker beside runs that were lost.
type takeover struct {
	*Worker
	cluster *cluster
	lost    *lostJobs
	stop    func() // has the worker end, and waits for it
}

// takeOver has a worker take over so many runs of a step.
func takeOver(t *testing.T, step troupe.Step, n int, c *cluster, w *Worker) *takeover {
	t.Helper()
	store := troupe.NewMemoryStore()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	c.completed = make(chan completion, n)
	w.Engine, w.Store = engine, store
	w.Step = func(context.Context, work.Job) (troupe.Step, error) { return step, nil }
	take := &takeover{Worker: w, cluster: c, lost: &lostJobs{store: store}}
	for range n {
		run, err := work.Recorder{Store: store}.Record(t.Context(), step, troupe.Input{Text: "go"}, func(context.Context, string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		take.lost.jobs = append(take.lost.jobs, work.Job{Session: run.Session, Step: step.Name(), Digest: step.Definition().Digest()})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.TakeOver(ctx, c, "default", take.lost, slog.New(slog.NewTextHandler(t.Output(), nil))) })
	take.stop = func() { cancel(); running.Wait(); engine.Close() }
	return take
}

// slow is a step that takes a minute.
func slow() troupe.Step {
	return troupe.NewStep("slow", func(ctx context.Context, _ *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
		select {
		case <-time.After(time.Minute):
			return troupe.Handoff{Summary: "done"}, nil
		case <-ctx.Done():
			return troupe.Handoff{}, context.Cause(ctx)
		}
	})
}

// A lost run goes on in the place of its worker: Temporal is told so, and what came of it, whatever it
// has done about the run meanwhile.
func TestALostRunGoesOnInThePlaceOfItsWorker(t *testing.T) {
	for name, c := range map[string]*cluster{"attempt": {}, "between two attempts": {isBetween: true}, "scheduled": {isScheduled: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				take := takeOver(t, slow(), 1, c, &Worker{})
				defer take.stop()
				session := take.lost.jobs[0].Session
				want := completion{workflowID(session), "5", Result{session, "completed"}, nil}
				if c.isScheduled {
					want.workflow = "news-2026"
				}
				if got := <-c.completed; got != want {
					t.Errorf("%+v", got)
				}
				if c.beats < 30 {
					t.Errorf("in a minute Temporal heard %d times that it lives", c.beats)
				}
			})
		})
	}
}

// A queue has the jobs of runs, or those of later ones.
type queue struct {
	work.Queue
	isThere bool
}

func (q queue) RemoveJob(context.Context, work.Job) (bool, error) { return q.isThere, nil }

// The activity that is found when a run has ended is its own only if its job is still there: the
// session may have another run by then, whose activity goes on.
func TestTheActivityOfALaterRunIsLeftAlone(t *testing.T) {
	for _, isThere := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			quick := troupe.NewStep("quick", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
				return troupe.Handoff{}, nil
			})
			take := takeOver(t, quick, 1, &cluster{takes: time.Second}, &Worker{Jobs: queue{isThere: isThere}})
			time.Sleep(time.Minute)
			take.stop()
			if completed := len(take.cluster.completed) > 0; completed != isThere {
				t.Errorf("the job is there: %v, and the activity was completed: %v", isThere, completed)
			}
		})
	}
}

func TestALostRunWhoseWorkflowIsCancelledIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := takeOver(t, slow(), 1, &cluster{isCancelled: true}, &Worker{})
		defer take.stop()
		if got := <-take.cluster.completed; !temporal.IsCanceledError(got.err) {
			t.Errorf("%+v", got)
		}
		info, _, err := take.Store.Ask(t.Context(), take.lost.jobs[0].Session, troupe.SessionRequest{})
		if err != nil || info.Status != "cancelled" {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

// A worker that is told to end gives up what it has taken over, and others get it at once.
func TestAWorkerThatEndsGivesUpWhatItHasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := takeOver(t, slow(), 1, &cluster{}, &Worker{})
		time.Sleep(10 * time.Second)
		take.stop()
		got := <-take.cluster.completed
		failure, ok := errors.AsType[*temporal.ApplicationError](got.err)
		if !ok || failure.Type() != notYet || failure.NonRetryable() || errors.Is(got.err, context.Canceled) {
			t.Errorf("%+v", got)
		}
	})
}

// What a worker takes over counts as what it carries out.
func TestAWorkerTakesOverNoMoreThanItMayCarryOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		take := takeOver(t, slow(), 5, &cluster{}, &Worker{MaxParallel: 2})
		defer take.stop()
		for began := time.Now(); time.Since(began) < 4*time.Minute; time.Sleep(time.Second) {
			running := 0
			for info, err := range take.Store.Sessions(t.Context(), troupe.SessionFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				if info.Owner != (troupe.Owner{}) {
					running++
				}
			}
			if running > 2 {
				t.Fatalf("%d at the same time", running)
			}
		}
		if len(take.cluster.completed) != 5 {
			t.Errorf("%d of 5 have ended", len(take.cluster.completed))
		}
	})
}

func TestLostRunsThatAreNotForTheWorkerAreLeft(t *testing.T) {
	for name, w := range map[string]*Worker{
		"a rate":             {RunsPerSecond: 5},
		"another definition": {Check: func(work.Job, troupe.Step) error { return work.ErrDefinition }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				take := takeOver(t, slow(), 1, &cluster{}, w)
				time.Sleep(10 * time.Minute)
				take.stop()
				if len(take.cluster.completed)+take.cluster.beats > 0 {
					t.Error("it was taken over")
				}
			})
		})
	}
}
