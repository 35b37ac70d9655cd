package troupe

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// habits is what an agent's calls have in common: tools that keep failing, and
// calls made again and again. It is computed from outcomes alone, so a second
// pass over a log comes to the same conclusions.
type habits struct {
	attempts int // how many failures in a row a tool is granted
	tools    []toolHabit
	recent   [repeatWindow]pastCall // a ring
	calls    int
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

// attempt returns the number of this attempt at a tool, and what is different
// about it after a failure.
func (h *habits) attempt(call *ToolCall) (int, []Change) {
	t := h.of(call.Name)
	if t == nil || t.failures == 0 {
		return 1, nil
	}
	return t.failures + 1, changes(t.last, call.Arguments)
}

// givenUp reports whether a tool has failed so often that the run goes on without it.
func (h *habits) givenUp(tool string) bool {
	t := h.of(tool)
	return t != nil && h.attempts > 0 && t.failures >= h.attempts
}

// note takes an outcome into account. It returns how many of the latest calls
// were just like this one, itself included.
func (h *habits) note(call *ToolCall, outcome *ToolReturned) int {
	t := h.of(call.Name)
	switch {
	case outcome.Class == "" && t != nil:
		t.failures = 0
	case outcome.Class != "" && t == nil:
		h.tools = append(h.tools, toolHabit{call.Name, 1, call.Arguments})
	case outcome.Class != "":
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
	h.recent[h.calls%repeatWindow] = call
	h.calls++
	n := 0
	for i := range min(h.calls, repeatWindow) {
		if h.recent[i] == call {
			n++
		}
	}
	return n
}

// changes compares the arguments of two attempts, field by field where both are
// objects.
func changes(from, to string) []Change {
	if from == to {
		return nil
	}
	var before, after map[string]json.RawMessage
	if json.Unmarshal([]byte(from), &before) != nil || json.Unmarshal([]byte(to), &after) != nil {
		return []Change{{Field: "arguments", From: quoted(from), To: quoted(to)}}
	}
	var list []Change
	for _, field := range slices.Sorted(maps.Keys(before)) {
		if !bytes.Equal(before[field], after[field]) {
			list = append(list, Change{field, before[field], after[field]})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[field]; !ok {
			list = append(list, Change{Field: field, To: after[field]})
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
