package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// A Worker carries out the runs of one task queue.
type Worker struct {
	// Engine carries out runs, on the store that they were put on record in. The worker
	// does not close it.
	Engine *troupe.Engine
	// Store is the engine's own.
	Store troupe.Store
	// Step makes the step of a job. An error leaves the job to other workers.
	Step func(ctx context.Context, job work.Job) (troupe.Step, error)
	// Check fails if a step is not what a job is of: [work.Check] by default.
	Check func(job work.Job, step troupe.Step) error
	// Seize makes a session nobody's that a process has: see postgres.Store.Seize. It is called where
	// Temporal has given up the worker that has it. Where it is nil, the next worker
	// waits until the lease of that one is over.
	Seize func(ctx context.Context, session string, from troupe.Owner) error
	// Jobs, where set, is a queue in which a run is as long as it is to be carried out: one
	// that is no longer there when its turn comes was cancelled.
	Jobs work.Queue
	// Begin puts the run of a schedule on record, for the time that it was due. An empty job is
	// that of a schedule that is no more. Nil means that there are no schedules.
	Begin func(ctx context.Context, schedule string, due time.Time) (work.Job, error)
	// Queue is the queue that it takes runs from: the usual one by default.
	Queue string
	// MaxParallel is how many runs are carried out at the same time: 16 by default.
	MaxParallel int
	// RunsPerSecond is how many runs all workers of the queue together begin in a second,
	// for a provider with a quota. 0 means no limit.
	RunsPerSecond float64
	// StopTimeout is how long a worker that is told to end waits for its runs to be put on
	// record as interrupted: 10 seconds by default.
	StopTimeout time.Duration

	slots slots
}

const defaultParallel = 16

// New returns a worker of the cluster that c is connected to. Its Start, Run and Stop are
// Temporal's own. Beside it, [Worker.TakeOver] goes on with what other workers leave behind.
func (w *Worker) New(c client.Client) worker.Worker {
	made := worker.New(c, QueueName(w.Queue), w.options())
	RegisterWorkflows(made)
	made.RegisterActivityWithOptions(w.perform, activity.RegisterOptions{Name: performActivity})
	made.RegisterActivityWithOptions(w.begin, activity.RegisterOptions{Name: beginActivity})
	return made
}

// options are those of Temporal's worker.
func (w *Worker) options() worker.Options {
	return worker.Options{
		MaxConcurrentActivityExecutionSize: w.maxParallel(),
		TaskQueueActivitiesPerSecond:       w.RunsPerSecond,
		WorkerStopTimeout:                  cmp.Or(w.StopTimeout, 10*time.Second),
		MaxHeartbeatThrottleInterval:       beatMost,
	}
}

// beatMost is how long a run that was cancelled may not hear of it: Temporal tells it in answer
// to a heartbeat, and its library holds heartbeats back for most of their timeout by default.
const beatMost = 2 * time.Second

// beatEvery is how often a run says that it goes on, which is given up when it is not heard of
// for a time.
func beatEvery(timeout time.Duration) time.Duration { return min(timeout/3, beatMost) }

// RegisterWorkflows makes the workflows known to a worker, or to one that replays histories.
func RegisterWorkflows(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(runJob, workflow.RegisterOptions{Name: runWorkflow})
	r.RegisterWorkflowWithOptions(runEach, workflow.RegisterOptions{Name: eachWorkflow})
	r.RegisterWorkflowWithOptions(runScheduled, workflow.RegisterOptions{Name: scheduledWorkflow})
}

// A holder is the process that carries out a run, as its heartbeats say. The empty one is
// nobody.
type holder struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

func thisProcess() holder {
	host, _ := os.Hostname()
	return holder{cmp.Or(host, "localhost"), os.Getpid()}
}

// perform is the activity of a run.
func (w *Worker) perform(ctx context.Context, job work.Job) (Result, error) {
	stop := w.beat(ctx)
	result, err := w.carryOut(ctx, job)
	stop()
	if err != nil && ctx.Err() == nil {
		activity.RecordHeartbeat(ctx, holder{}) // whoever is next has nobody to take the session from
	}
	return result, err
}

// carryOut goes on with a run that Temporal has given to this worker.
func (w *Worker) carryOut(ctx context.Context, job work.Job) (Result, error) {
	if err := w.slots.wait(ctx, w.maxParallel()); err != nil {
		return Result{}, w.leave(ctx, job.Session, err)
	}
	defer w.slots.free()
	step, err := w.Step(ctx, job)
	if err != nil {
		return Result{}, tryAgain(fmt.Errorf("make %s: %w", job.Step, err))
	}
	if err := w.check(job, step); err != nil {
		return Result{}, temporal.NewApplicationErrorWithOptions(err.Error(), otherDefinition, temporal.ApplicationErrorOptions{NextRetryDelay: leaveFor})
	}
	if w.Jobs != nil {
		queued, there, err := w.Jobs.JobOf(ctx, job.Session)
		if err != nil || !there {
			return w.dropped(ctx, job.Session, err)
		}
		job.Since = queued.Since // whoever put a batch or a schedule's run on record did not know it
	}
	if err := w.takeOver(ctx, job.Session); err != nil {
		return Result{}, tryAgain(err)
	}
	if err := w.resume(ctx, step, job.Session); err != nil {
		return Result{}, w.leave(ctx, job.Session, err)
	}
	result, _, err := w.outcome(context.WithoutCancel(ctx), job, isCancel(ctx))
	return result, err
}

// leave is the error of a run that could not go on here. Where that is because another has taken it over, that
// one says to Temporal that it lives, and what came of it: see [Worker.TakeOver]. If it does not, the
// activity is tried again when its heartbeat is missed. A session that somebody has at the first attempt
// is more likely to be had by whoever puts the run on record.
func (w *Worker) leave(ctx context.Context, session string, err error) error {
	isTaken := errors.Is(err, troupe.ErrConflict) || errors.Is(err, troupe.ErrBusy) && activity.GetInfo(ctx).Attempt > 1
	if !isTaken || isCancel(ctx) {
		return tryAgain(err)
	}
	if info, _, asked := w.Store.Ask(context.WithoutCancel(ctx), session, troupe.SessionRequest{}); asked != nil || info.Owner == (troupe.Owner{}) {
		return tryAgain(err)
	}
	return activity.ErrResultPending
}

func (w *Worker) check(job work.Job, step troupe.Step) error {
	if w.Check != nil {
		return w.Check(job, step)
	}
	return work.Check(job, step)
}

func (w *Worker) maxParallel() int { return cmp.Or(w.MaxParallel, defaultParallel) }

// tryAgain is the error of a run that somebody has to go on with.
func tryAgain(err error) error {
	if err == nil {
		return nil
	}
	// What the store or a model server said may have content in it: the log has it.
	return temporal.NewApplicationErrorWithOptions("to be tried again; the worker's log says why", notYet, temporal.ApplicationErrorOptions{Cause: causeOf(err)})
}

// causeOf is what may be known of an error outside: what kind it is.
func causeOf(err error) error {
	for _, known := range []error{troupe.ErrBusy, troupe.ErrConflict, troupe.ErrClosed, troupe.ErrChanged, troupe.ErrNotFound, work.ErrDefinition, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	return fmt.Errorf("%T", err)
}

// dropped is what becomes of a run that is no longer in the queue: it was cancelled before its
// turn, or is done, where a cluster was told of it twice.
func (w *Worker) dropped(ctx context.Context, session string, err error) (Result, error) {
	result := Result{Session: session, Status: "cancelled"}
	if err != nil {
		return result, tryAgain(err)
	}
	info, _, err := w.Store.Ask(ctx, session, troupe.SessionRequest{})
	switch {
	case errors.Is(err, troupe.ErrNotFound):
	case err != nil:
		return result, tryAgain(err)
	case info.Status == "completed" || info.Status == "waiting" || info.Status == "failed":
		result.Status = info.Status
	}
	return result, nil
}

// beat says to Temporal that the run goes on here, until the function is called.
func (w *Worker) beat(ctx context.Context) (stop func()) {
	every := beatEvery(activity.GetInfo(ctx).HeartbeatTimeout)
	if every <= 0 {
		return func() {}
	}
	beats, done, over := time.NewTicker(every), make(chan struct{}), make(chan struct{})
	activity.RecordHeartbeat(ctx, thisProcess())
	go func() {
		defer close(over)
		for {
			select {
			case <-beats.C:
				activity.RecordHeartbeat(ctx, thisProcess())
			case <-done:
				return
			}
		}
	}()
	return func() {
		beats.Stop()
		close(done)
		<-over
	}
}

// takeOver takes the session from a worker before this one that Temporal has given up.
func (w *Worker) takeOver(ctx context.Context, session string) error {
	if w.Seize == nil || activity.GetInfo(ctx).Attempt == 1 || !activity.HasHeartbeatDetails(ctx) {
		return nil
	}
	var before holder
	if err := activity.GetHeartbeatDetails(ctx, &before); err != nil {
		return err
	}
	info, _, err := w.Store.Ask(ctx, session, troupe.SessionRequest{})
	if errors.Is(err, troupe.ErrNotFound) {
		return nil
	}
	if err != nil || info.Owner.PID != before.PID || info.Owner.Host != before.Host || before == thisProcess() {
		return err
	}
	return w.Seize(ctx, session, info.Owner)
}

const (
	// busyPause is how often a session that somebody has is looked at, and busyTime for how
	// long, before the attempt is given up.
	busyPause = 50 * time.Millisecond
	busyTime  = 5 * time.Second
)

// resume goes on with a run. Whoever puts it on record has the session for a moment.
func (w *Worker) resume(ctx context.Context, step troupe.Step, session string) error {
	until := time.Now().Add(busyTime)
	for {
		err := w.goOn(ctx, step, session)
		if !errors.Is(err, troupe.ErrBusy) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			if isCancel(ctx) { // whoever has it is told
				return w.Engine.Cancel(context.WithoutCancel(ctx), session)
			}
			return context.Cause(ctx)
		}
	}
}

// goOn is resume for a session that nobody else has. A workflow that was cancelled cancels
// the run; one that goes on elsewhere, and a worker that ends, only interrupt it.
func (w *Worker) goOn(ctx context.Context, step troupe.Step, session string) error {
	run, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	ended, told := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		select {
		case <-ctx.Done():
			if !isCancel(ctx) {
				interrupt()
				break
			}
			for isOver := false; !isOver; { // again and again: the run may not have begun
				err = w.Engine.Cancel(run, session)
				select {
				case <-ended:
					isOver = true
				case <-time.After(busyPause):
				}
			}
		case <-activity.GetWorkerStopChannel(ctx):
			interrupt()
		case <-ended:
		}
		told <- err
	}()
	err := work.Perform(run, w.Engine, step, session)
	close(ended)
	return errors.Join(err, <-told)
}

// isCancel reports whether an activity ends because its workflow was cancelled.
func isCancel(ctx context.Context) bool {
	_, ok := errors.AsType[*temporal.CanceledError](context.Cause(ctx))
	return ok
}

// outcome says how a run stands that has come to something, and whether its job was there and is not
// any more.
func (w *Worker) outcome(ctx context.Context, job work.Job, cancelled bool) (result Result, isRemoved bool, err error) {
	info, _, err := w.Store.Ask(ctx, job.Session, troupe.SessionRequest{})
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return Result{}, false, tryAgain(err)
	}
	if w.Jobs != nil {
		if isRemoved, err = w.Jobs.RemoveJob(ctx, job); err != nil {
			return Result{}, isRemoved, tryAgain(err)
		}
	}
	switch {
	case cancelled:
		return Result{}, isRemoved, temporal.NewCanceledError()
	case info.Status == "failed":
		return Result{}, isRemoved, temporal.NewNonRetryableApplicationError("the run failed: session "+job.Session+" says why", failedRun, nil)
	}
	return Result{Session: job.Session, Status: info.Status}, isRemoved, nil
}

// begin is the activity that puts the run of a schedule on record.
func (w *Worker) begin(ctx context.Context, schedule string, due time.Time) (work.Job, error) {
	if w.Begin == nil {
		return work.Job{}, temporal.NewApplicationErrorWithOptions("this worker knows of no schedules", notYet, temporal.ApplicationErrorOptions{NextRetryDelay: 5 * time.Second})
	}
	return w.Begin(ctx, schedule, due)
}
