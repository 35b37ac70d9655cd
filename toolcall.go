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

	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/journal"
)

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
// gone over again, its outcome is that of the log. Only a failure that ended the run is
// not: the call is made again, if the tool is [RepeatSafe]. The error is a *[ToolError] if
// the tool failed. If the tool asks the user (see [InputNeeded] with CallAgain), the
// step returns the error as it is: its run ends with the question, and when that is
// answered the call is made again.
func (r *Run) Call(ctx context.Context, tool Tool, arguments any) (Result, error) {
	if err := r.mayAct(); err != nil {
		return Result{}, err
	}
	data, err := encodeJSON(arguments)
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
