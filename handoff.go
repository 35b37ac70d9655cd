package troupe

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A Handoff is what one step gives to the next: plain data that Go code may read
// and change on the way. What crosses the boundary of a run is JSON, on the first
// pass as on any later one: numbers among outputs and custom values are float64,
// or [json.Number] where that would change them, lists []any and objects
// map[string]any. Each side has a copy of its own.
type Handoff struct {
	// Task is what is asked for.
	Task string `json:"task,omitempty"`
	// Summary is what was done so far: of a finished agent, its answer.
	Summary string `json:"summary,omitempty"`
	// Value is the answer of an agent that has an [Output], checked against it.
	Value json.RawMessage `json:"value,omitempty"`
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
	// Status says how the source ended: "success", "partial" (a limit, a filter or a
	// question ended it) or "failed".
	Status string `json:"status,omitempty"`
	// Stop is why the source stopped, where it is an agent: see [RunFinished].
	Stop      string   `json:"stop,omitempty"`
	ToolsUsed []string `json:"tools_used,omitempty"`
	// Decision is what ended the source's run, where a tool decided so.
	Decision *Decision `json:"decision,omitempty"`
	// Asked is the id of the question that the source stopped with. A flow that ends
	// because a step of it asks hands back what the step did, as it is.
	Asked string `json:"asked,omitempty"`
}

// Clone returns a handoff that may be changed without changing h. The bytes of
// attachments are in both.
func (h Handoff) Clone() Handoff {
	h.Outputs, h.Custom = cloneValues(h.Outputs), cloneValues(h.Custom)
	h.Value, h.Parts, h.Meta.ToolsUsed = slices.Clone(h.Value), slices.Clone(h.Parts), slices.Clone(h.Meta.ToolsUsed)
	return h
}

// Answer is what a finished step answered, as it would be among the outputs of a handoff:
// its value where it has one, and otherwise its summary.
func (h Handoff) Answer() any {
	if value, err := rawjson.Value(h.Value); err == nil {
		return value
	}
	return h.Summary
}

// given is what a step is given, where it comes from aside, as its log has it.
func (h Handoff) given() string {
	h.Meta = HandoffMeta{}
	data, err := encodeJSON(h)
	if err == nil {
		var read Handoff // what is no UTF-8 reads otherwise than it was written
		if err = json.Unmarshal(data, &read); err == nil {
			data, err = encodeJSON(read)
		}
	}
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func cloneValues(values map[string]any) map[string]any {
	if values == nil {
		return nil
	}
	copied := make(map[string]any, len(values))
	for name, value := range values {
		copied[name] = cloneValue(value)
	}
	return copied
}

// cloneValue copies what JSON is made of; anything else becomes JSON at the next boundary.
func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return cloneValues(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = cloneValue(v[i])
		}
		return list
	}
	return value
}

// asJSON returns a copy of the handoff as whoever reads the log gets it. The error
// names what cannot be JSON.
func (h Handoff) asJSON() (Handoff, error) {
	var err error
	if h.Outputs, err = valuesAsJSON("output", h.Outputs); err != nil {
		return Handoff{}, err
	}
	if h.Custom, err = valuesAsJSON("custom value", h.Custom); err != nil {
		return Handoff{}, err
	}
	return h, nil
}

// valuesAsJSON returns a copy of the values as JSON has them.
func valuesAsJSON(what string, values map[string]any) (map[string]any, error) {
	if values == nil {
		return nil, nil
	}
	converted := make(map[string]any, len(values))
	for name, value := range values {
		if isPlain(value) {
			converted[name] = value
			continue
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%s %q cannot be handed over: %T is not JSON: %w", what, name, value, err)
		}
		if converted[name], err = rawjson.Value(data); err != nil {
			return nil, fmt.Errorf("%s %q cannot be handed over: %w", what, name, err)
		}
	}
	return converted, nil
}

// isPlain reports whether a value is what JSON would make of it.
func isPlain(value any) bool {
	switch v := value.(type) {
	case nil, bool:
		return true
	case string:
		return utf8.ValidString(v)
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return false
}

// UnmarshalJSON reads what a handoff is on record.
func (h *Handoff) UnmarshalJSON(data []byte) error {
	type plain Handoff
	read := struct {
		*plain
		Outputs rawjson.Values `json:"key_outputs"`
		Custom  rawjson.Values `json:"custom"`
	}{plain: (*plain)(h)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	h.Outputs, h.Custom = read.Outputs, read.Custom
	return nil
}

// The frame of what Prompt adds to a task. What stands in it is one line, so that
// nothing in it can be taken for the frame.
const (
	promptOpens  = "\n\nHanded over to you:\n```json\n"
	promptCloses = "\n```"
)

// Prompt renders the handoff for a model: the task alone where there is nothing
// else, else the task and the rest as JSON. Parts are not in it.
// [Handoff.ReadPrompt] reads it back.
func (h Handoff) Prompt() string {
	rest := h
	rest.Task, rest.Parts, rest.Value = "", nil, nil
	if rest.Summary == "" && rest.Outputs == nil && rest.Custom == nil && !strings.Contains(h.Task, promptOpens) {
		return h.Task
	}
	data, err := encodeJSON(rest)
	if err != nil {
		return h.Task + "\n\n" + h.Summary
	}
	return h.Task + promptOpens + string(data) + promptCloses
}

// ReadPrompt makes h what [Handoff.Prompt] wrote. Numbers in outputs and custom fields
// come back as float64, as JSON has it. If it fails h is as it was.
func (h *Handoff) ReadPrompt(text string) error {
	i := strings.LastIndex(text, promptOpens)
	if i < 0 {
		*h = Handoff{Task: text}
		return nil
	}
	data, ok := strings.CutSuffix(text[i+len(promptOpens):], promptCloses)
	if !ok {
		return errors.New("read handoff: the text goes on after what was handed over, or breaks off in it")
	}
	var read Handoff
	if err := json.Unmarshal([]byte(data), &read); err != nil {
		return fmt.Errorf("read handoff: %w", err)
	}
	*h, h.Task = read, text[:i]
	return nil
}

// How a step ends: see [HandoffMeta].
const (
	endedSuccess = "success"
	endedPartial = "partial" // a limit, a filter or a question ended it
	endedFailed  = "failed"
)

// Why an agent stops: see [RunFinished].
const (
	stopAnswered  = "answered"
	stopInput     = "input_requested" // a person must answer first
	stopHandedOff = "handed_off"      // another agent is to go on
	stopDecided   = "decided"         // a tool ended the run: see [Decision]

	stopTurns     = "turns"
	stopToolCalls = "tool_calls"
	stopTokens    = "tokens"
	stopCost      = "cost"
	stopTime      = "time"
	stopRepeats   = "repeated_calls"
	stopLength    = "length"
	stopFiltered  = "content_filter"
	stopRefused   = "refused"
	stopEmpty     = "empty"
)

// isSuccess reports whether an agent that stopped so did what it was asked to.
func isSuccess(stop string) bool {
	return stop == stopAnswered || stop == stopHandedOff || stop == stopDecided
}
