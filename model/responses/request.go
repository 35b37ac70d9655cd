package responses

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
	parts := [][]byte{head}
	comma := len(",")
	add := func(items []byte) {
		if len(items) > 0 {
			parts = append(parts, items[comma:])
			comma = 0
		}
	}
	if p := req.Params; p != nil && len(p.Schema) > 0 && m.has(noSchema) {
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

// toolsEncoder is what the encoding of tools is kept under.
type toolsEncoder struct{}

// maxSession is how long a prompt_cache_key may be.
const maxSession = 64

// head is the beginning of a request, up to its input.
func (m *Model) head(req *troupe.Request) ([]byte, error) {
	p := req.Params
	if p == nil {
		p = &troupe.Params{}
	}
	if err := wire.Refuse("responses", p.Extra, "input", "stream", "tools", "store", "previous_response_id", "conversation", "background"); err != nil {
		return nil, err
	}
	f := wire.Fields{Data: []byte{'{'}, Package: "responses", Except: p.Extra}
	f.Add("model", m.name)
	f.Add("stream", true)
	f.Add("store", false)
	isKnown := m.known.Name != ""
	if (m.known.Reasoning || !isKnown) && !m.has(noEncrypted) {
		f.Add("include", []string{"reasoning.encrypted_content"})
	}
	if reasoning := m.reasoning(p.Effort); len(reasoning) > 0 {
		f.Add("reasoning", reasoning)
	}
	if !m.known.NoTemperature && !m.has(noTemperature) {
		if p.Temperature != nil {
			f.Add("temperature", *p.Temperature)
		}
		if p.TopP != nil {
			f.Add("top_p", *p.TopP)
		}
	}
	if p.MaxTokens != nil {
		f.Add("max_output_tokens", *p.MaxTokens)
	}
	if format := m.format(p); format != nil {
		f.Add("text", map[string]any{"format": format})
	}
	if req.Session != "" && len(req.Session) <= maxSession && !m.has(noSession) {
		f.Add("prompt_cache_key", req.Session)
	}
	if p.Seed != nil || len(p.Stop) > 0 {
		m.client.Note("the Responses API has neither a seed nor stop words: they are left out")
	}
	f.Except = nil
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		f.Add(name, p.Extra[name])
	}
	return append(f.Data, `"input":[`...), f.Err
}

// reasoning says how hard to think, and asks a model that does to show some of it.
func (m *Model) reasoning(effort string) map[string]any {
	config := map[string]any{}
	if m.has(noEffort) {
		return config
	}
	if effort != "" {
		config["effort"] = wire.Effort(effort, m.known.Efforts)
	}
	if m.known.Reasoning && !m.has(noSummary) {
		config["summary"] = "auto"
	}
	return config
}

// format binds the answer to a schema, to the letter where the model and the schema
// allow it.
func (m *Model) format(p *troupe.Params) map[string]any {
	if len(p.Schema) == 0 || m.has(noSchema) {
		return nil
	}
	strict := m.known.Strict && !m.has(noStrict) && wire.IsClosed(p.Schema, true)
	return map[string]any{"type": "json_schema", "name": wire.SchemaName(p.SchemaName), "schema": p.Schema, "strict": strict}
}

// A messageForm is how messages are encoded, and what their encodings are kept under.
type messageForm struct {
	host, model      string
	withoutReasoning bool
}

func (f messageForm) by() wire.By { return wire.By{API: "responses", Host: f.host, Model: f.model} }

// encode is the list of items that a message becomes, each behind a comma.
func (f messageForm) encode(m *troupe.Message) []byte {
	dst := make([]byte, 0, len(m.Text)+len(m.Text)/8+64)
	switch m.Role {
	case troupe.RoleAssistant:
		return f.appendAssistant(dst, m)
	case troupe.RoleTool:
		dst = append(dst, `,{"type":"function_call_output","call_id":`...)
		dst = wire.AppendString(dst, callID(m.CallID))
		dst = append(dst, `,"output":`...)
		return append(wire.AppendContent(dst, m, appendText, appendPart), '}')
	}
	dst = append(dst, `,{"role":`...)
	dst = wire.AppendString(dst, string(m.Role))
	dst = append(dst, `,"content":`...)
	return append(wire.AppendContent(dst, m, appendText, appendPart), '}')
}

// callID keeps an id within what the API takes.
func callID(id string) string { return wire.CallID(id, id != "" && len(id) <= 64, 24) }

// reasoningData is what is kept of a reasoning item beside its encrypted content: its
// id, and how long the pieces of its thought are.
type reasoningData struct {
	ID      string `json:"id,omitempty"`
	Summary []int  `json:"summary,omitempty"`
	Content []int  `json:"content,omitempty"`
}

// itemData is what is kept of a message or a call beside what it says.
type itemData struct {
	Phase     string `json:"phase,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// appendAssistant adds what a model said: item by item as it came, if the message
// came from here, and else its text and its calls.
func (f messageForm) appendAssistant(dst []byte, m *troupe.Message) []byte {
	blocks, ok := wire.Blocks(m, f.by(), nil)
	if !ok || f.withoutReasoning {
		dst = appendSaid(dst, m.Text, "")
		dst = appendSaid(dst, m.Refusal, "")
		for _, call := range m.Calls {
			dst = appendCall(dst, call, "")
		}
		return dst
	}
	for i, b := range blocks {
		var data itemData
		_ = json.Unmarshal(b.Data, &data) // what is not there is empty
		switch b.Kind {
		case wire.TextBlock:
			dst = appendSaid(dst, m.Text[b.From:b.To], data.Phase)
		case wire.ThoughtBlock:
			// Reasoning is refused without what followed it, and without its encrypted form.
			if b.Signature != "" && i < len(blocks)-1 {
				dst = appendReasoning(dst, m.Thought[b.From:b.To], b)
			}
		case wire.CallBlock:
			dst = appendCall(dst, b.CallOf(m), data.Namespace)
		case wire.OtherBlock:
			dst = append(append(dst, ','), b.Data...)
		}
	}
	return appendSaid(dst, m.Refusal, "")
}

func appendSaid(dst []byte, text, phase string) []byte {
	if text == "" {
		return dst
	}
	dst = append(dst, `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":`...)
	dst = append(wire.AppendString(dst, text), "}]"...)
	if phase != "" {
		dst = append(dst, `,"phase":`...)
		dst = wire.AppendString(dst, phase)
	}
	return append(dst, '}')
}

func appendCall(dst []byte, call troupe.ToolCall, namespace string) []byte {
	dst = append(dst, `,{"type":"function_call","call_id":`...)
	dst = wire.AppendString(dst, callID(call.ID))
	dst = append(dst, `,"name":`...)
	dst = wire.AppendString(dst, call.Name)
	if namespace != "" {
		dst = append(dst, `,"namespace":`...)
		dst = wire.AppendString(dst, namespace)
	}
	dst = append(dst, `,"arguments":`...)
	dst = wire.AppendString(dst, wire.Arguments(call.Arguments))
	return append(dst, '}')
}

func appendReasoning(dst []byte, thought string, b *wire.Block) []byte {
	var data reasoningData
	_ = json.Unmarshal(b.Data, &data) // what is not there is empty
	dst = append(dst, `,{"type":"reasoning"`...)
	if data.ID != "" {
		dst = append(dst, `,"id":`...)
		dst = wire.AppendString(dst, data.ID)
	}
	dst = append(dst, `,"summary":[`...)
	dst, thought = appendPieces(dst, "summary_text", thought, data.Summary)
	dst = append(dst, ']')
	if len(data.Content) > 0 {
		dst = append(dst, `,"content":[`...)
		dst, _ = appendPieces(dst, "reasoning_text", thought, data.Content)
		dst = append(dst, ']')
	}
	dst = append(dst, `,"encrypted_content":`...)
	return append(wire.AppendString(dst, b.Signature), '}')
}

// appendPieces adds pieces of a thought and returns the rest of it.
func appendPieces(dst []byte, kind, thought string, lengths []int) ([]byte, string) {
	for i, n := range lengths {
		if n < 0 || n > len(thought) {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"`+kind+`","text":`...)
		dst = append(wire.AppendString(dst, thought[:n]), '}')
		thought = thought[n:]
	}
	return dst, thought
}

func appendText(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"input_text","text":`...)
	return append(wire.AppendString(dst, text), '}')
}

// appendPart adds a part in the form the API has for its type: pictures and PDF have
// one, and everything else is told as text.
func appendPart(dst []byte, p *troupe.Part) []byte {
	switch {
	case strings.HasPrefix(p.MIME, "image/"):
		dst = append(dst, `{"type":"input_image","image_url":`...)
		return append(wire.AppendURL(dst, p), '}')
	case p.MIME == "application/pdf" && len(p.Data) == 0:
		dst = append(dst, `{"type":"input_file","file_url":`...)
		return append(wire.AppendString(dst, p.URL), '}')
	case p.MIME == "application/pdf":
		name := p.Name
		if name == "" {
			name = "file.pdf"
		}
		dst = append(dst, `{"type":"input_file","filename":`...)
		dst = wire.AppendString(dst, name)
		dst = append(dst, `,"file_data":`...)
		return append(wire.AppendURL(dst, p), '}')
	}
	return appendText(dst, wire.PartText(p))
}

// encodeTools is the request's field for a set of tools, behind a comma. Without a
// word the API would take their schemas for strict ones.
func encodeTools(set *troupe.ToolSet) []byte {
	dst := []byte(`,"tools":[`)
	for i, spec := range set.Specs() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","name":`...)
		dst = wire.AppendString(dst, spec.Name)
		dst = append(dst, `,"description":`...)
		dst = wire.AppendString(dst, spec.Description)
		dst = append(dst, `,"parameters":`...)
		dst = append(dst, spec.Input...)
		dst = append(dst, `,"strict":false}`...)
	}
	return append(dst, ']')
}
