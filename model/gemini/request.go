package gemini

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// parts are the pieces of a request's body, in order. The messages and the tools
// among them were encoded when they were first sent.
func (m *Model) parts(req *troupe.Request, form messageForm) ([][]byte, error) {
	head, err := m.head(req)
	if err != nil {
		return nil, err
	}
	b := body{form: form, parts: [][]byte{head}}
	system := 0
	for system < len(req.Messages) && req.Messages[system].Role == troupe.RoleSystem {
		system++
	}
	b.system(req.Messages[:system], m.schemaPrompt(req))
	b.contents(req.Messages[system:])
	if req.Tools.Len() > 0 {
		b.add(req.Tools.Encoded(toolsEncoder{}, encodeTools))
	}
	b.add([]byte("}"))
	return b.parts, nil
}

// toolsEncoder is what the encoding of tools is kept under.
type toolsEncoder struct{}

// A body is a request's body in the making.
type body struct {
	form  messageForm
	parts [][]byte
	role  string // whose content is open: user, model or tool
}

func (b *body) add(parts ...[]byte) { b.parts = append(b.parts, parts...) }

// system adds what the model is told before the user speaks.
func (b *body) system(messages []*troupe.Message, more string) {
	comma := len(",")
	add := func(encoded []byte) {
		if len(encoded) == 0 {
			return
		}
		if comma > 0 {
			b.add([]byte(`"systemInstruction":{"parts":[`))
		}
		b.add(encoded[comma:])
		comma = 0
	}
	for _, message := range messages {
		add(message.Encoded(b.form, b.form.encode))
	}
	add(appendText(nil, more))
	if comma == 0 {
		b.add([]byte("]},"))
	}
}

// contents adds the conversation. All results of a turn go into one content, and
// nothing else with them. The user begins.
func (b *body) contents(messages []*troupe.Message) {
	b.add([]byte(`"contents":[`))
	for i, message := range messages {
		b.content(message)
		if b.form.generation >= 3 {
			continue
		}
		if shown := wire.ShownAfter(messages, i, isShown); shown != nil {
			b.content(shown)
		}
	}
	if b.role != "" {
		b.add([]byte("]}"))
	}
	b.add([]byte("]"))
}

func (b *body) content(message *troupe.Message) {
	encoded := message.Encoded(b.form, b.form.encode)
	if len(encoded) == 0 {
		return
	}
	role := "user"
	switch message.Role {
	case troupe.RoleAssistant:
		role = "model"
	case troupe.RoleTool:
		role = "tool"
	}
	if role == "model" && b.role == "" {
		b.open("user")
		b.add(appendText(nil, "(The conversation begins.)")[len(","):])
	}
	if role != b.role {
		b.open(role)
		encoded = encoded[len(","):]
	}
	b.add(encoded)
}

func (b *body) open(role string) {
	if b.role != "" {
		b.add([]byte("]},"))
	}
	b.role = role
	if role == "tool" {
		role = "user"
	}
	b.add([]byte(`{"role":"` + role + `","parts":[`))
}

// head is the beginning of a request, up to its system instruction.
func (m *Model) head(req *troupe.Request) ([]byte, error) {
	p := req.Params
	if p == nil {
		p = &troupe.Params{}
	}
	if err := wire.Refuse("gemini", p.Extra, "contents", "systemInstruction", "tools"); err != nil {
		return nil, err
	}
	f := wire.Fields{Data: []byte{'{'}, Package: "gemini"}
	config := m.generationConfig(req, p)
	if own, ok := p.Extra["generationConfig"].(map[string]any); ok {
		maps.Copy(config, own)
	}
	if len(config) > 0 {
		f.Add("generationConfig", config)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		if name != "generationConfig" {
			f.Add(name, p.Extra[name])
		}
	}
	return f.Data, f.Err
}

func (m *Model) generationConfig(req *troupe.Request, p *troupe.Params) map[string]any {
	config := map[string]any{}
	if p.Temperature != nil {
		config["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		config["topP"] = *p.TopP
	}
	if p.MaxTokens != nil {
		config["maxOutputTokens"] = *p.MaxTokens
	}
	if p.Seed != nil {
		config["seed"] = *p.Seed
	}
	if len(p.Stop) > 0 {
		config["stopSequences"] = p.Stop
	}
	if m.isBound(req) {
		config["responseMimeType"] = "application/json"
		config["responseJsonSchema"] = withoutConst(p.Schema)
	}
	if thinking := m.thinking(p.Effort); len(thinking) > 0 {
		config["thinkingConfig"] = thinking
	}
	return config
}

// isBound reports whether the answer is bound to a schema by the server, which older
// models are not where they have tools.
func (m *Model) isBound(req *troupe.Request) bool {
	return req.Params != nil && len(req.Params.Schema) > 0 && !m.has(noSchema) && (req.Tools.Len() == 0 || m.generation >= 3)
}

func (m *Model) schemaPrompt(req *troupe.Request) string {
	if req.Params == nil || len(req.Params.Schema) == 0 || m.isBound(req) {
		return ""
	}
	return wire.SchemaPrompt(req.Params.Schema)
}

// budgets are the tokens to think with, by effort, for models before Gemini 3.
var budgets = map[string]int{"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}

// thinking asks a model that thinks to show it, and says how hard it should.
func (m *Model) thinking(effort string) map[string]any {
	config := map[string]any{}
	if m.has(noThinking) || !strings.HasPrefix(m.name, "gemini-") {
		return config
	}
	if m.known.Reasoning {
		config["includeThoughts"] = true
	}
	switch {
	case effort == "":
	case m.generation >= 3:
		taken := m.known.Efforts
		if len(taken) == 0 {
			taken = []string{"low", "high"}
		}
		config["thinkingLevel"] = strings.ToUpper(wire.Effort(effort, taken))
	case effort == "none":
		config = map[string]any{"thinkingBudget": 0}
	case budgets[effort] > 0:
		config["thinkingBudget"] = budgets[effort]
	}
	return config
}

// withoutConst replaces const, which the API ignores, by an enum of one value.
func withoutConst(schema json.RawMessage) json.RawMessage {
	var root any
	if !strings.Contains(string(schema), `"const"`) || json.Unmarshal(schema, &root) != nil {
		return schema
	}
	data, err := json.Marshal(enumFor(root))
	if err != nil {
		return schema
	}
	return data
}

func enumFor(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = enumFor(value[i])
		}
	case map[string]any:
		for name, part := range value {
			value[name] = enumFor(part)
		}
		// A property may be called const, too: then it is a schema.
		if only, ok := value["const"]; ok && value["enum"] == nil {
			if _, isText := only.(string); isText {
				value["enum"] = []any{only}
				delete(value, "const")
			}
		}
	}
	return value
}
