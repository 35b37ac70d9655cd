package openai

import (
	"encoding/json"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A reason is why a server says an answer ended; empty means that it has not said.
type reason string

// or takes in another reason. Servers repeat the first one or follow it with a
// plain stop; only news of a cut is worth more.
func (r reason) or(next string) reason {
	later := reason(strings.ToLower(next))
	if later == "" || r != "" && !later.isCut() {
		return r
	}
	return later
}

func (r reason) isCut() bool {
	finish, ok := r.finish(true, false)
	return !ok || finish != troupe.FinishStop
}

// finish maps a reason to ours. It is false for what is not the end of an answer:
// no reason, one that tells of a failure, and one that nobody knows if the model
// has neither said nor called anything.
func (r reason) finish(said, called bool) (_ troupe.Finish, ok bool) {
	known := false
	switch r {
	case "", "error", "abort", "aborted", "cancelled", "insufficient_system_resource":
		return "", false
	case "length", "max_tokens", "model_length":
		return troupe.FinishLength, true
	case "content_filter", "safety":
		return troupe.FinishFiltered, true
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "function_call", "tool_use":
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

// readUsage reads token counts under the names that servers have for them. What is
// missing or no number is 0.
func readUsage(raw json.RawMessage) troupe.Usage {
	var u struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
		Total      float64 `json:"total_tokens"`
		Details    struct {
			Cached float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CacheHit          float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
		NumCached         float64 `json:"num_cached_tokens"`       // Mistral
		CompletionDetails struct {
			Reasoning float64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	_ = json.Unmarshal(raw, &u) // counts of an unexpected type are skipped
	usage := troupe.Usage{Input: tokens(u.Prompt), Output: tokens(u.Completion)}
	// xAI and Google count reasoning in the total only.
	usage.Output = max(usage.Output, tokens(u.Total)-usage.Input)
	usage.CachedInput = min(tokens(max(u.Details.Cached, u.CacheHit, u.NumCached)), usage.Input)
	usage.Reasoning = min(tokens(u.CompletionDetails.Reasoning), usage.Output)
	return usage
}

// tokens is a count that can be added up without overflow.
func tokens(n float64) int { return int(max(0, min(n, 1e12))) }
