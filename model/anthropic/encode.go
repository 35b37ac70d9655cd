package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A messageForm is how messages are encoded, and what their encodings are kept under.
type messageForm struct {
	host, model     string
	withoutThoughts bool
}

func (f messageForm) by() wire.By { return wire.By{API: "messages", Host: f.host, Model: f.model} }

// encode is the list of a message's blocks, each behind a comma. It is empty for a
// message that says nothing, because the API refuses empty texts.
func (f messageForm) encode(m *troupe.Message) []byte {
	dst := make([]byte, 0, len(m.Text)+len(m.Text)/8+64)
	switch m.Role {
	case troupe.RoleAssistant:
		return f.appendAssistant(dst, m)
	case troupe.RoleTool:
		return appendResult(dst, m)
	}
	for i := range m.Parts {
		dst = appendPart(dst, &m.Parts[i])
	}
	return appendText(dst, m.Text)
}

// appendText adds a text behind a comma, unless there is nothing in it.
func appendText(dst []byte, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return dst
	}
	dst = append(dst, `,{"type":"text","text":`...)
	return append(wire.AppendString(dst, text), '}')
}

// appendAssistant adds what a model said: block by block as it came, if the message
// came from here, and else its text and its calls.
func (f messageForm) appendAssistant(dst []byte, m *troupe.Message) []byte {
	blocks, ok := wire.Blocks(m, f.by(), sameModel)
	if !ok || f.withoutThoughts {
		dst = appendText(dst, m.Text)
		dst = appendText(dst, m.Refusal)
		for _, call := range m.Calls {
			dst = appendCall(dst, call)
		}
		return dst
	}
	for _, b := range blocks {
		switch b.Kind {
		case wire.TextBlock:
			dst = appendText(dst, m.Text[b.From:b.To])
		case wire.ThoughtBlock:
			if b.Signature != "" {
				dst = append(dst, `,{"type":"thinking","thinking":`...)
				dst = wire.AppendString(dst, m.Thought[b.From:b.To])
				dst = append(dst, `,"signature":`...)
				dst = append(wire.AppendString(dst, b.Signature), '}')
			}
		case wire.CallBlock:
			dst = appendCall(dst, b.CallOf(m))
		case wire.OtherBlock:
			dst = append(append(dst, ','), b.Data...)
		}
	}
	return appendText(dst, m.Refusal)
}

var (
	vendor  = regexp.MustCompile(`^.*claude`)
	version = regexp.MustCompile(`(-v\d+)?(:\d+)?$`)
	date    = regexp.MustCompile(`(-latest|[-@]\d{8})$`)
)

// sameModel reports whether two names are of one model, dated or not, under
// whichever vendor's prefix.
func sameModel(a, b string) bool { return modelOf(a) == modelOf(b) }

func modelOf(name string) string {
	name = vendor.ReplaceAllString(strings.ToLower(name), "claude")
	return date.ReplaceAllString(version.ReplaceAllString(name, ""), "")
}

func appendCall(dst []byte, call troupe.ToolCall) []byte {
	dst = append(dst, `,{"type":"tool_use","id":`...)
	dst = wire.AppendString(dst, callID(call.ID))
	dst = append(dst, `,"name":`...)
	dst = wire.AppendString(dst, call.Name)
	dst = append(dst, `,"input":`...)
	dst = append(dst, wire.Arguments(call.Arguments)...)
	return append(dst, '}')
}

func callID(id string) string { return wire.CallID(id, wire.IsPlainID(id), 24) }

// appendResult adds what a tool returned, as a list where there is more than text.
func appendResult(dst []byte, m *troupe.Message) []byte {
	dst = append(dst, `,{"type":"tool_result","tool_use_id":`...)
	dst = wire.AppendString(dst, callID(m.CallID))
	dst = append(dst, `,"content":`...)
	if len(m.Parts) == 0 {
		return append(wire.AppendString(dst, m.Text), '}')
	}
	list := appendText(nil, m.Text)
	for i := range m.Parts {
		list = appendPart(list, &m.Parts[i])
	}
	dst = append(dst, '[')
	if len(list) > 0 {
		dst = append(dst, list[len(","):]...)
	}
	return append(dst, "]}"...)
}

// appendPart adds a part in the form the API has for its type: pictures and PDF have
// one, and everything else is told as text.
func appendPart(dst []byte, p *troupe.Part) []byte {
	switch kind, _, _ := strings.Cut(p.MIME, "/"); {
	case kind == "image":
		dst = append(dst, `,{"type":"image","source":`...)
		return append(appendSource(dst, p), '}')
	case p.MIME == "application/pdf":
		dst = append(dst, `,{"type":"document","source":`...)
		dst = appendSource(dst, p)
		if p.Name != "" {
			dst = append(dst, `,"title":`...)
			dst = wire.AppendString(dst, p.Name)
		}
		return append(dst, '}')
	}
	return appendText(dst, wire.PartText(p))
}

// appendSource adds where a part is, or the part itself.
func appendSource(dst []byte, p *troupe.Part) []byte {
	if len(p.Data) == 0 {
		dst = append(dst, `{"type":"url","url":`...)
		return append(wire.AppendString(dst, p.URL), '}')
	}
	dst = append(dst, `{"type":"base64","media_type":`...)
	dst = wire.AppendString(dst, p.MIME)
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Data)
	return append(dst, `"}`...)
}

// encodeTools is the request's field for a set of tools, behind a comma.
func encodeTools(set *troupe.ToolSet) []byte {
	dst := []byte(`,"tools":[`)
	for i, spec := range set.Specs() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = wire.AppendString(dst, spec.Name)
		if spec.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = wire.AppendString(dst, spec.Description)
		}
		dst = append(dst, `,"input_schema":`...)
		dst = append(dst, inputSchema(spec.Input)...)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// inputSchema is a tool's schema, which must say that it is an object.
func inputSchema(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || fields == nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	if fields["type"] != nil {
		return schema
	}
	fields["type"] = json.RawMessage(`"object"`)
	if data, err := json.Marshal(fields); err == nil {
		return data
	}
	return schema
}
