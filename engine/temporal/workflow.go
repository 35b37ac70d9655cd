package temporal

import (
	"cmp"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/troupe-dev/troupe/work"
)

// The names under which workflows and activities are registered. They are on record in
// histories, and so never change.
const (
	runWorkflow       = "troupe.run"
	eachWorkflow      = "troupe.each"
	scheduledWorkflow = "troupe.scheduled"
	againSignal       = "troupe.again"
	performActivity   = "troupe.perform"
	beginActivity     = "troupe.begin"
)

// Search attributes, by which runs are found in Temporal's UI. See [Prepare].
var (
	agentKey   = temporal.NewSearchAttributeKeyKeyword("TroupeAgent")
	sessionKey = temporal.NewSearchAttributeKeyKeyword("TroupeSession")
	userKey    = temporal.NewSearchAttributeKeyKeyword("TroupeUser")
	statusKey  = temporal.NewSearchAttributeKeyKeyword("TroupeStatus")
	// scheduledKey is Temporal's own: when a schedule meant a workflow to start.
	scheduledKey = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")
)

// The types of errors that activities return.
const (
	// failedRun is a run that failed: its outcome, which is not tried again.
	failedRun = "run_failed"
	// otherDefinition is a run of a definition that the worker does not have.
	otherDefinition = "no_such_definition"
	// notYet is a run that somebody else has, or whose store is out of reach.
	notYet = "try_again"
)

const (
	// longestRun bounds a run, time between workers included.
	longestRun = 30 * 24 * time.Hour
	// defaultHeartbeat is after how long a worker that is not heard of is given up.
	defaultHeartbeat = 15 * time.Second
	// firstRetry is after how long the next worker gets a run whose worker was given up.
	firstRetry = 200 * time.Millisecond
	// childrenPerPass is how many runs a batch starts before it begins a new history.
	childrenPerPass = 500
)

// A Result is how a run stands when its workflow ends: completed, waiting, failed or
// cancelled.
type Result struct {
	Session string `json:"session"`
	Status  string `json:"status"`
}

// A Run is what the workflow of a run is given.
type Run struct {
	work.Job
	// Heartbeat is after how long a worker that is not heard of is given up: 15 seconds by
	// default.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
}

func runOptions(run Run) workflow.ActivityOptions {
	heartbeat := run.Heartbeat
	if heartbeat == 0 {
		heartbeat = defaultHeartbeat
	}
	return workflow.ActivityOptions{
		TaskQueue:           QueueName(run.Queue),
		StartToCloseTimeout: longestRun,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true, // what was cancelled has ended when the workflow has
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: firstRetry, BackoffCoefficient: 1.5, MaximumInterval: 30 * time.Second},
	}
}

// runJob is the workflow of a run.
func runJob(ctx workflow.Context, run Run) (result Result, err error) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, statusKey.ValueSet("running")); err != nil {
		return Result{}, err
	}
	result = Result{Session: run.Session, Status: "cancelled"}
	failure := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, runOptions(run)), performActivity, run.Job).Get(ctx, &result)
	if failure != nil && !temporal.IsCanceledError(failure) {
		result.Status = "failed"
	}
	if next, ok := lastSignal(ctx); ok && !next.Since.Equal(run.Since) {
		// With a history of its own, in which nothing is cancelled.
		return Result{}, workflow.NewContinueAsNewError(ctx, runWorkflow, next)
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, statusKey.ValueSet(result.Status)); err != nil {
		return Result{}, err
	}
	return result, failure
}

// lastSignal returns the run that was put on record after the workflow had begun, if there
// is one: see [Dispatcher.StartJob].
func lastSignal(ctx workflow.Context) (next Run, ok bool) {
	for signals := workflow.GetSignalChannel(ctx, againSignal); signals.ReceiveAsync(&next); {
		ok = true
	}
	return next, ok
}

// A Batch is runs that are on record, of which so many are carried out at the same time.
type Batch struct {
	// Name identifies the batch.
	Name string `json:"name"`
	// Job is what the runs have in common, and Sessions whose they are.
	Job      Run      `json:"job"`
	Sessions []string `json:"sessions"`
	// MaxParallel is how many are carried out at the same time: 16 by default.
	MaxParallel int `json:"max_parallel,omitempty"`
	// PerHistory is how many runs it starts before it begins a new history: 500 by default. Temporal
	// bounds what a history may hold.
	PerHistory int `json:"per_history,omitempty"`
	// Done is what has come of those before.
	Done Counts `json:"done"`
}

// Counts are how many runs of a batch came to what.
type Counts struct {
	Completed int `json:"completed"`
	Waiting   int `json:"waiting"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

func (c *Counts) add(result Result, err error) {
	switch {
	case temporal.IsCanceledError(err) || err == nil && result.Status == "cancelled":
		c.Cancelled++
	case err != nil || result.Status == "failed":
		c.Failed++
	case result.Status == "waiting":
		c.Waiting++
	default:
		c.Completed++
	}
}

// runEach is the workflow of a batch: each run is a child, and so many are under way at
// the same time. Its history begins anew from time to time, so that it never grows long.
func runEach(ctx workflow.Context, batch Batch) (Counts, error) {
	now := batch.Sessions[:min(len(batch.Sessions), cmp.Or(batch.PerHistory, childrenPerPass))]
	free := workflow.NewSemaphore(ctx, int64(max(batch.MaxParallel, 1)))
	all := workflow.NewWaitGroup(ctx)
	for _, session := range now {
		if err := free.Acquire(ctx, 1); err != nil {
			break // it was cancelled, and so are the children
		}
		job := batch.Job
		job.Session = session
		child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
			WorkflowID: workflowID(session), ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL, WaitForCancellation: true,
			WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, TypedSearchAttributes: attributesOf(job.Job),
		}), runWorkflow, job)
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			defer free.Release(1)
			var result Result
			err := child.Get(ctx, &result)
			batch.Done.add(result, err)
		})
	}
	all.Wait(ctx)
	if err := ctx.Err(); err != nil {
		return batch.Done, err
	}
	if batch.Sessions = batch.Sessions[len(now):]; len(batch.Sessions) > 0 {
		return batch.Done, workflow.NewContinueAsNewError(ctx, eachWorkflow, batch)
	}
	return batch.Done, nil
}

// runScheduled is the workflow that a schedule starts: it puts a run on record and then
// is as that of any run. What is to be run is on record under the schedule's name.
func runScheduled(ctx workflow.Context, schedule string) (Result, error) {
	due, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledKey)
	if !ok {
		due = workflow.GetInfo(ctx).WorkflowStartTime
	}
	begin := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
	})
	var job work.Job
	if err := workflow.ExecuteActivity(begin, beginActivity, schedule, due.UTC()).Get(ctx, &job); err != nil {
		return Result{}, err
	}
	if job.Session == "" {
		return Result{Status: "removed"}, nil // there is no such schedule any more
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, agentKey.ValueSet(job.Step), sessionKey.ValueSet(job.Session), userKey.ValueSet(job.User)); err != nil {
		return Result{}, err
	}
	return runJob(ctx, Run{Job: job})
}

// attributesOf are the search attributes with which a run begins.
func attributesOf(job work.Job) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(agentKey.ValueSet(job.Step), sessionKey.ValueSet(job.Session), userKey.ValueSet(job.User), statusKey.ValueSet("waiting for a worker"))
}

// batchID is the id of the workflow of a batch.
func batchID(name string) string { return "troupe-each-" + name }

// workflowID is the id of the workflow of a session's run: there is one at a time.
func workflowID(session string) string { return "troupe-" + session }

// QueueName is the name of the task queue for a queue of jobs: by tenant, model or tool
// need. The empty queue is the usual one.
func QueueName(queue string) string {
	if queue == "" {
		return "troupe"
	}
	return "troupe-" + queue
}
