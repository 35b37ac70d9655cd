package troupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
	"github.com/troupe-dev/troupe/internal/room"
	"github.com/troupe-dev/troupe/internal/words"
)

// perform runs step in r from its first event to its last, and sets out to what it came to.
// A run waits in here for most of its life, thousands of them side by side in a server: what
// is large is in the functions around step.Do, so that the stack below it stays small.
func (r *Run) perform(ctx context.Context, step Step, in, out *Handoff) error {
	if err := safely(func() error { return r.begin(step, in) }); err != nil {
		return err
	}
	return r.end(ctx, in, out, r.do(ctx, step, in, out))
}

// begin records that a run has begun.
func (r *Run) begin(step Step, in *Handoff) error {
	if r.budget.started.IsZero() {
		r.budget.started = time.Now()
	}
	recorded, err := r.recorded(journal.Start, "run_started")
	if err == nil && recorded == nil {
		r.note(journal.Start, r.started(step, *in))
	}
	return err
}

// do carries out the step.
func (r *Run) do(ctx context.Context, step Step, in, out *Handoff) error {
	return safely(func() error {
		if err := r.sayInput(ctx, in); err != nil {
			return err
		}
		if agent, ok := step.(*Agent); ok {
			return agent.converse(ctx, r, in, out)
		}
		return r.hand(ctx, step, in, out)
	})
}

// hand hands in to a step that may be anybody's: see [Run.perform] for why it is on its own.
func (r *Run) hand(ctx context.Context, step Step, in, out *Handoff) (err error) {
	*out, err = step.Do(ctx, r, in.Clone())
	return err
}

// sayInput records what the user has said to the run that a caller started.
func (r *Run) sayInput(ctx context.Context, in *Handoff) error {
	if r.parent != "" {
		return nil
	}
	return r.emit(ctx, &UserSaid{Text: in.Task, Parts: in.Parts, Hidden: r.exec.hidden})
}

// end records what a run came to, which out is then as it is on record.
func (r *Run) end(ctx context.Context, in, out *Handoff, err error) error {
	if question, ok := errors.AsType[*askingError](err); ok && ctx.Err() == nil {
		*out, err = question.handoff(*in), nil
	}
	if err == nil {
		*out, err = out.asJSON()
	}
	if err != nil {
		*out = Handoff{}
		return r.fail(ctx, *in, err)
	}
	if r.parent == "" && out.Meta.Stop == stopInput && r.exec.isAnswered() {
		if err := r.flush(); err != nil {
			return err
		}
		return errAnswered
	}
	*out, err = r.finish(*out)
	return err
}

// started is the first event of a run.
func (r *Run) started(step Step, in Handoff) *RunStarted {
	if r.parent == "" {
		r.exec.started.Definition, r.exec.started.Output = step.Definition(), outputOf(step)
		return r.exec.started
	}
	started := &RunStarted{Input: in, Depth: r.depth, Conversation: r.conversation, Definition: step.Definition(), Output: outputOf(step)}
	if forked := r.exec.edits[r.id]; forked != nil {
		started.Edited, started.EditedBy = true, forked.User
	}
	return started
}

// finish records what a run came to.
func (r *Run) finish(out Handoff) (Handoff, error) {
	if out.Meta.Source == "" {
		out.Meta.Source = r.agent
	}
	if out.Meta.Status == "" {
		out.Meta.Status = endedSuccess
	}
	out.Meta.Time = r.now
	if r.parent == "" {
		r.exec.reportLeft(r)
	}
	at := r.next()
	if recorded, err := r.recorded(at, "run_finished"); err != nil {
		return Handoff{}, err
	} else if recorded == nil {
		own, below := r.budget.spent()
		if limit, cost := r.budget.limits.Cost, own.Cost+below.Cost; limit > 0 && cost > limit && out.Meta.Stop != stopCost {
			r.note(at, &Warned{Code: "cost_exceeded", Message: fmt.Sprintf("This run has cost $%.4f, and may cost %s: a limit is checked between answers, and one answer went past it.", cost, words.Dollars(limit))})
		}
		r.note(at, &RunFinished{Output: out, Stop: orElse(out.Meta.Stop, stopAnswered), Spent: own, SpentBelow: below})
	}
	if r.parent != "" {
		return out.Clone(), nil // the run around it stores it
	}
	return out, r.flush()
}

// fail records why a run stopped short and returns the error for its caller.
func (r *Run) fail(ctx context.Context, in Handoff, err error) error {
	at := r.prefix.Step(r.count)
	partial := ""
	if broken, ok := errors.AsType[*brokenReply](err); ok {
		partial = broken.partial
	}
	own, below := r.budget.spent()
	if errors.Is(err, errNotNeeded) || ctx.Err() != nil && !isTimeUp(context.Cause(ctx)) {
		cause := err
		if ctx.Err() != nil {
			cause = context.Cause(ctx)
		}
		if cause == ErrClosed { // and not errClosing
			return together(cause, r.interrupt())
		}
		r.note(at, &RunCancelled{Reason: clip(cause.Error(), maxErrorText), Partial: partial, Spent: own, SpentBelow: below})
		if !errors.Is(err, cause) {
			err = cause
		}
		unstored := r.flush()
		if errors.Is(unstored, cause) { // as where another process has the session now
			return unstored
		}
		return together(err, unstored)
	}
	failed := &RunFailed{Error: clip(err.Error(), maxErrorText), Task: shorten(in.Task, 200), Spent: own, SpentBelow: below, Partial: partial}
	if crash, ok := errors.AsType[*crashError](err); ok {
		failed.Stack = crash.stack
	}
	if limit, ok := errors.AsType[*room.Error](err); ok {
		failed.Reason = limit.Limit
	} else if refused, ok := errors.AsType[*ModelError](err); isTimeUp(err) {
		failed.Reason = reasonTime
	} else if ok {
		failed.Reason = refused.Reason
	}
	r.note(at, failed)
	err = together(err, r.flush())
	if _, ok := errors.AsType[*RunError](err); ok {
		return err
	}
	return &RunError{Agent: r.agent, Run: r.id, Task: failed.Task, Spent: own.Add(below), Err: err}
}

// together is why a run ended and that this could not be stored, once where the store's
// failure is why it ended.
func together(err, unstored error) error {
	if unstored == nil || errors.Is(err, unstored) {
		return err
	}
	return errors.Join(err, unstored)
}

// interrupt ends a pass over a run that goes on elsewhere: nothing says that the run has ended.
func (r *Run) interrupt() error {
	if r.parent == "" {
		r.noted = append(r.noted, r.exec.event(&Warned{Code: codeInterrupted, Message: "The process that carried this run out was told to end. It goes on where it was as soon as another takes it up."}))
	}
	return r.flush()
}

// A RunError says which agent could not go on, at what, and how far it had come.
type RunError struct {
	Agent string
	Run   string
	Task  string
	Spent Spent
	Err   error
}

// Error names the agent, its task and the cause.
func (e *RunError) Error() string {
	return fmt.Sprintf("agent %s: task %q: after %s: %v", e.Agent, e.Task, words.Counted(e.Spent.Turns, "turn"), e.Err)
}

func (e *RunError) Unwrap() error { return e.Err }

// A timeUpError says whose time is up: the run's, or that of one agent in it.
type timeUpError struct {
	agent string // empty for the whole run
	limit time.Duration
}

func (e *timeUpError) Error() string {
	if e.agent == "" {
		return fmt.Sprintf("the run's time limit of %s is up", e.limit)
	}
	return fmt.Sprintf("the time limit of %s for agent %s is up", e.limit, e.agent)
}

// Is says that a deadline has passed.
func (e *timeUpError) Is(target error) bool { return target == context.DeadlineExceeded }

func isTimeUp(err error) bool {
	_, ok := errors.AsType[*timeUpError](err)
	return ok
}

// limitTime returns a context that ends when it is time for the last answer, and
// has the run's grace end when that must be there. The time is counted from the
// budget's beginning.
func (r *Run) limitTime(ctx context.Context, limit time.Duration, agent string) (context.Context, context.CancelFunc) {
	up := &timeUpError{agent, limit}
	left := limit - r.budget.elapsed()
	grace, endGrace := context.WithTimeoutCause(r.grace, left, up)
	r.grace, r.up = grace, up
	ctx, end := context.WithTimeoutCause(ctx, left-answerTime(limit), up)
	return ctx, func() { end(); endGrace() }
}

// leaveTime halves the time that is left for last answers, so that whoever called the step
// that this run is about to do has some for its own.
func (r *Run) leaveTime(ctx context.Context) (end context.CancelFunc) {
	work, limited := ctx.Deadline()
	grace, isSet := r.grace.Deadline()
	if !limited || !isSet || r.up == nil || !grace.After(work) {
		return func() {}
	}
	r.grace, end = context.WithDeadlineCause(r.grace, work.Add(grace.Sub(work)/2), r.up)
	return end
}

// askingError is the error of a step that cannot go on until the user has answered.
type askingError struct{ question, id string }

func (e *askingError) Error() string { return "the user must answer first: " + e.question }

// handoff is what the run of such a step ends with.
func (e *askingError) handoff(in Handoff) Handoff {
	return Handoff{
		Task: in.Task, Summary: e.question, Custom: in.Custom,
		Meta: HandoffMeta{Status: endedPartial, Stop: stopInput, Asked: e.id},
	}
}
