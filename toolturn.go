package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/troupe-dev/troupe/internal/answer"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/journal"
	"github.com/troupe-dev/troupe/internal/rawjson"
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
	past, err := r.pastCall(at, agent, call)
	if err != nil {
		return err
	}
	r.budget.add(&Spent{ToolCalls: 1})
	t.at = at
	if past.returned != nil && !r.isWorthAnotherTry(past.returned, agent, at) {
		t.outcome = past.returned
		t.settled.Store(true)
		for _, nested := range r.log.Within(r.id, at) {
			if end, ok := r.log.End(nested); ok {
				r.countBelow(end)
			}
		}
		return nil
	}
	t.outcome = &record.returned
	t.outcome.CallID, t.outcome.Tool = call.ID, call.Name
	switch {
	case past.state != "" && past.returned == nil && r.log.Passed(r.id, at):
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
		User: r.exec.started.User, Values: r.exec.started.Values, Answers: past.answers,
	}
	return nil
}

// isWorthAnotherTry says that a step called a tool itself, and that its failure has ended
// the run: going over it again is to get past that, as with a model that failed. What a
// model is told is not taken back.
func (r *Run) isWorthAnotherTry(returned *ToolReturned, caller *Agent, at journal.Path) bool {
	return caller.model == nil && isFailure(returned.Class) && caller.repeats(returned.Tool) && !r.log.Passed(r.id, at)
}

// A callLog is what the log says of a call.
type callLog struct {
	// state is the latest kind of event: called, asked, answered or returned.
	state    string
	question string
	answers  []Answer
	returned *ToolReturned
}

func (r *Run) pastCall(at journal.Path, caller *Agent, call *ToolCall) (past callLog, err error) {
	for _, e := range r.log.At(r.id, at) {
		switch b := e.Body.(type) {
		case *ToolCalled:
			if b.Tool != call.Name {
				return past, fmt.Errorf("run %s step %s: the log has a call of %s there, the code now calls %s: %w", r.id, at, b.Tool, call.Name, ErrChanged)
			}
			if caller.model == nil && !sameJSON(string(b.Arguments), call.Arguments) { // a step's own call, not a model's
				return past, fmt.Errorf("run %s step %s: the log has a call of %s with %s there, the code now calls it with %s; a step that is gone over again must do the same things in the same order: %w",
					r.id, at, b.Tool, shorten(string(b.Arguments), 200), shorten(call.Arguments, 200), ErrChanged)
			}
			past.returned = nil // it was made again
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

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	first, err := rawjson.Value([]byte(a))
	second, err2 := rawjson.Value([]byte(b))
	return err == nil && err2 == nil && reflect.DeepEqual(first, second)
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
