package openai

import (
	"encoding/json"
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
	if !m.quirks.NoStreamOptions && !m.learned.has(noStreamOptions) {
		f.Add("stream_options", map[string]bool{"include_usage": true})
	}
	if p.Temperature != nil && !m.quirks.NoTemperature && !m.learned.has(noTemperature) {
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
	if p.Effort != "" && !m.learned.has(noEffort) {
		f.Add("reasoning_effort", nearestEffort(p.Effort, m.efforts))
	}
	if format := responseFormat(m.schemaLevel(req), p); format != nil {
		f.Add("response_format", format)
	}
	if field := m.quirks.SessionField; field != "" && req.Session != "" && len(req.Session) <= maxSession && !m.learned.has(noSession) {
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
	if m.learned.has(otherTokensField) {
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

// efforts are the words for effort that any model takes, from the least to the most.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// nearestEffort is the word of those that a model takes which is nearest to the one
// that is wished for.
func nearestEffort(wish string, taken []string) string {
	at := slices.Index(efforts, wish)
	if at < 0 || len(taken) == 0 || slices.Contains(taken, wish) {
		return wish
	}
	nearest, distance := wish, len(efforts)
	for _, word := range taken {
		if i := slices.Index(efforts, word); i >= 0 && max(i-at, at-i) < distance {
			nearest, distance = word, max(i-at, at-i)
		}
	}
	return nearest
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
	schema := map[string]any{"name": schemaName(p.SchemaName), "schema": p.Schema}
	if level == provider.SchemaStrict && isStrict(p.Schema) {
		schema["strict"] = true
	}
	return map[string]any{"type": "json_schema", "json_schema": schema}
}

// schemaName makes a name one that servers take.
func schemaName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	return orElse(name[:min(len(name), 64)], "answer")
}

// isStrict reports whether a schema can be enforced to the letter: every object in
// it wants all of its properties and no others.
func isStrict(schema json.RawMessage) bool {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return false
	}
	object, _ := root.(map[string]any)
	return object["type"] == "object" && isStrictPart(root, 0)
}

func isStrictPart(value any, depth int) bool {
	if depth > 64 {
		return false
	}
	switch value := value.(type) {
	case []any:
		return !slices.ContainsFunc(value, func(part any) bool { return !isStrictPart(part, depth+1) })
	case map[string]any:
		if value["type"] == "object" && !wantsAll(value) {
			return false
		}
		for _, part := range value {
			if !isStrictPart(part, depth+1) {
				return false
			}
		}
	}
	return true
}

func wantsAll(object map[string]any) bool {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return object["additionalProperties"] == false
}

// schemaPrompt is what tells a model of a schema that its server cannot be told of.
func schemaPrompt(schema json.RawMessage) string {
	return "Answer with one JSON value that fits this JSON schema, and with nothing else: no prose and no code fence.\n\n" + string(schema)
}
