package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// A source is a provider: what the catalogue and the two packages call it. The
// makers of models come first, because what they say of a model counts wherever it
// is offered.
type source struct {
	name, offered, prices string
}

var providers = []source{
	{"openai", "openai", "openai"}, {"azure", "azure", ""}, {"anthropic", "anthropic", "anthropic"}, {"google", "google", "google"},
	{"google-vertex", "google-vertex", ""}, {"amazon-bedrock", "amazon-bedrock", ""}, {"mistral", "mistral", "mistral"}, {"groq", "groq", "groq"},
	{"deepseek", "deepseek", "deepseek"}, {"xai", "xai", "x-ai"}, {"together", "together", "together"}, {"fireworks", "fireworks", "fireworks"},
	{"openrouter", "openrouter", "openrouter"}, {"cerebras", "cerebras", "cerebras"}, {"cloudflare-workers-ai", "cloudflare-workers-ai", ""},
	{"github-copilot", "github-copilot", ""}, {"huggingface", "huggingface", ""}, {"moonshotai", "moonshotai", "moonshotai"}, {"zai", "zai", "zai"},
	{"minimax", "minimax", "minimax"}, {"nvidia", "nvidia", ""}, {"meta", "meta", ""}, {"xiaomi", "xiaomi", ""}, {"baseten", "baseten", ""},
	{"cohere", "", "cohere"}, {"perplexity", "", "perplexity"},
}

// An offer is a model as the first package has it.
type offer struct {
	ID, API, Type            string
	Reasoning                bool
	Input                    []string
	ContextWindow, MaxTokens int
	Cost                     struct {
		Input, Output, CacheRead, CacheWrite float64
		Tiers                                []struct {
			InputTokensAbove                     float64
			Input, Output, CacheRead, CacheWrite float64
		}
	}
	ThinkingLevelMap map[string]*string
	Compat           struct {
		SupportsStrictMode, SupportsStrictTools bool
		SupportsTemperature                     *bool
		MaxTokensField                          string
		RequiresReasoning                       bool `json:"requiresReasoningContentOnAssistantMessages"`
	}
}

// addOffered adds the models of the first package: JSON files, one for a provider,
// with models by protocol and name.
func (m models) addOffered(files map[string][]byte) error {
	for _, p := range providers {
		if p.offered == "" {
			continue
		}
		file := path.Join("dist/providers/data", p.offered+".json")
		var byAPI map[string]map[string]offer
		if err := json.Unmarshal(files[file], &byAPI); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, list := range byAPI {
			for _, o := range list {
				// The same model by the batch costs otherwise, and cannot be talked to.
				if o.Type == "chat" && !strings.HasSuffix(o.ID, ":batch") {
					m.add(p.name, o.ID, o.entry(p.name))
				}
			}
		}
	}
	return nil
}

func (o *offer) entry(provider string) *entry {
	e := &entry{
		Context: o.ContextWindow, Output: o.MaxTokens, Strict: o.Compat.SupportsStrictMode || o.Compat.SupportsStrictTools,
		Temperature: o.Compat.SupportsTemperature, MaxTokensField: o.Compat.MaxTokensField, ReasoningBack: o.Compat.RequiresReasoning,
	}
	if e.Temperature != nil && *e.Temperature {
		e.Temperature = nil
	}
	for _, kind := range o.Input {
		e.Images = e.Images || kind == "image"
	}
	c := &o.Cost
	if c.Input > 0 || c.Output > 0 || strings.HasSuffix(o.ID, ":free") {
		e.Price = trim(c.Input, c.Output, c.CacheRead, c.CacheWrite)
		for _, t := range c.Tiers {
			e.Above = append(e.Above, []float64{t.InputTokensAbove, t.Input, t.Output, t.CacheRead, t.CacheWrite})
		}
	}
	if o.Reasoning {
		e.Reasoning = true
		if words := o.efforts(); len(words) > 0 {
			e.Reasoning = words
		}
	}
	// Providers with a protocol of their own need no word about it.
	switch {
	case provider == "github-copilot" || provider == "deepseek" || provider == "minimax" || provider == "fireworks" || provider == "meta":
		if o.API == "anthropic-messages" || o.API == "openai-responses" {
			e.API = o.API
		}
	}
	return e
}

// efforts are the words for effort that a model takes. What the map does not name is
// taken as it is, and what it names as null is not taken.
func (o *offer) efforts() (words []string) {
	if o.ThinkingLevelMap == nil {
		return nil
	}
	for _, level := range []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"} {
		word, named := o.ThinkingLevelMap[level]
		switch {
		case named && word != nil && level == "off":
			words = append(words, "none")
		case named && word != nil && *word == level:
			words = append(words, level)
		case !named && (level == "low" || level == "medium" || level == "high"):
			words = append(words, level)
		}
	}
	return words
}

// trim leaves out what is 0 at the end, beyond input and output.
func trim(prices ...float64) []float64 {
	for len(prices) > 2 && prices[len(prices)-1] == 0 {
		prices = prices[:len(prices)-1]
	}
	return prices
}
