package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// counts are token counts under the names that servers have for them.
type counts struct {
	Prompt     wire.Count `json:"prompt_tokens"`
	Completion wire.Count `json:"completion_tokens"`
	Total      wire.Count `json:"total_tokens"`
	Input      wire.Count `json:"input_tokens"`  // of servers that translate from other APIs
	Output     wire.Count `json:"output_tokens"` // likewise

	PromptDetails struct {
		Cached       wire.Count `json:"cached_tokens"`
		CacheWrite   wire.Count `json:"cache_write_tokens"` // OpenRouter
		CacheCreated wire.Count `json:"cache_creation_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	CacheHit   wire.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
	NumCached  wire.Count `json:"num_cached_tokens"`       // Mistral
	Cached     wire.Count `json:"cached_tokens"`           // Moonshot, Hugging Face
	CacheRead  wire.Count `json:"cache_read_input_tokens"` // LiteLLM
	CacheWrite wire.Count `json:"cache_creation_input_tokens"`
	Reasoning  wire.Count `json:"reasoning_tokens"` // Perplexity

	Cost    json.RawMessage `json:"cost"`              // OpenRouter, Vercel, Avian; an object with Perplexity
	Ticks   *wire.Count     `json:"cost_in_usd_ticks"` // xAI: 10¹⁰ are a dollar
	IsBYOK  bool            `json:"is_byok"`
	Details struct {
		Upstream wire.Count `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// count takes in token counts and a cost. What says nothing does not undo what came
// before.
func (a *answer) count(raw json.RawMessage) {
	if !wire.IsSet(raw) {
		return
	}
	var c counts
	_ = json.Unmarshal(raw, &c) // members of an unexpected type are skipped
	if usage := c.usage(); usage != (troupe.Usage{}) {
		a.end.Usage = usage
	}
	if cost := c.cost(); cost != nil {
		a.end.Cost = cost
	}
}

func (c *counts) usage() troupe.Usage {
	input := max(c.Prompt, c.Input).Tokens()
	output := max(c.Completion, c.Output).Tokens()
	reasoning := max(c.CompletionDetails.Reasoning, c.Reasoning).Tokens()
	said := output
	// xAI counts reasoning beside the completion, in the total only.
	output = max(output, c.Total.Tokens()-input)
	// Google behind a gateway counts it in no total at all.
	if reasoning > output {
		output = said + reasoning
	}
	cached := max(c.PromptDetails.Cached, c.CacheHit, c.NumCached, c.Cached, c.CacheRead).Tokens()
	written := max(c.PromptDetails.CacheWrite, c.PromptDetails.CacheCreated, c.CacheWrite).Tokens()
	cached = min(cached, input) // Grok on Azure reports more
	return troupe.Usage{
		Input: input, CachedInput: cached, CacheWrite: min(written, input-cached),
		Output: output, Reasoning: min(reasoning, output),
	}
}

// cost is what the provider says it has charged, nil where it does not say.
func (c *counts) cost() *float64 {
	var dollars wire.Count
	var object struct {
		Total *wire.Count `json:"total_cost"`
	}
	switch {
	case c.Ticks != nil:
		dollars = *c.Ticks / 1e10
	case !wire.IsSet(c.Cost):
		return nil
	case c.Cost[0] == '{':
		if json.Unmarshal(c.Cost, &object) != nil || object.Total == nil {
			return nil
		}
		dollars = *object.Total
	default:
		if _, err := strconv.ParseFloat(strings.Trim(string(c.Cost), `" `), 64); err != nil {
			return nil
		}
		_ = dollars.UnmarshalJSON(c.Cost)
	}
	if c.IsBYOK { // what the provider behind the gateway charges comes on top
		dollars += c.Details.Upstream
	}
	cost := float64(dollars)
	return &cost
}
