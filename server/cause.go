package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A cause is why a model call failed, in one word of the page's catalogue.
type cause struct {
	Code string `json:"code"`
	// Status is the provider's, 0 where there was no answer.
	Status int `json:"status,omitempty"`
	// Attempt is how many calls have failed in a row, RetryMS when the next one is made.
	Attempt int   `json:"attempt,omitempty"`
	RetryMS int64 `json:"retry_ms,omitempty"`
}

// reasons are the codes of what a model call can fail for: see [troupe.ModelError].
var reasons = map[string]string{
	"key": "key_refused", "money": "quota_spent", "model": "model_unknown", "too_large": "request_too_large", "context": "context_full",
	"rate": "rate_limited", "overloaded": "provider_down", "unreachable": "provider_down", "certificate": "provider_down",
	"timeout": "answer_cut", "refused": "declined", "time": "limit_time",
}

var modelStatus = regexp.MustCompile(`\bmodel: (\d{3})\b`)

// causeOf says why a call failed: by the reason on record, or where there is none by
// the status in the provider's words. What neither names has no code.
func causeOf(reason, text string) cause {
	found := cause{Code: reasons[reason]}
	if m := modelStatus.FindStringSubmatch(text); m != nil {
		found.Status, _ = strconv.Atoi(m[1])
	}
	if found.Code != "" {
		return found
	}
	switch status := found.Status; {
	case status == http.StatusPaymentRequired:
		found.Code = "quota_spent"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		found.Code = "key_refused"
	case status == http.StatusNotFound:
		found.Code = "model_unknown"
	case status == http.StatusRequestEntityTooLarge:
		found.Code = "request_too_large"
	case status == http.StatusTooManyRequests:
		found.Code = "rate_limited"
	case status >= 500:
		found.Code = "provider_down"
	case strings.Contains(text, "answer is incomplete"):
		found.Code = "answer_cut"
	case strings.Contains(text, "Critical action failed"):
		found.Code = "agent_broken"
	case strings.Contains(text, "connection refused"), strings.Contains(text, "no such host"):
		found.Code = "provider_down"
	}
	return found
}

// stopCodes are the codes of the ends that are no answer.
var stopCodes = map[string]string{
	"turns": "limit_turns", "tool_calls": "limit_turns", "tokens": "limit_tokens", "cost": "limit_cost", "time": "limit_time",
	"repeated_calls": "repeating", "length": "answer_too_long", "content_filter": "declined", "refused": "declined",
}

// explained adds to the JSON of an event the cause of a failure that it tells of, and
// what is asked.
func explained(e *troupe.Event, data []byte) []byte {
	var found cause
	switch b := e.Body.(type) {
	case *troupe.RunFailed:
		found = causeOf(b.Reason, b.Error)
	case *troupe.ModelFailed:
		found = causeOf(b.Reason, b.Error)
		found.Attempt, found.RetryMS = b.Attempt, b.RetryIn.Duration().Milliseconds()
	case *troupe.RunFinished:
		found.Code = stopCodes[b.Stop]
	case *troupe.InputRequested:
		return inserted(data, "ask", questionOf(e, b))
	}
	if found.Code == "" {
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
