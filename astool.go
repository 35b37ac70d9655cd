package troupe

import (
	"context"
	"encoding/json"
)

// AsTool makes a step, most often an agent, a tool that other agents can call. The
// step runs nested in the caller's run and shares its budget; its depth and its
// chain of callers are checked before any model is asked. Calling it again after
// an interruption is safe, because it resumes from its own log.
func AsTool(step Step, description string) Tool {
	t := NewTool(tidyName(step.Name()), description, func(context.Context, agentTask) (string, error) {
		return "", nil
	}).(*typedTool[agentTask, string])
	t.spec.Timeout, t.spec.RepeatSafe, t.spec.Output = NoTimeout, true, nil
	return &stepTool{typedTool: *t, step: step}
}

type agentTask struct {
	Task string `json:"task" jsonschema:"what to do, with everything needed to do it: nothing else of this conversation is passed on"`
}

// A stepTool runs a step when called.
type stepTool struct {
	typedTool[agentTask, string]
	step Step
}

func (t *stepTool) Call(ctx context.Context, in *Invocation) (Result, error) {
	var task agentTask
	if err := json.Unmarshal(in.Arguments, &task); err != nil {
		return Result{}, &ToolError{Class: ClassInvalidArguments, Err: err}
	}
	out, err := in.Run.Do(ctx, t.step, Handoff{Task: task.Task})
	if err != nil {
		return Result{}, err
	}
	return Result{Content: out.Summary}, nil
}
