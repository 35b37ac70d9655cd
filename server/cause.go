package server

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/asking"
	causes "github.com/troupe-dev/troupe/model/problem"
)

// A cause is why a model call failed, in one word of the page's catalogue.
type cause struct {
	Code string `json:"code"`
	// Status is the provider's, 0 where there was no answer.
	Status int `json:"status,omitempty"`
	// Attempt is how many calls have failed in a row, RetryMS when the next one is made.
	Attempt int   `json:"attempt,omitempty"`
	RetryMS int64 `json:"retry_ms,omitempty"`
	// Server is the tool server that was not there.
	Server string `json:"server,omitempty"`
	// Problem says the same in plain words: what happened, why, what to do.
	Problem *causes.Problem `json:"problem,omitempty"`
}

// reasons are the page's codes of what a model call can fail for: see [problem.Problem].
var reasons = map[string]string{
	"key": "key_refused", "money": "quota_spent", "model": "model_unknown", "too_large": "request_too_large", "context": "context_full",
	"rate": "rate_limited", "overloaded": "provider_down", "unreachable": "provider_down", "certificate": "provider_down",
	"timeout": "answer_cut", "incomplete": "answer_cut", "refused": "declined", "time": "limit_time",
	"turns": "limit_turns", "tool_calls": "limit_turns", "tokens": "limit_tokens", "cost": "limit_cost",
}

var modelStatus = regexp.MustCompile(`\bmodel: (\d{3})\b`)

// causeOf says why a call failed: by the reason on record, or where there is none by
// the provider's words. What neither names has no code.
func causeOf(reason, text string) cause {
	what := causes.OfRecord(reason, text)
	found := cause{Code: reasons[what.Code]}
	if m := modelStatus.FindStringSubmatch(text); m != nil {
		found.Status, _ = strconv.Atoi(m[1])
	}
	if strings.Contains(text, "Critical action failed") && reason == "" {
		found.Code = "agent_broken"
		return found
	}
	return found.explain(what)
}

// explain adds the words of the catalogue, without the details, which the event has.
func (c cause) explain(what causes.Problem) cause {
	if what.IsExplained() {
		what.Details = ""
		c.Problem = &what
	}
	return c
}

// awayWords are those of a call whose MCP server was not there: see [mcp.Server].
var awayWords = regexp.MustCompile(`^the MCP server (\S+) (?:is not running|did not answer)`)

// toolCause says of a call that failed whether its server was not there. All else that
// tools fail for is for the model.
func toolCause(b *troupe.ToolReturned) cause {
	if b.Class == "" {
		return cause{}
	}
	if m := awayWords.FindStringSubmatch(b.Error); m != nil && strings.HasPrefix(b.Tool, m[1]+"__") {
		return cause{Code: "tool_server_down", Server: m[1]}
	}
	return cause{}
}

// stopCodes are the codes of the ends that are no answer.
var stopCodes = map[string]string{
	"turns": "limit_turns", "tool_calls": "limit_turns", "tokens": "limit_tokens", "cost": "limit_cost", "time": "limit_time",
	"repeated_calls": "repeating", "handoffs": "limit_handoffs", "length": "answer_too_long", "content_filter": "declined", "refused": "declined",
}

// explained adds to the JSON of an event the cause of a failure that it tells of, and
// what is asked.
func explained(e *troupe.Event, data []byte) []byte {
	var found cause
	switch b := e.Body.(type) {
	case *troupe.RunFailed:
		found = causeOf(b.Reason, b.Error)
	case *troupe.ModelFailed:
		found = causeOf(b.Reason, b.Error).explain(causes.OfFailed(b))
		found.Attempt, found.RetryMS = b.Attempt, b.RetryIn.Duration().Milliseconds()
	case *troupe.RunFinished:
		found = cause{Code: stopCodes[b.Stop]}.explain(causes.OfStop(b.Stop))
	case *troupe.ToolReturned:
		found = toolCause(b)
	case *troupe.InputRequested:
		return inserted(data, "ask", questionOf(&asking.Question{InputRequested: b, Asked: *e}))
	}
	if found.Code == "" && found.Problem == nil {
		return data
	}
	return inserted(data, "cause", found)
}

// inserted puts a value first into the body of an event's JSON.
func inserted(data []byte, name string, value any) []byte {
	const body = `"body":{`
	at := bytes.Index(data, []byte(body))
	added, err := json.Marshal(map[string]any{name: value})
	if at < 0 || err != nil {
		return data
	}
	at += len(body)
	added = added[1 : len(added)-1]
	if data[at] != '}' {
		added = append(added, ',')
	}
	return slices.Concat(data[:at], added, data[at:])
}
