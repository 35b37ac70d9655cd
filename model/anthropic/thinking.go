package anthropic

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// thinking is how a request asks for thoughts, and how long the answer may be.
type thinking struct {
	thinking  map[string]any
	effort    string
	maxTokens int
	isOn      bool
}

// least is the smallest number of tokens that may be thought with.
const least = 1024

// budgets are the tokens to think with, by effort, for models that want a number.
var budgets = map[string]int{"minimal": least, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 24_576}

// thinksByItself reports whether the model decides itself how long it thinks, and
// takes words for how hard. Older ones want a number of tokens.
func (m *Model) thinksByItself() bool { return len(m.known.Efforts) > 0 && !m.has(noAdaptive) }

func (m *Model) thinking(p *troupe.Params) thinking {
	t := thinking{maxTokens: m.maxTokens}
	if p.MaxTokens != nil {
		t.maxTokens = *p.MaxTokens
	}
	switch {
	case p.Effort == "" || m.has(noThinking):
	case p.Effort == "none":
		t.thinking = map[string]any{"type": "disabled"}
	case m.thinksByItself():
		// Newer models keep their thoughts to themselves unless they are asked.
		t.thinking = map[string]any{"type": "adaptive", "display": "summarized"}
		t.effort, t.isOn = wire.Effort(p.Effort, m.known.Efforts), true
	default:
		budget := budgets[p.Effort]
		if budget == 0 {
			budget = budgets["medium"]
		}
		if p.MaxTokens == nil {
			t.maxTokens = max(t.maxTokens, min(budget+t.maxTokens, m.known.Output))
		}
		budget = min(budget, t.maxTokens/2)
		if t.isOn = budget >= least; t.isOn {
			t.thinking = map[string]any{"type": "enabled", "budget_tokens": budget}
		}
	}
	return t
}

// outputConfig is how hard the model should think and what its answer has to fit.
func (m *Model) outputConfig(p *troupe.Params, effort string) map[string]any {
	config := map[string]any{}
	if effort != "" {
		config["effort"] = effort
	}
	if len(p.Schema) > 0 && m.bindsTo(p.Schema) {
		config["format"] = map[string]any{"type": "json_schema", "schema": p.Schema}
	}
	if len(config) == 0 {
		return nil
	}
	return config
}

// bindsTo reports whether the server can be told of a schema: it takes only those
// whose objects are closed. Of others the prompt tells.
func (m *Model) bindsTo(schema json.RawMessage) bool {
	return !m.has(noSchema) && wire.IsClosed(schema, false)
}
