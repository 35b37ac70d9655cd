package ollama

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// parts are the pieces of a request's body, in order. The messages and the tools
// among them were encoded when they were first sent.
func (m *Model) parts(req *troupe.Request) ([][]byte, error) {
	head, err := m.head(req)
	if err != nil {
		return nil, err
	}
	parts := [][]byte{head}
	comma := len(",")
	add := func(encoded []byte) {
		parts = append(parts, encoded[comma:])
		comma = 0
	}
	form := messageForm{host: m.host, model: m.name}
	if p := req.Params; p != nil && len(p.Schema) > 0 && !isBound(req) {
		add(form.encode(&troupe.Message{Role: troupe.RoleSystem, Text: wire.SchemaPrompt(p.Schema)}))
	}
	for _, message := range req.Messages {
		add(message.Encoded(form, form.encode))
	}
	parts = append(parts, []byte("]"))
	if req.Tools.Len() > 0 {
		parts = append(parts, req.Tools.Encoded(toolsEncoder{}, encodeTools))
	}
	return append(parts, []byte("}")), nil
}

// isBound reports whether the answer is bound to the schema by the server. With tools
// it is not, because then the model could not call any.
func isBound(req *troupe.Request) bool { return req.Tools.Len() == 0 }

// toolsEncoder is what the encoding of tools is kept under.
type toolsEncoder struct{}

// head is the beginning of a request, up to its messages.
func (m *Model) head(req *troupe.Request) ([]byte, error) {
	p := req.Params
	if p == nil {
		p = &troupe.Params{}
	}
	if err := wire.Refuse("ollama", p.Extra, "messages", "stream", "tools"); err != nil {
		return nil, err
	}
	f := wire.Fields{Data: []byte{'{'}, Package: "ollama", Except: p.Extra}
	f.Add("model", m.name)
	f.Add("stream", true)
	if len(p.Schema) > 0 && isBound(req) {
		f.Add("format", p.Schema)
	}
	if think := thinking(m.name, p.Effort); think != nil && !m.lessons.Has(cannotThink) {
		f.Add("think", think)
	}
	f.Except = nil
	if options := m.options(p); len(options) > 0 {
		f.Add("options", options)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		if name != "options" {
			f.Add(name, p.Extra[name])
		}
	}
	return append(f.Data, `"messages":[`...), f.Err
}

// thinking is what the server is told about thinking: nothing, whether to, or how
// hard, which only gpt-oss has words for.
func thinking(model, effort string) any {
	switch {
	case effort == "":
		return nil
	case effort == "none":
		return false
	case strings.Contains(model, "gpt-oss"):
		return wire.Effort(effort, []string{"low", "medium", "high"})
	}
	return true
}

// options are the model's settings. Those that the caller gives as they are go
// before the others.
func (m *Model) options(p *troupe.Params) map[string]any {
	options := map[string]any{}
	if m.contextLength > 0 {
		options["num_ctx"] = m.contextLength
	}
	if p.Temperature != nil {
		options["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		options["top_p"] = *p.TopP
	}
	if p.MaxTokens != nil {
		options["num_predict"] = *p.MaxTokens
	}
	if p.Seed != nil {
		options["seed"] = *p.Seed
	}
	if len(p.Stop) > 0 {
		options["stop"] = p.Stop
	}
	if own, ok := p.Extra["options"].(map[string]any); ok {
		maps.Copy(options, own)
	}
	return options
}

// A messageForm is how messages are encoded, and what their encodings are kept under.
type messageForm struct{ host, model string }

func (f messageForm) by() wire.By { return wire.By{API: "ollama", Host: f.host, Model: f.model} }

// encode is a message as the API wants it, behind a comma.
func (f messageForm) encode(m *troupe.Message) []byte {
	text := m.Text
	var images []*troupe.Part
	for i := range m.Parts {
		p := &m.Parts[i]
		if strings.HasPrefix(p.MIME, "image/") && len(p.Data) > 0 {
			images = append(images, p)
		} else {
			text = strings.TrimPrefix(text+"\n\n"+wire.PartText(p), "\n\n")
		}
	}
	if m.Refusal != "" {
		text = strings.TrimPrefix(text+"\n"+m.Refusal, "\n")
	}
	dst := append(make([]byte, 0, len(text)+len(text)/8+64), `,{"role":`...)
	dst = wire.AppendString(dst, string(m.Role))
	dst = append(dst, `,"content":`...)
	dst = wire.AppendString(dst, text)
	for i, p := range images {
		dst = append(dst, [2]string{`,"images":["`, `,"`}[min(i, 1)]...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		dst = append(dst, '"')
	}
	if len(images) > 0 {
		dst = append(dst, ']')
	}
	switch m.Role {
	case troupe.RoleAssistant:
		// A thought goes back to the model that had it.
		if _, own := wire.Blocks(m, f.by(), nil); own && m.Thought != "" {
			dst = append(dst, `,"thinking":`...)
			dst = wire.AppendString(dst, m.Thought)
		}
		dst = appendCalls(dst, m.Calls)
	case troupe.RoleTool:
		if m.Tool != "" {
			dst = append(dst, `,"tool_name":`...)
			dst = wire.AppendString(dst, m.Tool)
		}
		dst = append(dst, `,"tool_call_id":`...)
		dst = wire.AppendString(dst, m.CallID)
	}
	return append(dst, '}')
}

func appendCalls(dst []byte, calls []troupe.ToolCall) []byte {
	if len(calls) == 0 {
		return dst
	}
	dst = append(dst, `,"tool_calls":[`...)
	for i, call := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = wire.AppendString(dst, call.ID)
		dst = append(dst, `,"function":{"name":`...)
		dst = wire.AppendString(dst, call.Name)
		dst = append(dst, `,"arguments":`...)
		dst = append(dst, wire.Arguments(call.Arguments)...)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}

// encodeTools is the request's field for a set of tools, behind a comma.
func encodeTools(set *troupe.ToolSet) []byte {
	dst := []byte(`,"tools":[`)
	for i, spec := range set.Specs() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","function":{"name":`...)
		dst = wire.AppendString(dst, spec.Name)
		dst = append(dst, `,"description":`...)
		dst = wire.AppendString(dst, spec.Description)
		dst = append(dst, `,"parameters":`...)
		dst = append(dst, spec.Input...)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}
