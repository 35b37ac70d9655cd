package troupe

import "context"

// AsTool makes a step, most often an agent, a tool that other agents can call. The
// step runs nested in the caller's run and shares its budget; its depth and its
// chain of callers are checked before any model is asked. Calling it again after
// an interruption is safe, because it resumes from its own log.
func AsTool(step Step, description string) Tool {
	return NewRunTool(tidyName(step.Name()), description, func(ctx context.Context, call *Invocation, in agentTask) (string, error) {
		out, err := call.Run.Do(ctx, step, Handoff{Task: in.Task})
		if err == nil && out.Meta.Stop == StopInput {
			// The question goes to the user, and the answer to the one who asked.
			return "", &InputNeeded{Question: out.Summary, Again: true}
		}
		return out.Summary, err
	}, Timeout(NoTimeout), RepeatSafe(), func(s *ToolSpec) { s.Output = nil })
}

type agentTask struct {
	Task string `json:"task" jsonschema:"what to do, with everything needed to do it: nothing else of this conversation is passed on"`
}
