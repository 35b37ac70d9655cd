package troupe

import (
	"context"
	"encoding/json"
	"fmt"
)

// Call has a step call a tool itself, with arguments that become JSON. The call is
// on record like that of a model, and counts against the same limits: when the run is
// gone over again, its outcome is that of the log. The error is a *[ToolError] if
// the tool failed. If the tool asks the user (see [InputNeeded] with Again), the
// step returns the error as it is: its run ends with the question, and when that is
// answered the call is made again.
func (r *Run) Call(ctx context.Context, tool Tool, arguments any) (Result, error) {
	data, err := json.Marshal(arguments)
	if err != nil {
		return Result{}, fmt.Errorf("call %s: %w", tool.Spec().Name, err)
	}
	caller := &Agent{id: r.agent}
	if err := caller.grant([]Tool{tool}, nil); err != nil {
		return Result{}, fmt.Errorf("call: %w", err)
	}
	call := ToolCall{ID: derivedID(r.id, r.place(r.count+1)), Name: tool.Spec().Name, Arguments: string(data)}
	runs, err := r.callAll(ctx, caller, []ToolCall{call}, &habits{})
	if err != nil {
		return Result{}, err
	}
	outcome := runs[0].outcome
	switch {
	case runs[0].question != "":
		return Result{}, &asking{question: runs[0].question, at: r.id + askedAt + runs[0].at}
	case outcome.Class != "":
		return Result{}, &ToolError{Class: outcome.Class, Message: outcome.Error, Content: outcome.Content}
	}
	return Result{Content: outcome.Content}, nil
}

// asking is the error of a step that cannot go on until the user has answered.
type asking struct{ question, at string }

func (e *asking) Error() string { return "the user must answer first: " + e.question }

// handoff is what the run of such a step ends with.
func (e *asking) handoff(in Handoff) Handoff {
	return Handoff{
		Task: in.Task, Summary: e.question, Custom: in.Custom,
		Meta: HandoffMeta{Status: StatusPartial, Stop: StopInput, Asked: e.at},
	}
}
