package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/answer"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/journal"
)

// callAll carries out the calls that a model asked for and returns them settled, in
// the order asked. Calls that only read run at the same time; any other waits for
// those before it and is waited for by those after it. What fails is an outcome too;
// the error is that of a run which cannot go on. A call that asks the user first ends
// it: what comes after is not begun.
func (r *Run) callAll(ctx context.Context, agent *Agent, calls []ToolCall, habits *habits) ([]toolRun, error) {
	turn := r.next()
	runs := make([]toolRun, len(calls))
	records := make([]callRecord, len(calls))
	for i := 0; i < len(calls); {
		first := i
		for i < len(calls) && (i == first || agent.onlyReads(calls[first].Name) && agent.onlyReads(calls[i].Name)) {
			if err := r.prepare(&runs[i], &records[i], agent, &calls[i], habits, turn.Branch(i)); err != nil {
				return nil, err
			}
			i++
		}
		if err := r.carryOut(ctx, runs[first:i]); err != nil {
			return nil, err
		}
		for j := first; j < i; j++ {
			if runs[j].question != "" {
				return runs[:i], nil
			}
		}
	}
	return runs, nil
}

// carryOut runs the calls that are not settled, at the same time.
func (r *Run) carryOut(ctx context.Context, runs []toolRun) error {
	open := 0
	for i := range runs {
		if !runs[i].settled.Load() {
			open++
		}
	}
	if open == 0 {
		return nil
	}
	if err := r.alive(ctx); err != nil {
		return err
	}
	// Intent before effect: the calls are on record before any tool runs.
	if err := r.flush(); err != nil {
		return err
	}
	failpoint.Here(failpoint.CallsRecorded)
	if err := r.alive(ctx); err != nil {
		return err // whoever reads the run left at the sight of the call
	}
	times := r.allot(ctx, runs)
	defer times.cancel()
	var room []Event // for what each call notes when it is settled
	if open > 1 {
		room = make([]Event, len(runs))
	}
	for i := range runs {
		if t := &runs[i]; !t.settled.Load() {
			if t.alone = open == 1; !t.alone {
				t.branch.noted = room[i : i : i+1]
			}
			t.start(ctx)
		}
	}
	var failure error
	for i := range runs {
		if runs[i].done != nil {
			failure = errors.Join(failure, runs[i].wait(ctx, r))
		}
	}
	return failure
}

// prepare settles a call at once where that can be done: from the log, or because
// it may not be carried out. Else it makes t ready to be started.
func (r *Run) prepare(t *toolRun, record *callRecord, agent *Agent, call *ToolCall, habits *habits, at journal.Path) error {
	past, err := r.pastCall(at, call.Name)
	if err != nil {
		return err
	}
	r.budget.add(&Spent{ToolCalls: 1})
	t.at = at
	if past.returned != nil {
		t.outcome = past.returned
		t.settled.Store(true)
		for _, nested := range r.exec.journal.Within(r.id, at) {
			if end, ok := r.exec.journal.End(nested); ok {
				r.countBelow(end)
			}
		}
		return nil
	}
	t.outcome = &record.returned
	t.outcome.CallID, t.outcome.Tool = call.ID, call.Name
	switch {
	case past.state != "" && r.exec.journal.Passed(r.id, at):
		// The run was stopped here, and went on without the outcome.
		t.outcome.Class, t.outcome.Content = classInterrupted, noResult
		t.settled.Store(true)
		return nil
	case past.state == "input_requested":
		t.question = past.question
		t.settled.Store(true)
		return nil
	}
	t.attempt = habits.attempt(call.Name)
	if past.state != "tool_called" {
		record.called = ToolCalled{
			CallID: call.ID, Tool: call.Name, Arguments: Arguments(call.Arguments), Attempt: t.attempt, Changed: habits.changed(call),
		}
		r.note(at, &record.called)
	}
	tool, spec, arguments, refusal := r.admit(agent, call)
	if refusal == nil && past.state == "tool_called" && !spec.RepeatSafe {
		refusal = &ToolError{Class: classInterrupted, Message: "the call was interrupted and its outcome is unknown; it was not repeated. Find out whether it took effect before you call it again"}
	}
	if refusal != nil {
		t.settled.Store(true)
		t.outcome.settle(Result{}, refusal, t.attempt, r.rules.Attempts)
		r.note(at, t.outcome)
		return nil
	}
	t.tool, t.spec, t.callID = tool, spec, call.ID
	t.branch = r.branch(at)
	t.branch.over = &t.settled
	t.in = Invocation{
		ID: derivedID(r.exec.feed.session+" "+r.id, string(at)), Arguments: arguments, Run: &t.branch,
		User: r.exec.user, Values: r.exec.values, Answers: past.answers,
	}
	return nil
}

// A callLog is what the log says of a call.
type callLog struct {
	// state is the latest kind of event: called, asked, answered or returned.
	state    string
	question string
	answers  []Answer
	returned *ToolReturned
}

func (r *Run) pastCall(at journal.Path, tool string) (past callLog, err error) {
	for _, e := range r.exec.journal.At(r.id, at) {
		switch b := e.Body.(type) {
		case *ToolCalled:
			if b.Tool != tool {
				return past, fmt.Errorf("run %s step %s: the log has a call of %s there, the code now calls %s: %w", r.id, at, b.Tool, tool, ErrChanged)
			}
		case *InputRequested:
			past.question = b.Question
		case *UserSaid:
			if b.Answer != nil {
				past.answers = append(past.answers, *b.Answer)
			} else if b.Text != "" {
				past.answers = append(past.answers, Answer{Text: b.Text})
			}
		case *ToolReturned:
			past.returned = b
		case *Warned: // said while the call was being carried out
			continue
		default:
			return past, fmt.Errorf("run %s step %s: the log has %s, the code now wants tool_called: %w", r.id, at, e.Kind(), ErrChanged)
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

// admit says which tool a call is for, and with what arguments, or why it may not be
// carried out. What is checked is what the tool itself says at this time.
func (r *Run) admit(agent *Agent, call *ToolCall) (Tool, *ToolSpec, json.RawMessage, *ToolError) {
	set := agent.toolSet()
	index := set.index(call.Name)
	switch {
	case index < 0 && agent.withholds(call.Name):
		return nil, nil, nil, &ToolError{Class: classUnauthorized, Message: fmt.Sprintf("you may not use the tool %s; you may use: %s", call.Name, set.list())}
	case index < 0:
		return nil, nil, nil, &ToolError{Class: classNotFound, Message: fmt.Sprintf("there is no tool %s; there are: %s", call.Name, set.list())}
	}
	for b := r.budget; b != nil; b = b.outer {
		if limit := b.limits.ToolCalls; limit > 0 && b.toolCalls() > int64(limit) {
			return nil, nil, nil, &ToolError{Class: classUnauthorized, Message: fmt.Sprintf("not carried out: the run's %d tool calls are used up", limit)}
		}
	}
	spec, err := set.spec(index)
	if err != nil {
		return nil, nil, nil, &ToolError{Class: classFailed, Message: err.Error()}
	}
	arguments := argumentsOf(call)
	if err := spec.check.Check(arguments); err != nil {
		meant, ok := answer.Meant(arguments, spec.check)
		if !ok {
			return nil, nil, nil, &ToolError{Class: classInvalidArguments, Message: err.Error()}
		}
		arguments = meant
	}
	return set.tools[index], spec, arguments, nil
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
	at      journal.Path
	callID  string
	attempt int
	alone   bool // no other call is under way at the same time
	in      Invocation
	branch  Run

	ctx     context.Context // done when the call's time is up
	limit   time.Duration
	began   time.Time
	done    chan struct{}
	settled atomic.Bool // whoever sets it writes what follows
	outcome *ToolReturned
	// question is what the call waits for an answer to; then it has no outcome.
	question string
	// settledAs is what is to be noted of a call that was alone.
	settledAs Body
	failure   error
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
		t.limit = orElse(t.spec.Timeout, r.rules.ToolTimeout)
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
		t.settle(&t.branch, Result{}, &ToolError{Class: classPanicked, Message: fmt.Sprintf("the tool crashed: %v", value)}, string(debug.Stack()))
	}()
	if len(t.in.Answers) > 0 {
		failpoint.Here(failpoint.AnswerRecorded)
	}
	result, err := t.tool.Call(t.branch.traced(t.ctx, t.at), &t.in)
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
	return &ToolError{Class: classTimeout, Message: fmt.Sprintf("no answer within %s", t.limit)}
}

// settle decides the outcome, once, and has r record it. It reports whether it
// was the one to do so.
func (t *toolRun) settle(r *Run, result Result, err error, stack string) bool {
	if !t.settled.CompareAndSwap(false, true) {
		return false
	}
	var body Body = t.outcome
	if asks, ok := errors.AsType[*InputNeeded](err); ok && asks.CallAgain {
		t.question = orElse(asks.Question, "The tool "+t.spec.Name+" needs an answer.")
		body = &InputRequested{
			ID: questionID(r.id, t.at), Question: t.question, Approval: asks.Approval,
			CallID: t.callID, Tool: t.spec.Name, Arguments: Arguments(t.in.Arguments),
		}
	} else {
		t.outcome.Duration = Millis(time.Since(t.began))
		t.outcome.Stack = stack
		t.outcome.settle(result, err, t.attempt, r.rules.Attempts)
	}
	if t.alone && r == &t.branch {
		t.settledAs = body // whoever waits for it notes it
		return true
	}
	r.note(t.at, body)
	if !t.alone {
		t.failure = r.flush()
	}
	return true
}

// wait returns when the call is settled. A tool that does not heed its context is
// left behind: its time is up all the same.
func (t *toolRun) wait(ctx context.Context, r *Run) error {
	left, waiting := false, true
	for waiting {
		select {
		case <-t.done:
			waiting = false
		case <-t.ctx.Done():
			left, waiting = t.abandon(ctx, r), false
		case <-r.front.wakes():
			r.front.show()
		}
	}
	if left {
		r.exec.leave(t.spec.Name, t.done)
	} else {
		<-t.done
		r.now = latest(r.now, t.branch.now)
		if t.settledAs != nil {
			if t.branch.now.After(r.now) {
				r.now = t.branch.now
			}
			r.noted = append(r.noted, t.branch.noted...)
			r.note(t.at, t.settledAs)
		}
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
	if decision, ok := errors.AsType[*Decision](err); ok {
		result.Content, o.Decision, err = decision.Text, decision, nil
	}
	if err == nil && result.Value != nil {
		if o.Value, err = encodeJSON(result.Value); err != nil {
			err = fmt.Errorf("the tool's value is not JSON: %w", err)
		}
	}
	if err == nil {
		o.Size, o.Parts, o.Keep = len(result.Content), result.Parts, result.Keep
		o.Content = presentable(result.Content)
		return
	}
	o.Class, o.Error = classFailed, clip(strings.ToValidUTF8(err.Error(), "�"), maxErrorText)
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
		Class   string `json:"class"`
		Error   string `json:"error"`
		Attempt int    `json:"attempt,omitempty"`
		Left    *int   `json:"attempts_left,omitempty"`
		Advice  string `json:"advice,omitempty"`
	}{Class: o.Class, Error: o.Error}
	if isFailure(o.Class) {
		left := max(attempts-attempt, 0)
		told.Attempt, told.Left = attempt, &left
	}
	if isFailure(o.Class) && attempts > 0 && attempt >= attempts {
		told.Advice = "Do not call " + o.Tool + " again for this. Go on without it, and say what you could not do."
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

// Call has a step call a tool itself, with arguments that become JSON. The call is
// on record like that of a model, and counts against the same limits: when the run is
// gone over again, its outcome is that of the log. The error is a *[ToolError] if
// the tool failed. If the tool asks the user (see [InputNeeded] with CallAgain), the
// step returns the error as it is: its run ends with the question, and when that is
// answered the call is made again.
func (r *Run) Call(ctx context.Context, tool Tool, arguments any) (Result, error) {
	data, err := json.Marshal(arguments)
	if err != nil {
		return Result{}, fmt.Errorf("call %s: %w", tool.Spec().Name, err)
	}
	caller := &Agent{agentParts: agentParts{id: r.agent}}
	if err := caller.grant([]Tool{tool}, nil); err != nil {
		return Result{}, fmt.Errorf("call: %w", err)
	}
	call := ToolCall{ID: derivedID(r.id, string(r.prefix.Step(r.count+1))), Name: tool.Spec().Name, Arguments: string(data)}
	runs, err := r.callAll(ctx, caller, []ToolCall{call}, &habits{})
	if err != nil {
		return Result{}, err
	}
	outcome := runs[0].outcome
	switch {
	case runs[0].question != "":
		return Result{}, &askingError{question: runs[0].question, id: questionID(r.id, runs[0].at)}
	case outcome.Class != "":
		return Result{}, &ToolError{Class: outcome.Class, Message: outcome.Error, Content: outcome.Content}
	}
	result := Result{Content: outcome.Content, Parts: outcome.Parts, Keep: outcome.Keep}
	if outcome.Value != nil {
		if err := json.Unmarshal(outcome.Value, &result.Value); err != nil {
			return Result{}, fmt.Errorf("call %s: %w", call.Name, err)
		}
	}
	return result, nil
}
