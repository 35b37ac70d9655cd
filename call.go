package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// callAll carries out the calls that a model asked for, concurrently, and returns
// them settled, in the order asked. What fails is an outcome too; the error is
// that of a run which cannot go on.
func (r *Run) callAll(ctx context.Context, agent *Agent, calls []ToolCall, habits *habits) ([]toolRun, error) {
	turn := r.next()
	runs := make([]toolRun, len(calls))
	records := make([]callRecord, len(calls))
	open := false
	for i := range calls {
		if err := r.prepare(&runs[i], &records[i], agent, &calls[i], habits, turn+"/"+strconv.Itoa(i)); err != nil {
			return nil, err
		}
		open = open || !runs[i].settled.Load()
	}
	if err := r.alive(ctx); err != nil && open {
		return nil, err
	}
	// Intent before effect: the calls are on record before any tool runs.
	if err := r.flush(); err != nil {
		return nil, err
	}
	failpoint.Here(failpoint.CallsRecorded)
	times := r.allot(ctx, runs)
	defer times.cancel()
	for i := range runs {
		if !runs[i].settled.Load() {
			runs[i].start(ctx)
		}
	}
	var failure error
	for i := range runs {
		if runs[i].done != nil {
			failure = errors.Join(failure, runs[i].wait(ctx, r))
		}
	}
	return runs, failure
}

// prepare settles a call at once where that can be done: from the log, or because
// it may not be carried out. Else it makes t ready to be started.
func (r *Run) prepare(t *toolRun, record *callRecord, agent *Agent, call *ToolCall, habits *habits, at string) error {
	past, err := r.pastCall(at)
	if err != nil {
		return err
	}
	r.exec.budget.toolCalls.Add(1)
	if past.returned != nil {
		t.outcome = past.returned
		t.settled.Store(true)
		return nil
	}
	t.at, t.outcome = at, &record.returned
	t.outcome.CallID, t.outcome.Tool = call.ID, call.Name
	switch {
	case past.state != "" && r.exec.journal.passed(r.id, at):
		// The run was stopped here, and went on without the outcome.
		t.outcome.Class, t.outcome.Content = ClassInterrupted, noResult
		t.settled.Store(true)
		return nil
	case past.state == KindInputRequested:
		t.question = past.question
		t.settled.Store(true)
		return nil
	}
	var changed []Change
	t.attempt, changed = habits.attempt(call)
	if past.state != KindToolCalled {
		record.called = ToolCalled{CallID: call.ID, Tool: call.Name, Arguments: Arguments(call.Arguments), Attempt: t.attempt, Changed: changed}
		r.note(at, &record.called)
	}
	arguments := argumentsOf(call)
	index, refusal := r.admit(agent, call, arguments, habits)
	if refusal == nil && past.state == KindToolCalled && !agent.kit().specs[index].RepeatSafe {
		refusal = &ToolError{Class: ClassInterrupted, Message: "the call was interrupted and its outcome is unknown; it was not repeated. Find out whether it took effect before you call it again"}
	}
	if refusal != nil {
		t.settled.Store(true)
		t.outcome.settle(Result{}, refusal, t.attempt, r.exec.budget.limits.Attempts)
		r.note(at, t.outcome)
		return nil
	}
	set := agent.kit()
	t.tool, t.spec = set.tools[index], &set.specs[index]
	t.branch = r.branch(at)
	t.branch.noted, t.branch.over = t.room[:0], &t.settled
	t.in = Invocation{ID: call.ID, Arguments: arguments, Run: &t.branch, Answer: past.answer}
	return nil
}

// A callLog is what the log says of a call.
type callLog struct {
	// state is the latest kind of event: called, asked, answered or returned.
	state    Kind
	question string
	answer   string
	returned *ToolReturned
}

func (r *Run) pastCall(at string) (past callLog, err error) {
	if r.exec.journal == nil {
		return past, nil
	}
	for _, e := range r.exec.journal.at(r.id, at) {
		switch b := e.Body.(type) {
		case *ToolCalled:
		case *InputRequested:
			past.question = b.Question
		case *UserSaid:
			past.answer = orElse(b.Text, past.answer)
		case *ToolReturned:
			past.returned = b
		case *Warned: // said while the call was being carried out
			continue
		default:
			return past, fmt.Errorf("run %s step %s: the log has %s, the code now wants %s: %w", r.id, at, e.Kind(), KindToolCalled, ErrChanged)
		}
		r.saw(e)
		past.state = e.Kind()
	}
	return past, nil
}

// argumentsOf returns the call's arguments; models leave them out where there are
// none to give.
func argumentsOf(call *ToolCall) json.RawMessage {
	if strings.TrimSpace(call.Arguments) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(call.Arguments)
}

// admit says which tool a call is for, or why it may not be carried out.
func (r *Run) admit(agent *Agent, call *ToolCall, arguments []byte, habits *habits) (int, *ToolError) {
	set := agent.kit()
	index := set.index(call.Name)
	switch {
	case index < 0 && agent.withholds(call.Name):
		return 0, &ToolError{Class: ClassUnauthorized, Message: fmt.Sprintf("you may not use the tool %s; you may use: %s", call.Name, set.list())}
	case index < 0:
		return 0, &ToolError{Class: ClassNotFound, Message: fmt.Sprintf("there is no tool %s; there are: %s", call.Name, set.list())}
	case habits.givenUp(call.Name):
		return 0, &ToolError{Class: ClassUnauthorized, Message: fmt.Sprintf("the tool %s is closed for the rest of this run, because %d attempts in a row failed; go on without it", call.Name, r.exec.budget.limits.Attempts)}
	}
	if limit := r.exec.budget.limits.ToolCalls; limit > 0 && r.exec.budget.toolCalls.Load() > int64(limit) {
		return 0, &ToolError{Class: ClassUnauthorized, Message: fmt.Sprintf("not carried out: the run's %d tool calls are used up", limit)}
	}
	if err := set.specs[index].check.Check(arguments); err != nil {
		return 0, &ToolError{Class: ClassInvalidArguments, Message: err.Error()}
	}
	return index, nil
}

// A callRecord is what the log keeps of a call.
type callRecord struct {
	called   ToolCalled
	returned ToolReturned
}

// A toolRun is one call under way.
type toolRun struct {
	tool    Tool
	spec    *ToolSpec
	at      string
	attempt int
	in      Invocation
	branch  Run
	room    [1]Event // for what the branch notes

	ctx     context.Context // done when the call's time is up
	limit   time.Duration
	began   time.Time
	done    chan struct{}
	settled atomic.Bool // whoever sets it writes what follows
	outcome *ToolReturned
	// question is what the call waits for an answer to; then it has no outcome.
	question string
	failure  error
}

// allot gives every call that is to be started its time. Calls of one turn that
// have the same time share a context: they start together.
func (r *Run) allot(ctx context.Context, runs []toolRun) contexts {
	var times contexts
	for i := range runs {
		t := &runs[i]
		if t.settled.Load() {
			continue
		}
		t.limit = orElse(t.spec.Timeout, r.exec.budget.limits.ToolTimeout)
		for j := range i {
			if runs[j].ctx != nil && runs[j].limit == t.limit {
				t.ctx = runs[j].ctx
			}
		}
		if t.ctx != nil {
			continue
		}
		var cancel context.CancelFunc
		if t.limit > 0 {
			t.ctx, cancel = context.WithTimeout(ctx, t.limit)
		} else {
			t.ctx, cancel = context.WithCancel(ctx)
		}
		times = append(times, cancel)
	}
	return times
}

// contexts are to be cancelled together.
type contexts []context.CancelFunc

func (c contexts) cancel() {
	for _, cancel := range c {
		cancel()
	}
}

func (t *toolRun) start(ctx context.Context) {
	t.began = time.Now()
	t.done = make(chan struct{})
	go t.execute(ctx)
}

// execute calls the tool and settles the call, unless its time was up before.
func (t *toolRun) execute(ctx context.Context) {
	defer close(t.done)
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover() // nil if the tool ended its goroutine
		t.settle(&t.branch, Result{}, &ToolError{Class: ClassPanicked, Message: fmt.Sprintf("the tool crashed: %v", value)}, string(debug.Stack()))
	}()
	if t.in.Answer != "" {
		failpoint.Here(failpoint.AnswerRecorded)
	}
	result, err := t.tool.Call(t.ctx, &t.in)
	failpoint.Here(failpoint.ToolReturned)
	returned = true
	if err != nil && t.ctx.Err() != nil {
		if ctx.Err() != nil {
			t.settled.Store(true) // the run was stopped: the outcome is unknown
			return
		}
		err = t.timedOut()
	}
	t.settle(&t.branch, result, err, "")
}

func (t *toolRun) timedOut() error {
	return &ToolError{Class: ClassTimeout, Message: fmt.Sprintf("no answer within %s", t.limit)}
}

// settle decides the outcome, once, and has r record it. It reports whether it
// was the one to do so.
func (t *toolRun) settle(r *Run, result Result, err error, stack string) bool {
	if !t.settled.CompareAndSwap(false, true) {
		return false
	}
	if asks, ok := errors.AsType[*InputNeeded](err); ok && asks.Again {
		t.question = orElse(asks.Question, "The tool "+t.spec.Name+" needs an answer.")
		r.note(t.at, &InputRequested{Question: t.question, CallID: t.in.ID, Tool: t.spec.Name, Arguments: Arguments(t.in.Arguments)})
		t.failure = r.flush()
		return true
	}
	t.outcome.Duration = Millis(time.Since(t.began))
	t.outcome.Stack = stack
	t.outcome.settle(result, err, t.attempt, r.exec.budget.limits.Attempts)
	r.note(t.at, t.outcome)
	t.failure = r.flush()
	return true
}

// wait returns when the call is settled. A tool that does not heed its context is
// left behind: its time is up all the same.
func (t *toolRun) wait(ctx context.Context, r *Run) error {
	left := false
	select {
	case <-t.done:
	case <-t.ctx.Done():
		left = t.abandon(ctx, r)
	}
	if left {
		r.exec.leave(t.spec.Name, t.done)
	} else {
		<-t.done
		r.now = latest(r.now, t.branch.now)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.failure
}

// abandon settles a call without its tool, and reports false where the tool was
// just in time to do so itself. What the tool still does with its Run then comes
// to nothing.
func (t *toolRun) abandon(ctx context.Context, r *Run) bool {
	if t.settled.Load() {
		return false
	}
	if ctx.Err() == nil {
		return t.settle(r, Result{}, t.timedOut(), "")
	}
	// The run was stopped: a tool that heeds its context may still say how it went.
	return !waitFor(t.done, toolGrace) && t.settled.CompareAndSwap(false, true)
}

func waitFor(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// settle turns what a tool returned into what the model is told.
func (o *ToolReturned) settle(result Result, err error, attempt, attempts int) {
	if asks, ok := errors.AsType[*InputNeeded](err); ok {
		result.Content = "The user was asked: " + asks.Question + "\nThe answer comes with the next message."
		o.Asks = asks.Question
		err = nil
	}
	if over, ok := errors.AsType[*turnOver](err); ok {
		result.Content, o.HandsTo, err = over.text, over.to, nil
	}
	if err == nil {
		o.Size = len(result.Content)
		o.Content = presentable(result.Content)
		return
	}
	o.Class, o.Error = ClassFailed, clip(strings.ToValidUTF8(err.Error(), "�"), maxErrorText)
	content := ""
	if failure, ok := errors.AsType[*ToolError](err); ok {
		if failure.Class != "" {
			o.Class = failure.Class
		}
		content = failure.Content
	}
	if content == "" {
		content = failureText(o, attempt, attempts)
	}
	o.Size = len(content)
	o.Content = presentable(content)
}

// failureText tells the model what went wrong and what it can still do about it.
func failureText(o *ToolReturned, attempt, attempts int) string {
	told := struct {
		Success bool   `json:"success"`
		Class   Class  `json:"class"`
		Error   string `json:"error"`
		Attempt int    `json:"attempt"`
		Left    int    `json:"attempts_left"`
		Advice  string `json:"advice,omitempty"`
	}{Class: o.Class, Error: o.Error, Attempt: attempt, Left: max(attempts-attempt, 0)}
	if attempts > 0 && attempt >= attempts {
		told.Advice = "Do not call " + o.Tool + " again in this run. Go on without it, and say what you could not do."
	}
	text, err := encodeJSON(told)
	if err != nil {
		return o.Error
	}
	return string(text)
}

// presentable caps a result and repairs its encoding, saying so.
func presentable(content string) string {
	repaired := false
	if !utf8.ValidString(content) {
		content, repaired = strings.ToValidUTF8(content, "�"), true
	}
	if size := len(content); size > maxResult {
		content = clip(content, maxResult) + fmt.Sprintf("\n[cut here: %d of %d bytes shown]", maxResult, size)
	}
	if repaired {
		content += "\n[some bytes were not UTF-8 and are shown as �]"
	}
	return content
}
