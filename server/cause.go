package server

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

var (
	modelStatus = regexp.MustCompile(`\bmodel: (\d{3})\b`)
	retryText   = regexp.MustCompile(`^attempt (\d+) failed: (?s:(.*)); trying again in (\S+)$`)
)

// causeOf reads the cause out of the text of an error that is on record. The event has
// no more than that text; what it does not name has no code.
func causeOf(text string) cause {
	lower := strings.ToLower(text)
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(lower, word) {
				return true
			}
		}
		return false
	}
	var found cause
	if m := modelStatus.FindStringSubmatch(text); m != nil {
		found.Status, _ = strconv.Atoi(m[1])
	}
	switch status := found.Status; {
	case has("context window", "context_length", "context length"):
		found.Code = "context_full"
	case status == 402, status == 429 && has("quota", "credit", "billing"):
		found.Code = "quota_spent"
	case status == 401, status == 403, has("invalid_api_key"), has(" is not set; put the provider's key"):
		found.Code = "key_refused"
	case status == 404, has("model_not_found"):
		found.Code = "model_unknown"
	case status == 413:
		found.Code = "request_too_large"
	case status == 429:
		found.Code = "rate_limited"
	case status >= 500, has("connection refused", "no such host", "certificate", "dial tcp", "overloaded"):
		found.Code = "provider_down"
	case has("stream stopped before the end", "unexpected eof", "nothing came for"):
		found.Code = "answer_cut"
	case has("critical action failed"):
		found.Code = "agent_broken"
	case has("limit of time", "deadline exceeded"):
		found.Code = "limit_time"
	}
	return found
}

// stopCodes are the codes of the ends that are no answer.
var stopCodes = map[troupe.Stop]string{
	troupe.StopTurns: "limit_turns", troupe.StopToolCalls: "limit_turns", troupe.StopTokens: "limit_tokens", troupe.StopCost: "limit_cost",
	troupe.StopTime: "limit_time", troupe.StopRepeats: "repeating", troupe.StopLength: "answer_too_long", troupe.StopFiltered: "declined",
	troupe.StopRefused: "declined",
}

// explained adds to the JSON of an event the cause of a failure that it tells of.
func explained(e *troupe.Event, data []byte) []byte {
	var found cause
	switch b := e.Body.(type) {
	case *troupe.RunFailed:
		found = causeOf(b.Error)
	case *troupe.Warned:
		m := retryText.FindStringSubmatch(b.Message)
		if b.Code != "model_retry" || m == nil {
			return data
		}
		found = causeOf(m[2])
		found.Attempt, _ = strconv.Atoi(m[1])
		if wait, err := time.ParseDuration(m[3]); err == nil {
			found.RetryMS = wait.Milliseconds()
		}
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
