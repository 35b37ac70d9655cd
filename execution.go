package troupe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// An execution is one run that a caller started, with all that is nested in it.
type execution struct {
	engine  *Engine
	session *session
	feed    *feed
	step    Step
	in      Handoff
	asked   Limits // what the caller set, for the record
	user    string
	key     string
	budget  budget
	journal *journal
	run     Run
	chain   link
	reader  reader // of the one who ranges over the run

	// base is done when the run is told to stop. It is kept because the last answer
	// may take longer than the time that the run's own context has.
	base   context.Context
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when the run has ended
	done   chan struct{} // closed when the session is free for another
	err    error

	mu   sync.Mutex
	left []leftTool
	root bool // the session's conversation is in use
}

// A leftTool did not end when its time was up.
type leftTool struct {
	name string
	done <-chan struct{}
}

// begin prepares a run of step in the input's session.
func (e *Engine) begin(ctx context.Context, step Step, input Input) (*execution, error) {
	if step == nil {
		return nil, errors.New("run: there is no step to run")
	}
	id, fresh := input.Session, false
	if id == "" {
		id, fresh = newSessionID(), true
	} else if !IsSessionID(id) {
		return nil, fmt.Errorf("session %.64q: an id is a UUID in lower case", id)
	}
	x, err := e.enlist(ctx, step, id)
	if err != nil {
		return nil, err
	}
	x.asked = input.Limits
	x.budget.limits = input.Limits.with(e.limits)
	x.in = Handoff{Task: input.Text, Parts: input.Parts, Custom: input.Custom}
	x.run = Run{exec: x, id: newRunID(), agent: step.Name(), chain: &x.chain}
	x.user, x.key = input.User, input.Key
	if fresh {
		x.session.found(input.User)
		return x, nil
	}
	past, err := x.session.load(ctx, true)
	switch {
	case errors.Is(err, ErrNotFound):
		x.session.found(input.User)
		err = nil
	case err == nil && input.User != "" && input.User != x.session.owner:
		err = fmt.Errorf("session %s: %w", id, ErrNotFound)
	case err == nil && past.open():
		err = x.session.abandon(past)
	case err == nil && past.waits && past.start.Agent == step.Name():
		x.answer(past, &UserSaid{Text: input.Text, Parts: input.Parts})
	}
	if err != nil {
		x.withdraw()
		return nil, err
	}
	return x, nil
}

// found begins a session that the store does not know yet.
func (s *session) found(owner string) {
	s.talk, s.owner = newHistory(), owner
	s.loaded.Store(true)
}

// answer makes what the user says the answer to a question of the session's latest
// run, which then goes on. An agent that the user talks to gets answers as it gets
// any message, in a run of their own, unless a call waits for them.
func (x *execution) answer(past *past, said *UserSaid) {
	question := newJournal(past.events).question(past.asked)
	if question == nil {
		return
	}
	asked := question.Body.(*InputRequested)
	answer := *question
	answer.Seq, answer.Time, answer.Body = 0, time.Now().Round(0).UTC(), said
	if isCall(question.Step) {
		said.CallID = asked.CallID
	} else if question.Parent == "" {
		return
	} else {
		answer.Step = stepAfter(question.Step)
	}
	x.goOver(past)
	x.journal.add(&answer)
	x.run.noted = append(x.run.noted, answer)
}

// beginAgain prepares another pass over a session's latest run.
func (e *Engine) beginAgain(ctx context.Context, step Step, id string) (*execution, error) {
	if step == nil {
		return nil, errors.New("resume: there is no step to run")
	}
	x, err := e.enlist(ctx, step, id)
	if err != nil {
		return nil, err
	}
	if err := x.recall(ctx); err != nil {
		x.withdraw()
		return nil, err
	}
	return x, nil
}

// enlist makes an execution the session's active one.
func (e *Engine) enlist(ctx context.Context, step Step, id string) (*execution, error) {
	s, err := e.join(id)
	if err != nil {
		return nil, err
	}
	x := &execution{engine: e, session: s, feed: &s.feed, step: step, chain: link{step: step}, over: make(chan struct{}), done: make(chan struct{})}
	e.mu.Lock()
	busy, closed := s.active != nil, e.closed
	if !busy && !closed {
		s.active = x
		x.base, x.cancel = context.WithCancelCause(ctx)
	}
	e.mu.Unlock()
	if busy || closed {
		e.leave(s)
		if closed {
			return nil, ErrClosed
		}
		return nil, fmt.Errorf("session %s: %w", id, ErrBusy)
	}
	return x, nil
}

// recall reads the log of the session's latest run.
func (x *execution) recall(ctx context.Context) error {
	x.session.talk = nil
	past, err := x.session.load(ctx, true)
	if err != nil {
		return err
	}
	start := past.start
	switch {
	case start == nil || past.finished:
		return fmt.Errorf("session %s: %w", x.feed.session, ErrNothingToResume)
	case start.Agent != x.step.Name():
		return fmt.Errorf("session %s: its run is of %s, not of %s: %w", x.feed.session, start.Agent, x.step.Name(), ErrChanged)
	}
	x.goOver(past)
	x.run.noted = append(x.run.noted, x.event(&Warned{Code: codeResumed, Message: "the run goes on where its log ends"}))
	return nil
}

// goOver makes the execution another pass over a log.
func (x *execution) goOver(past *past) {
	started := past.start.Body.(*RunStarted)
	x.in, x.asked = started.Input, started.Limits
	x.budget.limits = started.Limits.with(x.engine.limits)
	x.budget.before = past.elapsed
	x.journal = newJournal(past.events)
	x.session.talk = past.before
	x.run = Run{exec: x, id: past.start.Run, agent: past.start.Agent, chain: &x.chain}
}

// withdraw undoes enlist for a run that did not come to be.
func (x *execution) withdraw() {
	x.cancel(nil)
	x.release()
}

// release lets the session have another run.
func (x *execution) release() {
	x.feed.rest()
	x.engine.mu.Lock()
	x.session.active = nil
	x.engine.mu.Unlock()
	x.engine.leave(x.session)
	close(x.done)
}

// watch executes the run and yields its events. It returns when the run has ended.
func (x *execution) watch(yield func(Event, error) bool) {
	r := &x.reader
	x.feed.follow(r, x.feed.last())
	defer x.release()
	defer r.unfollow()
	go x.execute()
	defer func() {
		x.cancel(errReaderLeft)
		<-x.over
	}()
	for over := false; !over; {
		select {
		case <-r.signal:
		case <-x.over:
			over = true
		}
		// The last events are read even if the run was told to stop.
		if !r.pass(context.Background(), yield) {
			return
		}
	}
	if x.err != nil {
		yield(Event{}, x.err)
	}
}

// execute runs the step to its end.
func (x *execution) execute() {
	defer close(x.over)
	ctx := x.base
	x.budget.started = time.Now()
	if limit := x.budget.limits.Time; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit-x.budget.before, errTimeUp)
		defer cancel()
	}
	out, err := x.run.perform(ctx, x.step, x.in)
	x.err = err
	if err != nil || !x.root || out.Meta.Stop == StopInput {
		x.session.talk = nil // the log knows better what is left of it
	}
	x.awaitLeft()
	x.cancel(nil)
}

// codeResumed marks where another pass over a run's log began.
const codeResumed = "resumed"

// event makes an event about the run that is not an effect of its steps.
func (x *execution) event(body Body) Event {
	return Event{
		Time: time.Now().Round(0).UTC(), Session: x.feed.session, Run: x.run.id,
		Step: startStep, Agent: x.run.agent, Body: body,
	}
}

// stop tells the run to stop and waits until it has.
func (x *execution) stop(ctx context.Context, cause error) error {
	x.cancel(cause)
	select {
	case <-x.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// cancelled reports whether the run was told to stop.
func (x *execution) cancelled() bool { return x.base.Err() != nil }

// extend returns a context for what the run may do after its time is up.
func (x *execution) extend(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(x.base, d, errTimeUp)
}

// conversation is the session's, for the agent that the caller talks to.
func (x *execution) conversation() *history {
	x.root = true
	return x.session.talk
}

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
