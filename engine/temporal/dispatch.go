package temporal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// A Dispatcher has the workers of a cluster carry out runs.
type Dispatcher struct {
	// Client is connected to the cluster. The dispatcher does not close it.
	Client client.Client
	// Recorder puts runs on record, in the store that the workers have, too.
	Recorder work.Recorder
	// Queue is that of the runs it starts: the usual one by default.
	Queue string
	// Heartbeat is that of the runs it starts: see [Run].
	Heartbeat time.Duration
}

// Start puts a run on record and starts its workflow. Nothing is on record that no workflow was
// started for.
func (d *Dispatcher) Start(ctx context.Context, step troupe.Step, input troupe.Input) (work.Recorded, error) {
	return d.Recorder.Record(ctx, step, input, func(ctx context.Context, session string) error {
		return d.StartJob(ctx, d.jobOf(step, session, input.User))
	})
}

func (d *Dispatcher) jobOf(step troupe.Step, session, user string) work.Job {
	job := work.Job{Session: session, Step: step.Name(), User: user, Queue: d.Queue, Since: time.Now().UTC()}
	if definition := step.Definition(); definition != nil {
		job.Digest = definition.Digest()
	}
	return job
}

// StartJob starts the workflow of a run that is on record, or about to be. A workflow that the
// session has under way is told of it: it may be about to end, with the run before.
func (d *Dispatcher) StartJob(ctx context.Context, job work.Job) error {
	var err error
	for range startTries {
		_, err = d.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: workflowID(job.Session), TaskQueue: QueueName(job.Queue), TypedSearchAttributes: attributesOf(job),
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, runWorkflow, Run{job, d.Heartbeat})
		if _, isUnderWay := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); !isUnderWay {
			break
		}
		err = d.Client.SignalWorkflow(ctx, workflowID(job.Session), "", againSignal, Run{job, d.Heartbeat})
		if _, hasEnded := errors.AsType[*serviceerror.NotFound](err); !hasEnded {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("start the workflow of session %s: %w", job.Session, Explain(err))
	}
	return nil
}

// startTries is how often a workflow may end just when it is told of another run.
const startTries = 5

// Wait returns how a session's run stands when its workflow has ended. A run that failed
// is an outcome, too.
func (d *Dispatcher) Wait(ctx context.Context, session string) (result Result, err error) {
	err = d.Client.GetWorkflow(ctx, workflowID(session), "").Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == failedRun {
		return Result{Session: session, Status: "failed"}, nil
	}
	if temporal.IsCanceledError(err) {
		return Result{Session: session, Status: "cancelled"}, nil
	}
	return result, err
}

// Cancel cancels the workflow of a session's run. It does nothing if there is none.
func (d *Dispatcher) Cancel(ctx context.Context, session string) error {
	err := d.Client.CancelWorkflow(ctx, workflowID(session), "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return nil
	}
	return err
}

// maxBatch is how many runs a batch may have: their ids are what its workflow is given, and
// Temporal refuses more than 2 MB of that.
const maxBatch = 50_000

// isUnderWay reports whether the workflow of a batch has not ended.
func (d *Dispatcher) isUnderWay(ctx context.Context, batch string) (bool, error) {
	described, err := d.Client.DescribeWorkflowExecution(ctx, batchID(batch), "")
	if _, isGone := errors.AsType[*serviceerror.NotFound](err); isGone {
		return false, nil
	}
	return described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

// StartBatch starts the workflow of a batch, whose runs are on record. Where one of its
// name is under way, that is the one.
func (d *Dispatcher) StartBatch(ctx context.Context, batch Batch) (client.WorkflowRun, error) {
	if len(batch.Sessions) > maxBatch {
		return nil, fmt.Errorf("start batch %s: it has %d runs, and Temporal takes up to %d in one: divide it", batch.Name, len(batch.Sessions), maxBatch)
	}
	if batch.MaxParallel < 1 {
		batch.MaxParallel = defaultParallel
	}
	run, err := d.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: batchID(batch.Name), TaskQueue: QueueName(batch.Job.Queue),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, eachWorkflow, batch)
	if err != nil {
		return nil, fmt.Errorf("start batch %s: %w", batch.Name, Explain(err))
	}
	return run, nil
}

// Prepare makes the search attributes of runs known to a namespace: once, by somebody who may.
func Prepare(ctx context.Context, c client.Client, namespace string) error {
	missing := map[string]enumspb.IndexedValueType{}
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list the search attributes of namespace %s: %w", namespace, Explain(err))
	}
	for _, key := range []temporal.SearchAttributeKeyKeyword{agentKey, sessionKey, userKey, statusKey} {
		if _, ok := known.GetCustomAttributes()[key.GetName()]; !ok {
			missing[key.GetName()] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("add search attributes to namespace %s: %w", namespace, Explain(err))
	}
	return nil
}

// Explain says in one line what is wrong and what to do about it, where that is known.
func Explain(err error) error {
	if _, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return fmt.Errorf("there is no such Temporal namespace: set TEMPORAL_NAMESPACE, or make it with 'temporal operator namespace create': %w", err)
	}
	if invalid, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok && strings.Contains(invalid.Error(), "Troupe") {
		return fmt.Errorf("the namespace does not know Troupe's search attributes: run 'troupe-temporal setup' once: %w", err)
	}
	if IsAway(err) {
		return fmt.Errorf("Temporal is out of reach: is it running, and is TEMPORAL_ADDRESS right? %w", err)
	}
	return err
}

// IsAway reports whether an error is that of a server which does not answer.
func IsAway(err error) bool {
	_, isUnavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, isLate := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return isUnavailable || isLate || err != nil && strings.HasPrefix(err.Error(), "failed reaching server") // which has no type
}

// A Stuck run is one that no worker can carry out.
type Stuck struct {
	Session, Workflow string
	// Why is what the worker said that last tried.
	Why string
}

// FindStuck returns runs that wait for a worker which has their definition, at most limit of
// those that are looked at.
func FindStuck(ctx context.Context, c client.Client, limit int) (stuck []Stuck, err error) {
	list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: "ExecutionStatus = 'Running' AND WorkflowType IN ('" + runWorkflow + "', '" + scheduledWorkflow + "')", PageSize: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list workflows: %w", Explain(err))
	}
	for _, e := range list.GetExecutions() {
		described, err := c.DescribeWorkflowExecution(ctx, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
		if err != nil {
			return nil, err
		}
		for _, pending := range described.GetPendingActivities() {
			if failure := pending.GetLastFailure(); failure.GetApplicationFailureInfo().GetType() == otherDefinition {
				stuck = append(stuck, Stuck{Session: sessionOf(e.GetExecution()), Workflow: e.GetExecution().GetWorkflowId(), Why: failure.GetMessage()})
			}
		}
	}
	return stuck, nil
}

func sessionOf(e *commonpb.WorkflowExecution) string {
	return strings.TrimPrefix(e.GetWorkflowId(), "troupe-")
}
