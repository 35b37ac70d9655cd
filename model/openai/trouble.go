package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/wire"
)

// troubles are the places in which servers tell of a failure in an answer whose
// status is good, beside the error that the book has.
type troubles struct {
	Object   string          `json:"object"`
	Type     string          `json:"type"`
	Message  json.RawMessage `json:"message"`
	Detail   json.RawMessage `json:"detail"`
	BaseResp struct {
		StatusCode int `json:"status_code"`
	} `json:"base_resp"`
}

// trouble returns the part of a document that tells of a failure, or nil if none
// does.
func (c *completion) trouble(document []byte) []byte {
	for _, e := range []json.RawMessage{c.Error, c.Groq.Error} {
		if tells(e) || len(c.Choices) == 0 && string(e) == "{}" {
			return e
		}
	}
	for i := range c.Choices {
		if e := c.Choices[i].Error; tells(e) {
			return e
		}
	}
	switch {
	case len(c.Choices) > 0:
		return nil
	case c.Object == "error" || c.Type == "error" || c.BaseResp.StatusCode != 0:
		return document
	case c.Object == "" && c.Usage == nil && (strings.HasSuffix(c.Type, "error") || c.Type != "" && wire.IsSet(c.Message) || wire.IsSet(c.Detail)):
		return document
	}
	return nil
}

// tells reports whether a member named error says something: some servers send one
// with every chunk, of which all members are empty.
func tells(e json.RawMessage) bool {
	if !wire.IsSet(e) {
		return false
	}
	var value any
	return json.Unmarshal(e, &value) != nil || saysSomething(value)
}

func saysSomething(value any) bool {
	switch value := value.(type) {
	case string:
		return value != ""
	case float64:
		return value != 0
	case bool:
		return value
	case []any:
		return slices.ContainsFunc(value, saysSomething)
	case map[string]any:
		for _, member := range value {
			if saysSomething(member) {
				return true
			}
		}
	}
	return false
}
