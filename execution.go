package troupe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"

	"github.com/troupe-dev/troupe/internal/sessionid"
)

// An execution is one run that a caller started, with all that is nested in it; or, where
// it has no step, nothing but the right to a session for a moment.
type execution struct {
	engine  *Engine
	session *session
	feed    *feed
	step    Step
	*work

	// base is done when the run is told to stop. It is kept because the last answer
	// may take longer than the time that the run's own context has.
	base   context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the session is free for another
	err    error
	// outcome, where set, is to hold what the run came to, and first is the event
	// before its own.
	outcome *Outcome
	first   int64

	// lease is the right to write to the session, and heeding the goroutine that does
	// what others ask of whoever has it.
	lease    Lease
	released atomic.Bool
	// ready is closed when it is known which request the run is of, if it is of one.
	ready      chan struct{}
	requestKey string
	request    keyed
	heeding    sync.WaitGroup

	mu   sync.Mutex
	left []leftTool
	root bool // the session's conversation is in use
	// asked is what steps handed back that ask the user, by the run around them: the first
	// of each.
	asked map[string]Handoff

	early earlyAnswers
}

// work is what there is to an execution that runs a step.
type work struct {
	started *RunStarted // what the caller asked for, as it is on record
	rules   Limits      // with the engine's where the caller set none
	hidden  bool        // what the run is given is not what a person said
	budget  budget
	edits   map[string]*SessionForked // what persons have put in place of what steps were given, by run
	passes  int                       // over the log, before this one
	before  map[string]Handoff        // what steps handed back in earlier runs
	run     Run
	chain   link   // its step is the one that is run
	reader  reader // of the one who ranges over the run
}

// newExecution returns an execution of a step, or of none.
func newExecution(e *Engine, s *session, step Step) *execution {
	done := make(chan struct{})
	if step == nil {
		return &execution{engine: e, session: s, feed: &s.feed, done: done}
	}
	whole := &struct {
		execution
		work
	}{
		execution{engine: e, session: s, feed: &s.feed, step: step, ready: make(chan struct{}), done: done},
		work{chain: link{step: step}},
	}
	whole.execution.work = &whole.work
	return &whole.execution
}

// inLoop says whether the run waits for the loop that ranges over it.
func (x *execution) inLoop() bool { return x.loopAt() != 0 }

// loopAt is which time it is that the run waits for the loop that ranges over it, 0 if it does
// not wait.
func (x *execution) loopAt() int64 {
	if x.work == nil {
		return 0
	}
	if n := x.reader.loop.Load(); n%2 == 1 {
		return n
	}
	return 0
}

// A leftTool did not end when its time was up.
type leftTool struct {
	name string
	done <-chan struct{}
}

// begin prepares a run of step in the input's session. Where the input's idempotency
// key is on record, it returns that run: as an execution if it has to go on, else as
// a handle of what it came to or is about to come to.
func (e *Engine) begin(ctx context.Context, step Step, input Input) (*execution, *Handle, error) {
	if isNil(step) {
		return nil, nil, errors.New("run: there is no step to run")
	}
	name := step.Name() // before there is anything to undo
	if input.Answer != nil {
		input.Text = orElse(input.Text, input.Answer.words())
		if err := input.Answer.check(input.Text); err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", name, err)
		}
	}
	if err := input.check(step); err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", name, err)
	}
	values, err := valuesAsJSON("value", input.Values)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", name, err)
	}
	in, err := Handoff{Task: input.Text, Parts: input.Parts, Custom: input.Custom}.asJSON()
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", name, err)
	}
	if input.Answer != nil && input.Session == "" {
		return nil, nil, fmt.Errorf("run %s: an answer without a session: %w", name, ErrNoQuestion)
	}
	id, fresh, err := sessionFor(step, &input)
	if err != nil {
		return nil, nil, err
	}
	x, err := e.enlist(ctx, step, id)
	if err != nil {
		return e.underWay(ctx, step, id, &input, err)
	}
	made := false
	defer x.comeToNothingUnless(&made)
	x.rules, x.hidden = input.Limits.with(e.limits), input.Hidden
	x.started = &RunStarted{Input: in, Limits: input.Limits, User: input.User, IdempotencyKey: input.IdempotencyKey, Values: values}
	if e.tracing != nil {
		x.started.Trace = e.tracing.Parent(ctx)
	}
	x.begin(newRunID(), name)
	if fresh {
		x.session.found(input.User)
	} else if known, err := x.join(ctx, input); err != nil || known != nil {
		return nil, known, err
	}
	x.isReady(&input)
	made = true
	return x, nil, nil
}

// check refuses what no provider takes: a message that says nothing, a part with nothing in it.
func (i *Input) check(step Step) error {
	if isAgent(step) && strings.TrimSpace(i.Text) == "" && len(i.Parts) == 0 && len(i.Custom) == 0 {
		return errors.New("the input says nothing: set Text or Parts")
	}
	for n, part := range i.Parts {
		if len(part.Data) == 0 && part.URL == "" {
			return fmt.Errorf("part %d of the input (%s) has neither Data nor a URL", n+1, orElse(part.Name, part.MIME))
		}
	}
	return nil
}

// sessionFor returns the session that an input belongs in. One that is new is fresh,
// unless the request has a key: whoever sends it again finds the session by it.
func sessionFor(step Step, input *Input) (id string, fresh bool, err error) {
	switch {
	case input.Session == "" && input.IdempotencyKey != "":
		return derivedID("request of "+strconv.Quote(input.User)+" to "+strconv.Quote(step.Name()), input.IdempotencyKey), false, nil
	case input.Session == "":
		return newSessionID(), true, nil
	case !sessionid.Is(input.Session):
		return "", false, fmt.Errorf("session %.64q: an id is a UUID in lower case", input.Session)
	}
	return input.Session, false, nil
}

// begin makes the run that the caller started.
func (x *execution) begin(id, agent string) {
	x.budget.limits = x.rules
	x.run = Run{exec: x, id: id, agent: agent, chain: &x.chain, budget: &x.budget, rules: &x.rules}
}

// join has the run go on with the session that the input names. Where the input is a
// request that is on record and has come to something, it returns that.
func (x *execution) join(ctx context.Context, input Input) (*Handle, error) {
	past, err := x.session.load(ctx, true)
	switch {
	case errors.Is(err, ErrNotFound) && input.Answer != nil:
		return nil, fmt.Errorf("session %s: %w", x.feed.session, ErrNoQuestion)
	case errors.Is(err, ErrNotFound):
		x.session.found(input.User)
		return nil, nil
	case err != nil:
		return nil, err
	case input.User != "" && input.User != x.session.owner:
		return nil, fmt.Errorf("session %s: %w", x.feed.session, ErrNotFound)
	}
	if known, ok := x.session.keys[input.IdempotencyKey]; ok {
		return x.repeat(past, known, &input)
	}
	x.before = x.session.outputs
	x.session.talks.begin()
	switch {
	case past.open() && input.Question != "":
		return nil, x.answerLeft(past, input.Question, input.said())
	case past.open() && input.Answer == nil:
		return nil, x.session.abandon(past)
	case past.waits && past.start.Agent == x.step.Name():
		return nil, x.answer(past, input.Question, input.said())
	case input.Answer != nil || input.Question != "":
		return nil, fmt.Errorf("session %s: %w", x.feed.session, ErrNoQuestion)
	}
	return nil, nil
}

// said is the input as an answer to what was asked.
func (i *Input) said() *UserSaid {
	return &UserSaid{Text: i.Text, Parts: i.Parts, Answer: i.Answer, Hidden: i.Hidden, IdempotencyKey: i.IdempotencyKey}
}

// words is how a decision reads.
func (a *Answer) words() string {
	switch {
	case a.Text != "":
		return a.Text
	case a.Denied:
		return "no"
	case a.Approved:
		return "yes"
	}
	return ""
}

// check refuses an answer that says nothing, or both yes and no.
func (a *Answer) check(words string) error {
	switch {
	case a.Approved && a.Denied:
		return errors.New("an answer cannot be both approved and denied")
	case !a.Approved && !a.Denied && strings.TrimSpace(words) == "":
		return errors.New("the answer says nothing: set Approved, Denied or Text")
	}
	return nil
}

// noteAsked takes note of what a step in a run handed back, if that asks something.
func (x *execution) noteAsked(run string, out *Handoff) {
	if out.Meta.Asked == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked == nil {
		x.asked = map[string]Handoff{}
	}
	if _, ok := x.asked[run]; !ok {
		x.asked[run] = *out
	}
}

// askedIn returns what a step in a run handed back that asks the user something.
func (x *execution) askedIn(run string) (Handoff, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	question, ok := x.asked[run]
	return question.Clone(), ok
}

// forgetAsked forgets what steps in a run, and in those nested in it, have asked: it is gone over
// once more.
func (x *execution) forgetAsked(run string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.asked, func(around string, _ Handoff) bool { return journal.Belongs(around, run) })
}

// found begins a session that the store does not know yet.
func (s *session) found(owner string) {
	s.talks, s.owner = newConversations(), owner
	s.loaded.Store(true)
}

// watch executes the run in the goroutine of whoever ranges over it, and yields its
// events as they come. It returns when the run has ended.
func (x *execution) watch(yield func(Event, error) bool) {
	// What it came to is said when the run is over and the session free: who hears it may
	// close the engine, or go on with the session.
	if err := x.show(yield); err != nil {
		yield(Event{}, err)
	}
}

// show is watch without the error, which it returns, if whoever ranges over the run is still
// there to hear it.
func (x *execution) show(yield func(Event, error) bool) error {
	r := &x.reader
	x.feed.follow(r, x.feed.last())
	r.yield, r.leave = yield, func() { x.cancel(errReaderLeft) }
	x.run.front = r
	defer x.release()
	defer r.unfollow()
	defer x.cancel(errReaderLeft)
	x.execute()
	r.show()
	if r.crash != nil {
		panic(r.crash.value)
	}
	if r.left {
		return nil
	}
	return x.err
}

// execute runs the step to its end.
func (x *execution) execute() {
	x.heeding.Go(x.heed)
	var out Handoff
	x.err = x.pass(&out)
	for x.err == errAnswered {
		if x.err = x.goOverAgain(); x.err == nil {
			x.err = x.pass(&out)
		}
	}
	x.settle(&out)
	x.awaitLeft()
	x.cancel(nil)
}

// pass runs the step over what is on record of it.
func (x *execution) pass(out *Handoff) error {
	ctx := x.base
	x.run.grace = x.base
	x.budget.started = time.Now()
	if limit := x.rules.Time; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = x.run.limitTime(ctx, limit, "")
		defer cancel()
	}
	return x.run.perform(ctx, x.chain.step, &x.started.Input, out)
}

// settle takes into account what the run came to.
func (x *execution) settle(out *Handoff) {
	if x.outcome != nil {
		own, below := x.budget.spent()
		*x.outcome = Outcome{
			Session: x.feed.session, Run: x.run.id, Text: out.Summary, Stop: out.Meta.Stop, Handoff: *out, Spent: own.Add(below),
		}
		if x.err == nil {
			x.outcome.Stop = orElse(x.outcome.Stop, stopAnswered)
		}
	}
	if x.err != nil || !x.root || out.Meta.Stop == stopInput || x.early.hadAny() {
		x.session.talks = nil // the log knows better what is left of it
	}
}

// event makes an event about the run that is not an effect of its steps.
func (x *execution) event(body Body) Event {
	return Event{
		Time: time.Now().Round(0).UTC(), Session: x.feed.session, Run: x.run.id,
		Step: string(journal.Start), Agent: x.run.agent, Body: body,
	}
}

// stop tells the run to stop and waits until it has. It does not wait where the run
// itself is waiting for the loop that ranges over it, which may be where stop is
// called from.
func (x *execution) stop(ctx context.Context, cause error) error {
	x.cancel(cause)
	if x.inLoop() {
		return nil
	}
	select {
	case <-x.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// cancelled reports whether the run was told to stop.
func (x *execution) cancelled() bool { return x.base.Err() != nil }

// leave remembers a tool that did not end when its time was up.
func (x *execution) leave(name string, done <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.left = append(x.left, leftTool{name, done})
}

// reportLeft warns of tools that are still running when the run ends.
func (x *execution) reportLeft(r *Run) {
	var names []string
	for _, t := range x.left {
		if !waitFor(t.done, leftGrace) {
			names = append(names, t.name)
		}
	}
	if len(names) > 0 {
		r.noted = append(r.noted, x.event(&Warned{Code: "tool_left_running", Message: "did not stop when told to and may still be running: " + strings.Join(names, ", ")}))
	}
}

// leftGrace is how long a tool that was told to stop may take to do so.
const leftGrace = 50 * time.Millisecond

// awaitLeft gives such tools a last chance to end.
func (x *execution) awaitLeft() {
	deadline := time.Now().Add(toolGrace)
	for _, t := range x.left {
		waitFor(t.done, time.Until(deadline))
	}
}
