package work

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/troupe-dev/troupe"
)

// A Runner has workers carry out what it is asked to run, in place of an engine's Run,
// Resume and Cancel. It shows what happens as an engine does.
type Runner struct {
	// Engine shows what happens, and carries nothing out.
	Engine   *troupe.Engine
	Recorder Recorder
	Queue    Queue
	// QueueOf returns the queue for a run: the usual one where it is nil. Of a run that is resumed
	// only the session and the user are known.
	QueueOf func(step troupe.Step, input troupe.Input) string
	// DigestOf returns what a worker has to have for a run of a step, where that is more than
	// the step's definition says: see [Job.Digest] and [Worker.Check]. Nothing is on record of a session
	// that is new.
	DigestOf func(step troupe.Step, session string, isNew bool) string
}

// Run puts a run on record and in the queue, and yields its events until it has ended. To
// break off, or a ctx that is done, ends the reading and not the run.
func (r *Runner) Run(ctx context.Context, step troupe.Step, input troupe.Input) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		recorded, err := r.Submit(ctx, step, input)
		switch {
		case err != nil:
			yield(troupe.Event{}, err)
		case recorded.Known:
			r.Engine.Run(ctx, step, input)(yield) // which shows what is on record
		default:
			r.follow(ctx, recorded, yield)
		}
	}
}

// Submit puts a run on record and in the queue, and returns at once.
func (r *Runner) Submit(ctx context.Context, step troupe.Step, input troupe.Input) (Recorded, error) {
	if err := r.refuseBusy(ctx, input); err != nil {
		return Recorded{}, err
	}
	return r.Recorder.Record(ctx, step, input, func(ctx context.Context, session string) error {
		job, err := r.JobFor(ctx, step, session, input)
		if err != nil {
			return err
		}
		return r.Queue.AddJob(ctx, job)
	})
}

// JobFor returns the job of a run that is about to be put on record in a session.
func (r *Runner) JobFor(ctx context.Context, step troupe.Step, session string, input troupe.Input) (Job, error) {
	if r.DigestOf == nil {
		return r.jobOf(step, session, input, false), nil
	}
	_, _, err := r.Recorder.Store.Ask(ctx, session, troupe.SessionRequest{})
	isNew := errors.Is(err, troupe.ErrNotFound)
	if err != nil && !isNew {
		return Job{}, err
	}
	return r.jobOf(step, session, input, isNew), nil
}

func (r *Runner) jobOf(step troupe.Step, session string, input troupe.Input, isNew bool) Job {
	job := Job{Session: session, Step: step.Name(), Digest: digestOf(step), User: input.User}
	if r.DigestOf != nil {
		job.Digest = r.DigestOf(step, session, isNew)
	}
	if input.Session = session; r.QueueOf != nil {
		job.Queue = r.QueueOf(step, input)
	}
	return job
}

// refuseBusy fails with [troupe.ErrBusy] where a run of the session waits for a worker: it
// is as good as under way. A request that was sent again is not refused, and neither is one that comes
// when the run has ended and its worker is about to remove the job.
func (r *Runner) refuseBusy(ctx context.Context, input troupe.Input) error {
	if input.Session == "" {
		return nil
	}
	_, waits, err := r.Queue.JobOf(ctx, input.Session)
	if err != nil || !waits {
		return err
	}
	open := false
	for e, err := range r.Recorder.Store.Events(ctx, input.Session, 0) {
		if errors.Is(err, troupe.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if key := input.IdempotencyKey; key != "" && keyOf(&e) == key {
			return nil
		}
		// A run that failed or was cancelled may be in the queue to be resumed.
		if _, finished := e.Body.(*troupe.RunFinished); finished && e.Parent == "" {
			open = false
		} else if _, resumed := e.Body.(*troupe.RunResumed); resumed || begins(e.Body) {
			open = true
		}
	}
	if !open {
		return nil
	}
	return fmt.Errorf("session %s: its run waits for a worker: %w", input.Session, troupe.ErrBusy)
}

// keyOf is the idempotency key of the request that an event began with.
func keyOf(e *troupe.Event) string {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent == "" {
			return b.IdempotencyKey
		}
	case *troupe.UserSaid:
		return b.IdempotencyKey
	}
	return ""
}

func digestOf(step troupe.Step) string {
	if d := step.Definition(); d != nil {
		return d.Digest()
	}
	return ""
}

// Resume puts a session's latest run into the queue again, and shows it as Run does. That it
// goes on is on record at once, whether or not a worker is there. It fails with [troupe.ErrBusy] where the
// run is in the queue already.
func (r *Runner) Resume(ctx context.Context, step troupe.Step, session string) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		recorded, err := r.again(ctx, step, session)
		if err != nil {
			yield(troupe.Event{}, err)
			return
		}
		r.follow(ctx, recorded, yield)
	}
}

// again puts a session's latest run that can be resumed on record and into the queue.
func (r *Runner) again(ctx context.Context, step troupe.Step, session string) (Recorded, error) {
	info, _, err := r.Recorder.Store.Ask(ctx, session, troupe.SessionRequest{})
	switch {
	case err != nil:
		return Recorded{}, err
	case info.Owner != (troupe.Owner{}):
		return Recorded{}, fmt.Errorf("session %s: %w", session, &info.Owner)
	case info.Status == "completed" || info.Status == "waiting":
		return Recorded{}, fmt.Errorf("session %s: %w", session, troupe.ErrNothingToResume)
	case info.Status == "running" || info.Status == "interrupted":
		if err := r.refuseBusy(ctx, troupe.Input{Session: session}); err != nil {
			return Recorded{}, err
		}
	}
	return r.Recorder.RecordAgain(ctx, step, session, func(ctx context.Context, session string) error {
		return r.Queue.AddJob(ctx, r.jobOf(step, session, troupe.Input{User: info.User}, false))
	})
}

// follow yields the events of a run until it has ended. What it came to where it did not
// come to its end is the error, as an engine has it.
func (r *Runner) follow(ctx context.Context, run Recorded, yield func(troupe.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for e, err := range r.Engine.Tail(ctx, run.Session, run.After) {
		if err == nil && rootOf(e.Run) != run.Run {
			continue
		}
		if !yield(e, err) || err != nil {
			return
		}
		if e.Run != run.Run || !isEnd(e.Body) || isInterruption(e.Body) {
			continue
		}
		if err := failure(&e); err != nil {
			yield(troupe.Event{}, err)
		}
		return
	}
}

// isInterruption reports whether an end is that of a worker which was told to end, so that
// another goes on.
func isInterruption(body troupe.Body) bool {
	cancelled, ok := body.(*troupe.RunCancelled)
	return ok && cancelled.Reason == troupe.ErrClosed.Error()
}

// failure is what a run that did not finish came to.
func failure(e *troupe.Event) error {
	switch b := e.Body.(type) {
	case *troupe.RunFailed:
		return &troupe.RunError{Agent: e.Agent, Run: e.Run, Task: b.Task, Spent: b.Spent.Add(b.SpentBelow), Err: errors.New(b.Error)}
	case *troupe.RunCancelled:
		return fmt.Errorf("%s: %w", b.Reason, troupe.ErrCancelled)
	}
	return nil
}

// Cancel stops a session's run: whoever carries it out is told, and where nobody does yet,
// nobody will.
func (r *Runner) Cancel(ctx context.Context, session string) error {
	job, waited, err := r.Queue.JobOf(ctx, session)
	if err != nil {
		return err
	}
	if waited {
		if _, err := r.Queue.RemoveJob(ctx, job); err != nil {
			return err
		}
		err := r.recordCancelled(ctx, job)
		if !errors.Is(err, troupe.ErrBusy) {
			return err
		}
	}
	return r.Engine.Cancel(ctx, session)
}

// recordCancelled puts on record that a run was cancelled before anybody began with it, or
// between two workers.
func (r *Runner) recordCancelled(ctx context.Context, job Job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	engine, err := troupe.New(troupe.Config{Store: r.Recorder.Store})
	if err != nil {
		return err
	}
	defer engine.Close()
	definition, err := r.definitionOf(ctx, job.Session)
	if err != nil {
		return err
	}
	for _, err := range engine.Resume(ctx, cancelled{job.Step, definition, cancel}, job.Session) {
		if err != nil && !errors.Is(err, troupe.ErrCancelled) && !errors.Is(err, troupe.ErrNothingToResume) {
			return err
		}
	}
	return nil
}

// definitionOf returns what a session's latest run is on record as.
func (r *Runner) definitionOf(ctx context.Context, session string) (definition *troupe.Definition, err error) {
	for e, err := range r.Recorder.Store.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		if b, ok := e.Body.(*troupe.RunStarted); ok && e.Parent == "" {
			definition = b.Definition
		}
	}
	return definition, nil
}

// cancelled is a step that is cancelled before it does anything.
type cancelled struct {
	name       string
	definition *troupe.Definition
	cancel     context.CancelCauseFunc
}

func (c cancelled) Name() string                   { return c.name }
func (c cancelled) Definition() *troupe.Definition { return c.definition }
func (c cancelled) Do(ctx context.Context, _ *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
	c.cancel(troupe.ErrCancelled)
	<-ctx.Done()
	return troupe.Handoff{}, context.Cause(ctx)
}
