package troupe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Handoff is what one step gives to the next: plain data that Go code may read
// and change on the way.
type Handoff struct {
	// Task is what is asked for.
	Task string `json:"task,omitempty"`
	// Summary is what was done so far: of a finished agent, its answer.
	Summary string `json:"summary,omitempty"`
	// Outputs are results worth naming.
	Outputs map[string]any `json:"key_outputs,omitempty"`
	// Meta is filled in by the engine.
	Meta HandoffMeta `json:"metadata,omitzero"`
	// Custom is for whatever else a flow passes along.
	Custom map[string]any `json:"custom,omitempty"`
	// Parts are attachments to the task.
	Parts []Part `json:"parts,omitempty"`
}

// HandoffMeta says where a [Handoff] comes from.
type HandoffMeta struct {
	Source string `json:"source_agent,omitempty"`
	// Target is to whom the source passes control, where it says so.
	Target string    `json:"target_agent,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	Status Status    `json:"status,omitempty"`
	// Stop is why the source stopped, where it is an agent.
	Stop      Stop     `json:"stop,omitempty"`
	ToolsUsed []string `json:"tools_used,omitempty"`
	// Asked is where the question was asked that the source stopped with. A flow
	// that ends because a step of it asks hands back what the step did, as it is.
	Asked string `json:"asked,omitempty"`
}

// The frame of what Prompt adds to a task. What stands in it is one line, so that
// nothing in it can be taken for the frame.
const (
	promptOpens  = "\n\nHanded over to you:\n```json\n"
	promptCloses = "\n```"
)

// Prompt renders the handoff for a model: the task alone where there is nothing
// else, else the task and the rest as JSON. Parts are not in it. [ParsePrompt]
// reads it back.
func (h Handoff) Prompt() string {
	rest := h
	rest.Task, rest.Parts = "", nil
	if rest.Summary == "" && rest.Outputs == nil && rest.Custom == nil && !strings.Contains(h.Task, promptOpens) {
		return h.Task
	}
	data, err := encodeJSON(rest)
	if err != nil {
		return h.Task + "\n\n" + h.Summary
	}
	return h.Task + promptOpens + string(data) + promptCloses
}

// ParsePrompt reads back what [Handoff.Prompt] wrote. Numbers in outputs and custom
// fields come back as float64, as JSON has it.
func ParsePrompt(text string) (Handoff, error) {
	i := strings.LastIndex(text, promptOpens)
	if i < 0 {
		return Handoff{Task: text}, nil
	}
	data, ok := strings.CutSuffix(text[i+len(promptOpens):], promptCloses)
	if !ok {
		return Handoff{}, errors.New("parse handoff: the text goes on after what was handed over, or breaks off in it")
	}
	var h Handoff
	if err := json.Unmarshal([]byte(data), &h); err != nil {
		return Handoff{}, fmt.Errorf("parse handoff: %w", err)
	}
	h.Task = text[:i]
	return h, nil
}

// A Status says how a step ended.
type Status string

// The ways a step ends.
const (
	StatusSuccess Status = "success"
	StatusPartial Status = "partial" // a limit, a filter or a question ended it
	StatusFailed  Status = "failed"
)

// Stop is why an agent stopped.
type Stop string

// The reasons an agent stops for. But for StopAnswered and StopHandedOff they leave
// its status partial.
const (
	StopAnswered  Stop = "answered"
	StopTurns     Stop = "turns"           // Limits.Turns
	StopToolCalls Stop = "tool_calls"      // Limits.ToolCalls
	StopTokens    Stop = "tokens"          // Limits.Tokens
	StopCost      Stop = "cost"            // Limits.Cost
	StopTime      Stop = "time"            // Limits.Time
	StopRepeats   Stop = "repeated_calls"  // the same call with the same result, again and again
	StopInput     Stop = "input_requested" // a person must answer first
	StopHandedOff Stop = "handed_off"      // another agent is to go on
	StopLength    Stop = "length"          // the answer was cut off at the model's output limit
	StopFiltered  Stop = "content_filter"  // the provider withheld the rest
	StopRefused   Stop = "refused"         // the model declined
	StopEmpty     Stop = "empty"           // the model had nothing to say
)
