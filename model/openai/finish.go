package openai

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// A reason is why a server says an answer ended; empty means that it has not said.
type reason string

// or takes in another reason. Servers repeat the first one or follow it with a
// plain stop; only news of a cut is worth more.
func (r reason) or(next string) reason {
	later := reason(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(next)), "-", "_"))
	if later == "" || r != "" && !later.isCut() {
		return r
	}
	return later
}

func (r reason) isCut() bool {
	finish, ok := r.finish(true, false)
	return !ok || finish != troupe.FinishStop
}

// finish maps a reason to ours. The numbers are those of Google's enumeration, which
// some gateways pass on as they are. It is false for what is not the end of an answer:
// no reason, one that tells of a failure, and one that nobody knows if the model
// has neither said nor called anything.
func (r reason) finish(said, called bool) (_ troupe.Finish, ok bool) {
	known := false
	switch r {
	case "", "error", "abort", "aborted", "cancelled", "insufficient_system_resource", "pause_turn",
		"malformed_function_call", "unexpected_tool_call", "too_many_tool_calls", "9":
		return "", false
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "2":
		return troupe.FinishLength, true
	case "content_filter", "content_filtered", "refusal", "safety", "recitation", "prohibited_content", "blocklist", "spii", "model_armor",
		"image_safety", "language", "sensitive", "guardrail_intervened", "3", "4", "6", "7", "8":
		return troupe.FinishFiltered, true
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "function_call", "tool_use", "1":
		known = true
	}
	switch {
	case called:
		return troupe.FinishCalls, true
	case said || known:
		return troupe.FinishStop, true
	}
	return "", false
}
