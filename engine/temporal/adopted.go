package temporal

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// adopted is the activity of a run that is carried out by another process than the one that Temporal has
// given it to. It is known by its id, which is the same for all attempts. One that cannot be found
// is looked for again: Temporal may be away.
type adopted struct {
	client    client.Client
	namespace string
	session   string

	workflow, run, activity string        // empty until it is found
	every                   time.Duration // how often it has to be said that it lives
}

// completeTime is for how long it is tried to say what came of an activity. Where that does not succeed,
// Temporal misses its heartbeat, and whoever gets it next finds the run ended.
const completeTime = 10 * time.Second

// keep says to Temporal that the run goes on, until ctx is done. It reports whether the workflow was
// cancelled; then it calls cancel, again and again, because the run may not have begun.
func (a *adopted) keep(ctx context.Context, cancel func()) (cancelled bool) {
	var cancelling sync.WaitGroup
	defer cancelling.Wait()
	for {
		if a.beat(ctx) && !cancelled {
			cancelled = true
			cancelling.Go(func() {
				for cancel(); pause(ctx, busyPause); {
					cancel()
				}
			})
		}
		if !pause(ctx, a.every) {
			return cancelled
		}
	}
}

// pause waits for a while, and reports whether ctx is not done by then.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// beat says once that the run goes on, and reports whether its workflow was cancelled.
func (a *adopted) beat(ctx context.Context) (cancelled bool) {
	ctx, stop := context.WithTimeout(ctx, a.every)
	defer stop()
	if a.activity == "" {
		if cancelled := a.find(ctx); cancelled || a.activity == "" {
			return cancelled
		}
	}
	err := a.client.RecordActivityHeartbeatByID(ctx, a.namespace, a.workflow, a.run, a.activity, thisProcess())
	if isNotFound(err) { // between two attempts, or ended
		return a.find(ctx)
	}
	return temporal.IsCanceledError(err)
}

// complete says what came of the run, if the activity is known.
func (a *adopted) complete(ctx context.Context, result Result, failure error) {
	if a.activity == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, completeTime)
	defer stop()
	// Nothing depends on it: see completeTime.
	_ = a.client.CompleteActivityByID(ctx, a.namespace, a.workflow, a.run, a.activity, result, failure)
}

// find looks for the activity, and reports whether it has ended because its workflow was cancelled.
func (a *adopted) find(ctx context.Context) (cancelled bool) {
	ctx, stop := context.WithTimeout(ctx, completeTime)
	defer stop()
	described, err := a.client.DescribeWorkflowExecution(ctx, cmp.Or(a.workflow, workflowID(a.session)), a.run)
	if isNotFound(err) && a.workflow == "" {
		described, err = a.findScheduled(ctx)
	}
	if err != nil || described == nil {
		return false
	}
	info := described.GetWorkflowExecutionInfo()
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityType().GetName() != performActivity {
			continue
		}
		a.workflow, a.run, a.activity = info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId(), pending.GetActivityId()
		if heartbeat := pending.GetActivityOptions().GetHeartbeatTimeout().AsDuration(); heartbeat > 0 {
			a.every = beatEvery(heartbeat)
		}
		return false
	}
	return info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED || described.GetWorkflowExtendedInfo().GetCancelRequested()
}

// findScheduled looks for the workflow of a run that a schedule has begun: its id is the
// schedule's. There is none where the result is nil.
func (a *adopted) findScheduled(ctx context.Context) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	list, err := a.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: a.namespace, PageSize: 1,
		Query: "ExecutionStatus = 'Running' AND WorkflowType = '" + scheduledWorkflow + "' AND " + sessionKey.GetName() + " = '" + a.session + "'",
	})
	if err != nil || len(list.GetExecutions()) == 0 {
		return nil, err
	}
	found := list.GetExecutions()[0].GetExecution()
	return a.client.DescribeWorkflowExecution(ctx, found.GetWorkflowId(), found.GetRunId())
}

func isNotFound(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}
