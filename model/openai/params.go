package openai

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// head is the beginning of a request, up to its messages.
func (m *Model) head(req *troupe.Request) ([]byte, error) {
	p := req.Params
	if p == nil {
		p = &troupe.Params{}
	}
	for _, own := range []string{"messages", "stream", "tools"} {
		if _, ok := p.Extra[own]; ok {
			return nil, fmt.Errorf("openai: extra parameter %s: the client sets it itself", own)
		}
	}
	f := wire.Fields{Data: []byte{'{'}, Package: "openai", Except: p.Extra}
	f.Add("model", m.name)
	f.Add("stream", true)
	if !m.quirks.NoStreamOptions && !m.learned.Has(noStreamOptions) {
		f.Add("stream_options", map[string]bool{"include_usage": true})
	}
	if p.Temperature != nil && !m.quirks.NoTemperature && !m.learned.Has(noTemperature) {
		f.Add("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		f.Add("top_p", *p.TopP)
	}
	if p.MaxTokens != nil {
		f.Add(m.maxTokensField(), *p.MaxTokens)
	}
	if p.Seed != nil {
		f.Add(orElse(m.quirks.SeedField, "seed"), *p.Seed)
	}
	if len(p.Stop) > 0 {
		f.Add("stop", p.Stop)
	}
	if p.Effort != "" && !m.learned.Has(noEffort) {
		f.Add("reasoning_effort", wire.Effort(p.Effort, m.efforts))
	}
	if format := responseFormat(m.schemaLevel(req), p); format != nil {
		f.Add("response_format", format)
	}
	if field := m.quirks.SessionField; field != "" && req.Session != "" && len(req.Session) <= maxSession && !m.learned.Has(noSession) {
		f.Add(field, req.Session)
	}
	f.Except = nil
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		f.Add(name, p.Extra[name])
	}
	return append(f.Data, `"messages":[`...), f.Err
}

// maxSession is how long a prompt_cache_key may be.
const maxSession = 64

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// maxTokensField is how the server calls the limit of an answer's tokens.
func (m *Model) maxTokensField() string {
	const older, newer = "max_tokens", "max_completion_tokens"
	field := m.quirks.MaxTokensField
	if field == "" {
		field = older
		if wantsNewField(m.name) {
			field = newer
		}
	}
	if m.learned.Has(otherTokensField) {
		switch field {
		case older:
			return newer
		case newer:
			return older
		}
	}
	return field
}

// wantsNewField knows the models of OpenAI that refuse max_tokens: o1, o3 and their
// kin, and GPT from 5 on. A vendor's prefix, as in openai/gpt-5, is no matter.
func wantsNewField(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	return generation(model, "gpt-") >= 5 || generation(model, "o") >= 1
}

// generation is the number behind the prefix, if nothing but a hyphen or a dot
// follows it: 5 of gpt-5.1, 0 of gpt-4o.
func generation(model, prefix string) int {
	rest, ok := strings.CutPrefix(model, prefix)
	if !ok {
		return 0
	}
	if end := strings.IndexAny(rest, "-."); end >= 0 {
		rest = rest[:end]
	}
	n, _ := strconv.Atoi(rest)
	return n
}

// responseFormat is the wish for an answer of a schema, nil where there is none or
// where only the prompt can tell of it.
func responseFormat(level provider.SchemaLevel, p *troupe.Params) any {
	if len(p.Schema) == 0 || level == provider.SchemaPrompt {
		return nil
	}
	if level == provider.SchemaObject {
		return map[string]any{"type": "json_object"}
	}
	schema := map[string]any{"name": wire.SchemaName(p.SchemaName), "schema": p.Schema}
	if level == provider.SchemaStrict && wire.IsClosed(p.Schema, true) {
		schema["strict"] = true
	}
	return map[string]any{"type": "json_schema", "json_schema": schema}
}
