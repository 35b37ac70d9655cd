package openai

import (
	"encoding/json"
	"strconv"
	"strings"
)

// An index is a number, or a text that is one. Anything else is none.
type index struct {
	n   int
	set bool
}

// UnmarshalJSON never fails.
func (i *index) UnmarshalJSON(data []byte) error {
	if len(data) == 1 && data[0] >= '0' && data[0] <= '9' { // nearly always
		*i = index{int(data[0] - '0'), true}
		return nil
	}
	text := strings.Trim(string(data), `" `)
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e9 {
		*i = index{int(n), true}
	}
	return nil
}

// A label is a text, or a number read as one. Anything else is empty.
type label string

// UnmarshalJSON never fails.
func (l *label) UnmarshalJSON(data []byte) error {
	if string(data) == "null" { // nearly always
		return nil
	}
	var text string
	switch {
	case json.Unmarshal(data, &text) == nil:
		*l = label(text)
	case len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9'):
		*l = label(data)
	}
	return nil
}

// A callList is an array of calls, or one alone. What is no call is left out.
type callList []callDelta

// UnmarshalJSON never fails.
func (l *callList) UnmarshalJSON(data []byte) error {
	list := []json.RawMessage{data}
	if len(data) > 0 && data[0] == '[' {
		list = nil
		_ = json.Unmarshal(data, &list)
	}
	for _, raw := range list {
		if len(raw) == 0 || raw[0] != '{' {
			continue
		}
		var d callDelta
		_ = json.Unmarshal(raw, &d) // members of another type are skipped
		*l = append(*l, d)
	}
	return nil
}
