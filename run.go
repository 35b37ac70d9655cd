package troupe

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Run is what a [Step] may use of the world: models, tools, other steps, time
// and ids. Each such effect has a place in the run, its step id, and its outcome
// is an event. When a run is gone over again, an effect whose outcome is in the
// log returns it, and the first one whose outcome is missing is carried out.
//
// A Run belongs to one goroutine: [Run.All] gives each branch its own.
type Run struct {
	exec   *execution
	id     string
	parent string
	agent  string
	// prefix is the path of the branch that this Run is, and count its latest step.
	prefix string
	count  int
	depth  int
	chain  *link
	// now is the time of the newest event the run has seen.
	now time.Time
	// noted events wait to be stored together with the next ones.
	noted []Event
	// over, where set, says that nobody waits for what this branch does.
	over *atomic.Bool
}

// A link is one step of the chain of steps that are being run, innermost first.
type link struct {
	step  Step
	outer *link
}

var (
	// ErrChanged reports that a step asks for something else than what its log
	// says it did there: its code or definition is not the one that was run.
	ErrChanged = errors.New("the definition has changed since this was recorded")
	// ErrTooDeep reports runs nested deeper than [Limits] allow.
	ErrTooDeep = errors.New("runs are nested too deep")
	// ErrCircular reports a step that would run inside itself.
	ErrCircular = errors.New("circular call")
)

// ID identifies the run within its session.
func (r *Run) ID() string { return r.id }

// Session identifies the conversation that the run belongs to.
func (r *Run) Session() string { return r.exec.feed.session }

// Now is the time of the newest event the run has seen. It is the same whenever
// the run is gone over again.
func (r *Run) Now() time.Time { return r.now }

// NewID returns a UUID made from the run and the step: the same whenever the run
// is gone over again.
func (r *Run) NewID() string { return derivedID(r.id, r.next()) }

// Emit records an event. On a second pass it writes nothing.
func (r *Run) Emit(ctx context.Context, body Body) error {
	step := r.next()
	if recorded, err := r.recorded(step, body.Kind()); recorded != nil || err != nil {
		return err
	}
	if r.exec.journal.passed(r.id, step) {
		return nil // the run was stopped here, and went on without
	}
	if err := r.alive(ctx); err != nil {
		return err
	}
	r.note(step, body)
	return nil
}

// history is the conversation that an agent in this run goes on with: that of the
// session for the run a caller started, a new one for a nested run.
func (r *Run) history() *history {
	if r.parent == "" && r.prefix == "" {
		return r.exec.conversation()
	}
	return newHistory()
}

// Do runs another step as a child of this run and returns what it hands back.
func (r *Run) Do(ctx context.Context, step Step, in Handoff) (Handoff, error) {
	at := r.next()
	child := &Run{
		exec: r.exec, id: r.id + ":" + at, parent: r.id, agent: step.Name(),
		depth: r.depth + 1, chain: &link{step, r.chain}, now: r.now,
	}
	if err := r.mayNest(step); err != nil {
		return Handoff{}, err
	}
	if end := r.exec.journal.childEnd(r.id, child.id, at); end != nil {
		r.saw(end)
		return endOf(end)
	}
	if err := r.alive(ctx); err != nil {
		return Handoff{}, err
	}
	if err := r.flush(); err != nil {
		return Handoff{}, err
	}
	out, err := child.perform(ctx, step, in)
	r.now = latest(r.now, child.now)
	return out, err
}

// endOf turns a recorded end of a run back into what the run returned.
func endOf(e *Event) (Handoff, error) {
	switch b := e.Body.(type) {
	case *RunFinished:
		return b.Output, nil
	case *RunFailed:
		return Handoff{}, &RunError{Agent: e.Agent, Run: e.Run, Task: b.Task, State: b.State, Err: errors.New(b.Error)}
	}
	return Handoff{}, fmt.Errorf("run %s ended with %s", e.Run, e.Kind())
}

// mayNest refuses what would nest without end, before any model is asked.
func (r *Run) mayNest(step Step) error {
	for l := r.chain; l != nil; l = l.outer {
		if l.step.Name() == step.Name() {
			return fmt.Errorf("%w: %s", ErrCircular, r.path(step))
		}
	}
	if limit := r.exec.budget.limits.Depth; limit > 0 && r.agentsAbove() > limit {
		return fmt.Errorf("%w (limit %d): %s", ErrTooDeep, limit, r.path(step))
	}
	return nil
}

// agentsAbove counts the agents that what is nested in this run is called by. Flows
// do not count: they are as deep as they are written.
func (r *Run) agentsAbove() int {
	n := 0
	for l := r.chain; l != nil; l = l.outer {
		if _, ok := l.step.(*Agent); ok {
			n++
		}
	}
	return n
}

// path shows the chain of steps that leads to step, outermost first.
func (r *Run) path(step Step) string {
	names := []string{step.Name()}
	for l := r.chain; l != nil; l = l.outer {
		names = append(names, l.step.Name())
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

// All runs branches concurrently, each with its own Run, and returns their errors
// in the order given when all have returned.
func (r *Run) All(ctx context.Context, branches ...func(context.Context, *Run) error) []error {
	return r.all(ctx, len(branches), branches)
}

// all is All with at most limit branches at a time.
func (r *Run) all(ctx context.Context, limit int, branches []func(context.Context, *Run) error) []error {
	at := r.next()
	errs := make([]error, len(branches))
	if err := r.flush(); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	runs := make([]Run, len(branches))
	var wg sync.WaitGroup
	room := make(chan struct{}, limit)
	for i, branch := range branches {
		runs[i] = r.branch(at + "/" + strconv.Itoa(i))
		room <- struct{}{} // here, so that they begin in order
		wg.Go(func() {
			defer func() { <-room }()
			errs[i] = safely(func() error { return branch(ctx, &runs[i]) })
			errs[i] = errors.Join(errs[i], runs[i].flush())
		})
	}
	wg.Wait()
	for i := range runs {
		r.now = latest(r.now, runs[i].now)
	}
	return errs
}

// branch returns a Run for what happens below the step id at.
func (r *Run) branch(at string) Run {
	return Run{
		exec: r.exec, id: r.id, parent: r.parent, agent: r.agent,
		prefix: at, depth: r.depth, chain: r.chain, now: r.now,
	}
}

// perform runs step in r from its first event to its last.
func (r *Run) perform(ctx context.Context, step Step, in Handoff) (out Handoff, err error) {
	if recorded, err := r.recorded(startStep, KindRunStarted); err != nil {
		return Handoff{}, err
	} else if recorded == nil {
		r.note(startStep, &RunStarted{Input: in, Depth: r.depth, Limits: r.exec.asked, User: r.exec.user, Key: r.exec.key})
	}
	err = safely(func() (err error) {
		if r.parent == "" {
			if err := r.Emit(ctx, &UserSaid{Text: in.Task, Parts: in.Parts}); err != nil {
				return err
			}
		}
		out, err = step.Do(ctx, r, in)
		return err
	})
	if question, ok := errors.AsType[*asking](err); ok && ctx.Err() == nil {
		out, err = question.handoff(in), nil
	}
	if err != nil {
		return Handoff{}, r.fail(ctx, in, err)
	}
	if out.Meta.Source == "" {
		out.Meta.Source = r.agent
	}
	if out.Meta.Status == "" {
		out.Meta.Status = StatusSuccess
	}
	out.Meta.Time = r.now
	stop := out.Meta.Stop
	if stop == "" {
		stop = StopAnswered
	}
	if r.parent == "" {
		r.exec.reportLeft(r)
	}
	at := r.next()
	if recorded, err := r.recorded(at, KindRunFinished); err != nil {
		return Handoff{}, err
	} else if recorded == nil {
		r.note(at, &RunFinished{Output: out, Stop: stop, Spent: r.exec.budget.spent()})
	}
	return out, r.flush()
}

// fail records why a run stopped short and returns the error for its caller.
func (r *Run) fail(ctx context.Context, in Handoff, err error) error {
	at := r.place(r.count)
	partial := ""
	if broken, ok := errors.AsType[*brokenReply](err); ok {
		partial = broken.partial
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeUp) {
		cause := context.Cause(ctx)
		r.note(at, &RunCancelled{Reason: clip(cause.Error(), maxErrorText), Partial: partial})
		if !errors.Is(err, cause) {
			err = cause
		}
		return errors.Join(err, r.flush())
	}
	spent := r.exec.budget.spent()
	failed := &RunFailed{Error: clip(err.Error(), maxErrorText), Task: shorten(in.Task, 200), State: spent, Partial: partial}
	if crash, ok := errors.AsType[*crashError](err); ok {
		failed.Stack = crash.stack
	}
	r.note(at, failed)
	err = errors.Join(err, r.flush())
	if _, ok := errors.AsType[*RunError](err); ok {
		return err
	}
	return &RunError{Agent: r.agent, Run: r.id, Task: failed.Task, State: spent, Err: err}
}

// A RunError says which agent could not go on, at what, and how far it had come.
type RunError struct {
	Agent string
	Run   string
	Task  string
	State Spent
	Err   error
}

// Error names the agent, its task and the cause.
func (e *RunError) Error() string {
	return fmt.Sprintf("agent %s: task %q: after %d turns: %v", e.Agent, e.Task, e.State.Turns, e.Err)
}

func (e *RunError) Unwrap() error { return e.Err }

// startStep is where a run's first event stands.
const startStep = "0"

// next returns the id of the run's next step.
func (r *Run) next() string {
	r.count++
	return r.place(r.count)
}

// place is the id of the n-th step of this branch.
func (r *Run) place(n int) string {
	if r.prefix == "" {
		return strconv.Itoa(n)
	}
	return r.prefix + "/" + strconv.Itoa(n)
}

// peek returns what the log says of the step that next would return.
func (r *Run) peek() []*Event {
	if r.exec.journal == nil {
		return nil
	}
	return r.exec.journal.at(r.id, r.place(r.count+1))
}

// answer returns what the user said to the question that was asked last, nil if
// that is yet to come.
func (r *Run) answer() *UserSaid {
	for _, e := range r.peek() {
		if said, ok := e.Body.(*UserSaid); ok {
			r.next()
			r.saw(e)
			return said
		}
	}
	return nil
}

// recorded returns the event of this kind at step, or nil if the log says nothing
// of that step. It fails if the log says something else.
func (r *Run) recorded(step string, kind Kind) (*Event, error) {
	if r.exec.journal == nil {
		return nil, nil
	}
	e, err := r.exec.journal.find(r.id, step, kind)
	if e != nil {
		r.saw(e)
	}
	return e, err
}

func (r *Run) saw(e *Event) { r.now = latest(r.now, e.Time) }

// usualEvents is room for a run with one tool call.
const usualEvents = 8

// note makes an event of the run that the next flush stores.
func (r *Run) note(step string, body Body) {
	r.now = latest(r.now, time.Now().Round(0).UTC())
	if cap(r.noted) == 0 {
		r.noted = make([]Event, 0, usualEvents)
	}
	r.noted = append(r.noted, Event{
		Time: r.now, Session: r.exec.feed.session, Run: r.id, Parent: r.parent,
		Step: step, Agent: r.agent, Body: body,
	})
}

// flush stores what was noted. After it, the events are acknowledged.
func (r *Run) flush() error {
	if len(r.noted) == 0 {
		return nil
	}
	// The feed keeps the slice; what is left of its room is for the next events.
	batch := slices.Clip(r.noted)
	r.noted = r.noted[len(r.noted):]
	return r.exec.feed.publish(batch)
}

// alive fails once the run was told to stop.
func (r *Run) alive(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.over != nil && r.over.Load() {
		return errLeftBehind
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A crashError is a panic in a step.
type crashError struct {
	value any
	stack string
}

func (e *crashError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// safely turns a panic of f into an error.
func safely(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &crashError{value, string(debug.Stack())}
		}
	}()
	return f()
}
