package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
	"github.com/troupe-dev/troupe/internal/room"
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
	prefix journal.Path
	count  int
	depth  int
	chain  *link
	budget *budget
	// rules are the limits that bound single effects.
	rules *Limits
	// conversation names the one that an agent in this run goes on with.
	conversation string
	// grace ends when the last answer must be there, after the context that steps get.
	grace context.Context
	// up says whose time it is that ends with grace.
	up *timeUpError
	// front shows events to whoever ranges over the run; nil in other goroutines.
	front *reader
	// group is the branches that this one, number member, belongs to.
	group  *branchGroup
	member int
	// log is what this pass over the run found on record, and stops where branches were ended
	// by one of them.
	log   *journal.Log[*Event]
	stops map[stopPlace]bool
	// now is the time of the newest event the run has seen.
	now time.Time
	// noted events wait to be stored together with the next ones.
	noted []Event
	// over, where set, says that nobody waits for what this branch does.
	over *atomic.Bool
	// branching is 1 while the run waits for its branches; it is read by whatever goroutine
	// uses the run in place of its own.
	branching uint32
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
	// ErrCircular reports a step that would run inside itself, or runs nested deeper
	// than [Limits] allow.
	ErrCircular = errors.New("circular call")
)

// ID identifies the run within its session.
func (r *Run) ID() string { return r.id }

// Session identifies the conversation that the run belongs to.
func (r *Run) Session() string { return r.exec.feed.session }

// User is who the run is for, empty for whoever runs the engine.
func (r *Run) User() string { return r.exec.started.User }

// Now is the time of the newest event the run has seen. It is the same whenever
// the run is gone over again.
func (r *Run) Now() time.Time { return r.now }

// NewID returns a UUID made from the run and the step: the same whenever the run
// is gone over again.
func (r *Run) NewID() string { return derivedID(r.id, string(r.next())) }

// Before returns what the same step handed back when it last ran in this session,
// and whether it has: a flow that the user talks to goes on from there.
func (r *Run) Before() (Handoff, bool) {
	if r.parent != "" || r.exec.before == nil {
		return Handoff{}, false
	}
	h, ok := r.exec.before[r.agent]
	return h, ok
}

// Emit records a body of a program's own: a [Noted], or an [ArtifactSaved]. All
// other events are made by what they tell of. On a second pass it writes nothing.
func (r *Run) Emit(ctx context.Context, body Body) error {
	switch body.(type) {
	case *Noted, *ArtifactSaved:
		return r.emit(ctx, body)
	}
	return fmt.Errorf("emit %s: only notes and saved artifacts can be emitted", body.Kind())
}

// Note is Emit of a [Noted] with data that becomes JSON.
func (r *Run) Note(ctx context.Context, name string, data any) error {
	encoded, err := encodeJSON(data)
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return r.emit(ctx, &Noted{Name: name, Data: json.RawMessage(encoded)})
}

// Warn records something that a person should know about and that stops nothing.
// Code is one fixed word.
func (r *Run) Warn(ctx context.Context, code, message string) error {
	return r.emit(ctx, &Warned{Code: code, Message: message})
}

// HandOver records that control passes from one step to another with h, and returns
// h as the other gets it.
func (r *Run) HandOver(ctx context.Context, from, to string, h Handoff) (Handoff, error) {
	h, err := h.asJSON()
	if err != nil {
		return Handoff{}, fmt.Errorf("%s hands over to %s: %w", from, to, err)
	}
	return h.Clone(), r.emit(ctx, &HandedOff{From: from, To: to, Handoff: h})
}

// emit records an event of any kind.
func (r *Run) emit(ctx context.Context, body Body) error {
	if err := r.mayAct(); err != nil {
		return err
	}
	step := r.next()
	if recorded, err := r.recorded(step, body.Kind()); recorded != nil || err != nil {
		return err
	}
	if r.log.Passed(r.id, step) {
		return nil // the run was stopped here, and went on without
	}
	if err := r.alive(ctx); err != nil {
		return err
	}
	r.note(step, body)
	return nil
}

// Do runs another step as a child of this run and returns what it hands back.
func (r *Run) Do(ctx context.Context, step Step, in Handoff) (Handoff, error) {
	return r.nest(ctx, step, in, "")
}

// Converse is Do for a step that goes on with the conversation it has had in this
// session, under this flow: an agent sees what was said to it before, and what it
// did. The conversation is on record like everything else.
func (r *Run) Converse(ctx context.Context, step Step, in Handoff) (Handoff, error) {
	var path []string
	for l := r.chain; l != nil; l = l.outer {
		path = append(path, l.step.Name())
	}
	slices.Reverse(path)
	return r.nest(ctx, step, in, strings.Join(append(path, step.Name()), "/"))
}

func (r *Run) nest(ctx context.Context, step Step, in Handoff, conversation string) (Handoff, error) {
	if isNil(step) {
		return Handoff{}, fmt.Errorf("%s runs a step that is nil", r.agent)
	}
	if err := r.mayAct(); err != nil {
		return Handoff{}, err
	}
	in = r.Given(in)
	at := r.next()
	if err := r.mayNest(step); err != nil {
		return Handoff{}, err
	}
	in, err := in.asJSON()
	if err != nil {
		return Handoff{}, fmt.Errorf("run %s: %w", step.Name(), err)
	}
	child := r.child(at, step, conversation)
	if err := r.sameChild(child.id, step, &in); err != nil {
		return Handoff{}, err
	}
	if end, ok := r.log.Ended(r.id, child.id, at); ok {
		r.saw(end)
		out, err := r.endOf(end)
		r.exec.noteAsked(r.id, &out)
		return out, err
	}
	if err := r.alive(ctx); err != nil && r.log.At(child.id, journal.Start) == nil {
		return Handoff{}, err
	}
	if err := r.flush(); err != nil {
		return Handoff{}, err
	}
	out, err := r.performChild(ctx, child, step, &in)
	for err == nil && out.Meta.Asked != "" {
		if child, err = r.answeredMeanwhile(ctx, child, step); child == nil {
			break
		}
		out, err = r.performChild(ctx, child, step, &in)
	}
	r.exec.noteAsked(r.id, &out)
	return out, err
}

// child is a run of a step, nested in this one.
func (r *Run) child(at journal.Path, step Step, conversation string) *Run {
	child := &struct {
		Run
		budget budget
		link   link
	}{}
	child.link = link{step, r.chain}
	child.budget.outer = r.budget
	child.Run = Run{
		exec: r.exec, id: journal.Child(r.id, at), parent: r.id, agent: step.Name(),
		depth: r.depth + 1, chain: &child.link, budget: &child.budget, rules: r.rules, log: r.log, stops: r.stops,
		conversation: conversation, grace: r.grace, up: r.up, front: r.front, group: r.group, member: r.member, now: r.now, over: r.over,
	}
	return &child.Run
}

func (r *Run) performChild(ctx context.Context, child *Run, step Step, in *Handoff) (out Handoff, err error) {
	err = child.perform(ctx, step, in, &out)
	r.now = latest(r.now, child.now)
	// How the child ended is stored together with what this run does about it.
	r.noted = append(r.noted, child.noted...)
	return out, err
}

// sameChild fails if the log has a run of something else at a child's place, or one that
// was given something else: its answer would be that of another question.
func (r *Run) sameChild(child string, step Step, in *Handoff) error {
	for _, e := range r.log.At(child, journal.Start) {
		started, ok := e.Body.(*RunStarted)
		if !ok {
			continue
		}
		if e.Agent != step.Name() {
			return fmt.Errorf("run %s: the log has a run of %s there, the code now wants one of %s: %w", child, e.Agent, step.Name(), ErrChanged)
		}
		if change := step.Definition().changeFrom(started.Definition); change != "" {
			return fmt.Errorf("run %s: %s: %w", child, change, ErrChanged)
		}
		if was, is := started.Input.given(), in.given(); was != is {
			return fmt.Errorf("run %s: the log has a run of %s there that was given %s, the code now gives it %s; a step that is gone over again must do the same things in the same order: %w",
				child, e.Agent, shorten(was, 200), shorten(is, 200), ErrChanged)
		}
	}
	return nil
}

// endOf turns a recorded end of a nested run back into what the run returned, and
// counts what it spent.
func (r *Run) endOf(e *Event) (Handoff, error) {
	r.countBelow(e)
	switch b := e.Body.(type) {
	case *RunFinished:
		return b.Output.Clone(), nil
	case *RunFailed:
		return Handoff{}, &RunError{Agent: e.Agent, Run: e.Run, Task: b.Task, Spent: b.Spent.Add(b.SpentBelow), Err: errors.New(b.Error)}
	case *RunCancelled:
		if r.group.isStopped() {
			return Handoff{}, errNotNeeded
		}
		return Handoff{}, fmt.Errorf("run %s of %s: %w: %s", e.Run, e.Agent, ErrCancelled, b.Reason)
	}
	return Handoff{}, fmt.Errorf("run %s ended with %s", e.Run, e.Kind())
}

// countBelow counts what a nested run that ended on record has spent.
func (r *Run) countBelow(e *Event) {
	var own, below Spent
	switch b := e.Body.(type) {
	case *RunFinished:
		own, below = b.Spent, b.SpentBelow
	case *RunFailed:
		own, below = b.Spent, b.SpentBelow
	case *RunCancelled:
		own, below = b.Spent, b.SpentBelow
	}
	spent := own.Add(below)
	r.budget.addBelow(&spent)
}

// mayNest refuses what would nest without end, before any model is asked.
func (r *Run) mayNest(step Step) error {
	for l := r.chain; l != nil; l = l.outer {
		if l.step.Name() == step.Name() {
			return fmt.Errorf("%w: %s", ErrCircular, r.path(step))
		}
	}
	if limit := r.rules.Depth; limit > 0 && r.agentsAbove() > limit {
		return fmt.Errorf("%w: nested too deep (limit %d): %s", ErrCircular, limit, r.path(step))
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

// mayAct fails while the run waits for its branches: whoever uses it then has taken it for
// the one that the branch was given.
func (r *Run) mayAct() error {
	if atomic.LoadUint32(&r.branching) != 0 {
		return fmt.Errorf("%s: a branch of Run.All uses the Run that All was called on; it has one of its own, the second argument of its function", r.agent)
	}
	return nil
}

// next returns the id of the run's next step.
func (r *Run) next() journal.Path {
	r.count++
	return r.prefix.Step(r.count)
}

// peek returns what the log says of the step that next would return.
func (r *Run) peek() []*Event {
	if r.log == nil {
		return nil
	}
	return r.log.At(r.id, r.prefix.Step(r.count+1))
}

// isPast reports whether what the log has at the run's latest step ended the run, which is
// gone over again to get past that.
func (r *Run) isPast() bool {
	log, at := r.log, r.prefix.Step(r.count)
	if len(log.At(r.id, at)) == 0 {
		return false
	}
	end, ok := log.End(r.id)
	return log.Passed(r.id, at) || ok && isStop(end.Body)
}

func isStop(body Body) bool {
	switch body.(type) {
	case *RunFailed, *RunCancelled:
		return true
	}
	return false
}

// Limit says which limit of the run, or of one that it is nested in, leaves no room for
// another step: "turns", "tool_calls", "tokens", "cost" or "time", and as a rule none. A
// flow asks before each further step, and ends with what it has. What a log says was begun
// here before goes on, whatever the counters say now.
func (r *Run) Limit() string {
	at := r.prefix.Step(r.count + 1)
	if log := r.log; log != nil && (len(log.At(r.id, at)) > 0 || len(log.At(journal.Child(r.id, at), journal.Start)) > 0) {
		return ""
	}
	stop, _ := r.budget.reached()
	return stop
}

// Room fails where [Run.Limit] names a limit: for a step that is not to be begun then, and that ends
// its run with this error. Resumed with a higher limit, it is begun.
func (r *Run) Room() error {
	if stop := r.Limit(); stop != "" {
		return &room.Error{Limit: stop, Text: limitText(stop, r.budget)}
	}
	return nil
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
func (r *Run) recorded(step journal.Path, kind string) (*Event, error) {
	if r.log == nil {
		return nil, nil
	}
	e, err := recordedAt(r.log, r.id, step, kind)
	if e != nil {
		r.saw(e)
	}
	return e, err
}

func (r *Run) saw(e *Event) { r.now = latest(r.now, e.Time) }

// usualEvents is room for a run with one tool call.
const usualEvents = 8

// note makes an event of the run that the next flush stores.
func (r *Run) note(step journal.Path, body Body) {
	r.now = latest(r.now, time.Now().Round(0).UTC())
	if cap(r.noted) == 0 {
		r.noted = make([]Event, 0, usualEvents)
	}
	r.noted = append(r.noted, Event{
		Time: r.now, Session: r.exec.feed.session, Run: r.id, Parent: r.parent,
		Step: string(step), Agent: r.agent, Body: body,
	})
}

// flush stores what was noted and shows it to whoever ranges over the run. After
// it, the events are acknowledged.
func (r *Run) flush() error {
	if len(r.noted) == 0 {
		return nil
	}
	// The feed keeps the slice; what is left of its room is for the next events.
	batch := slices.Clip(r.noted)
	r.noted = r.noted[len(r.noted):]
	if err := r.exec.feed.publish(batch); err != nil {
		return err
	}
	r.front.show()
	return nil
}

// alive fails once the run was told to stop, and where nothing new is to be done.
func (r *Run) alive(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.over != nil && r.over.Load() {
		return errLeftBehind
	}
	if r.group.isStopped() {
		return errNotNeeded
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
