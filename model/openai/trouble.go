package openai

import (
	"encoding/json"
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
		if tells(e) && (!isEmptyObject(e) || len(c.Choices) == 0) {
			return e
		}
	}
	for i := range c.Choices {
		if e := c.Choices[i].Error; tells(e) && !isEmptyObject(e) {
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

// tells reports whether a member named error says something.
func tells(e json.RawMessage) bool {
	return wire.IsSet(e) && string(e) != "false" && string(e) != "0"
}

func isEmptyObject(raw json.RawMessage) bool {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(string(raw)), "{}")) == ""
}
