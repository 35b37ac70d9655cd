package troupe

import (
	"bytes"
	"encoding/json"
)

// habits is what an agent's calls have in common: tools that keep failing, and
// calls made again and again. It is computed from outcomes alone, so a second
// pass over a log comes to the same conclusions.
type habits struct {
	tools  []toolHabit
	recent []pastCall // a ring of repeatWindow, once it is full
	calls  int
}

type toolHabit struct {
	name     string
	failures int    // in a row
	last     string // arguments of the latest failure
}

type pastCall struct{ tool, arguments, result string }

func (h *habits) of(tool string) *toolHabit {
	for i := range h.tools {
		if h.tools[i].name == tool {
			return &h.tools[i]
		}
	}
	return nil
}

// attempt returns the number of this attempt at a tool that keeps failing.
func (h *habits) attempt(tool string) int {
	if t := h.of(tool); t != nil {
		return t.failures + 1
	}
	return 1
}

// changed says what is different about a call after a failure.
func (h *habits) changed(call *ToolCall) map[string][2]json.RawMessage {
	t := h.of(call.Name)
	if t == nil || t.failures == 0 {
		return nil
	}
	return changes(t.last, call.Arguments)
}

// note takes an outcome into account. It returns how many of the latest calls
// were just like this one, itself included.
func (h *habits) note(call *ToolCall, outcome *ToolReturned) int {
	t := h.of(call.Name)
	switch {
	case outcome.Class == classInterrupted: // it says nothing about the tool
	case !isFailure(outcome.Class) && t != nil:
		t.failures = 0
	case isFailure(outcome.Class) && t == nil:
		h.tools = append(h.tools, toolHabit{call.Name, 1, call.Arguments})
	case isFailure(outcome.Class):
		t.failures++
		t.last = call.Arguments
	}
	return h.repeats(pastCall{call.Name, call.Arguments, resultOf(outcome)})
}

// resultOf is what counts as the same result: of a failure, its class and cause
// without the number of the attempt.
func resultOf(o *ToolReturned) string {
	if o.Class != "" {
		return o.Error
	}
	return o.Content
}

func (h *habits) repeats(call pastCall) int {
	if len(h.recent) < repeatWindow {
		h.recent = append(h.recent, call)
	} else {
		h.recent[h.calls%repeatWindow] = call
	}
	h.calls++
	n := 0
	for i := range h.recent {
		if h.recent[i] == call {
			n++
		}
	}
	return n
}

// changes compares the arguments of two attempts, field by field where both are
// objects.
func changes(from, to string) map[string][2]json.RawMessage {
	if from == to {
		return nil
	}
	var before, after map[string]json.RawMessage
	if json.Unmarshal([]byte(from), &before) != nil || json.Unmarshal([]byte(to), &after) != nil {
		return map[string][2]json.RawMessage{"arguments": {quoted(from), quoted(to)}}
	}
	list := map[string][2]json.RawMessage{}
	for field := range before {
		if !bytes.Equal(before[field], after[field]) {
			list[field] = [2]json.RawMessage{before[field], orNull(after[field])}
		}
	}
	for field := range after {
		if _, ok := before[field]; !ok {
			list[field] = [2]json.RawMessage{null, after[field]}
		}
	}
	return list
}

func quoted(text string) json.RawMessage {
	data, err := encodeJSON(clip(text, maxErrorText))
	if err != nil {
		return nil
	}
	return data
}

// null is what stands for a field that is not there.
var null = json.RawMessage("null")

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return null
	}
	return value
}
