package openai

import (
	"encoding/json"
	"errors"
)

// readOdd reads a document in which choices, a delta or a message has another type
// than it should, if one can tell what is meant: one choice that is no list, an empty
// list for an empty object, or a text for an object with that content. Otherwise it
// returns err.
func readOdd(data []byte, err error) (completion, error) {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
		return completion{}, err
	}
	var c completion
	_ = json.Unmarshal(data, &c) // all but what is odd
	c.Choices = nil
	var document struct{ Choices json.RawMessage }
	if json.Unmarshal(data, &document) != nil || len(document.Choices) == 0 {
		return c, err
	}
	list := []json.RawMessage{document.Choices}
	if document.Choices[0] == '[' {
		_ = json.Unmarshal(document.Choices, &list)
	}
	for _, raw := range list {
		if len(raw) == 0 || raw[0] != '{' {
			return c, err
		}
		var one choice
		_ = json.Unmarshal(raw, &one) // all but what is odd
		var parts struct{ Delta, Message json.RawMessage }
		_ = json.Unmarshal(raw, &parts)
		var known [2]bool
		one.Delta, known[0] = readOddDelta(parts.Delta)
		one.Message, known[1] = readOddDelta(parts.Message)
		if !known[0] || !known[1] {
			return c, err
		}
		c.Choices = append(c.Choices, one)
	}
	return c, nil
}

func readOddDelta(raw json.RawMessage) (d *delta, known bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, true
	}
	var text string
	var list []json.RawMessage
	d = &delta{}
	switch {
	case raw[0] == '{':
		_ = json.Unmarshal(raw, d) // members of another type are skipped
		return d, true
	case json.Unmarshal(raw, &text) == nil:
		d.Content = text
		return d, true
	case json.Unmarshal(raw, &list) == nil && len(list) == 0:
		return d, true
	}
	return nil, false
}
