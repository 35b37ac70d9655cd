package gemini

import (
	"encoding/base64"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A messageForm is how messages are encoded, and what their encodings are kept under.
type messageForm struct {
	host, model       string
	generation        int
	withoutSignatures bool
}

func (f messageForm) by() wire.By { return wire.By{API: "gemini", Host: f.host, Model: f.model} }

// unsigned stands in place of the signature that Gemini 3 and later want on calls, for
// calls that another model has made: "skip_thought_signature_validator" in base64.
const unsigned = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

// encode is the list of a message's parts, each behind a comma. It is empty for a
// message that says nothing.
func (f messageForm) encode(m *troupe.Message) []byte {
	dst := make([]byte, 0, len(m.Text)+len(m.Text)/8+64)
	switch m.Role {
	case troupe.RoleAssistant:
		return f.appendModel(dst, m)
	case troupe.RoleTool:
		return f.appendResult(dst, m)
	}
	dst = appendText(dst, m.Text)
	for i := range m.Parts {
		dst = appendPart(dst, &m.Parts[i])
	}
	return dst
}

// appendText adds a text behind a comma, unless it is empty.
func appendText(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(dst, `,{"text":`...)
	return append(wire.AppendString(dst, text), '}')
}

// appendModel adds what a model said: part by part as it came, if the message came
// from here, and else its text and its calls.
func (f messageForm) appendModel(dst []byte, m *troupe.Message) []byte {
	blocks, ok := wire.Blocks(m, f.by(), nil)
	if !ok || f.withoutSignatures {
		dst = appendText(dst, m.Text)
		dst = appendText(dst, m.Refusal)
		for i, call := range m.Calls {
			signature := ""
			if i == 0 && f.generation >= 3 {
				signature = unsigned
			}
			dst = appendCall(dst, call, signature)
		}
		return dst
	}
	for _, b := range blocks {
		switch b.Kind {
		case wire.TextBlock:
			if b.From == b.To && b.Signature == "" {
				continue
			}
			dst = append(dst, `,{"text":`...)
			dst = appendSignature(wire.AppendString(dst, m.Text[b.From:b.To]), b.Signature)
		case wire.ThoughtBlock:
			dst = append(dst, `,{"thought":true,"text":`...)
			dst = appendSignature(wire.AppendString(dst, m.Thought[b.From:b.To]), b.Signature)
		case wire.CallBlock:
			dst = appendCall(dst, b.CallOf(m), b.Signature)
		case wire.OtherBlock:
			dst = append(append(dst, ','), b.Data...)
		}
	}
	return appendText(dst, m.Refusal)
}

// appendSignature adds the end of a part.
func appendSignature(dst []byte, signature string) []byte {
	if signature != "" {
		dst = append(dst, `,"thoughtSignature":`...)
		dst = wire.AppendString(dst, signature)
	}
	return append(dst, '}')
}

func appendCall(dst []byte, call troupe.ToolCall, signature string) []byte {
	dst = append(dst, `,{"functionCall":{"id":`...)
	dst = wire.AppendString(dst, call.ID)
	dst = append(dst, `,"name":`...)
	dst = wire.AppendString(dst, call.Name)
	dst = append(dst, `,"args":`...)
	dst = append(dst, wire.Arguments(call.Arguments)...)
	return appendSignature(append(dst, '}'), signature)
}

// isShown reports whether a part of a result is more than text.
func isShown(p *troupe.Part) bool { return len(p.Data) > 0 && !wire.IsText(p.MIME) }

// appendResult adds what a tool returned. Pictures and files go with it from Gemini 3
// on; for older models they follow as the user's.
func (f messageForm) appendResult(dst []byte, m *troupe.Message) []byte {
	text := m.Text
	var shown []byte
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case !isShown(p):
			text = strings.TrimPrefix(text+"\n\n"+wire.PartText(p), "\n\n")
		case f.generation >= 3:
			shown = appendPart(shown, p)
		}
	}
	name := m.Tool
	if name == "" {
		name = "tool"
	}
	dst = append(dst, `,{"functionResponse":{"id":`...)
	dst = wire.AppendString(dst, m.CallID)
	dst = append(dst, `,"name":`...)
	dst = wire.AppendString(dst, name)
	dst = append(dst, `,"response":{"result":`...)
	dst = append(wire.AppendString(dst, text), '}')
	if len(shown) > 0 {
		dst = append(dst, `,"parts":[`...)
		dst = append(append(dst, shown[len(","):]...), ']')
	}
	return append(dst, "}}"...)
}

// appendPart adds a part: the data itself, or where it is.
func appendPart(dst []byte, p *troupe.Part) []byte {
	switch {
	case isShown(p):
		dst = append(dst, `,{"inlineData":{"mimeType":`...)
		dst = wire.AppendString(dst, p.MIME)
		dst = append(dst, `,"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		return append(dst, `"}}`...)
	case len(p.Data) == 0 && p.URL != "" && !wire.IsText(p.MIME):
		dst = append(dst, `,{"fileData":{"mimeType":`...)
		dst = wire.AppendString(dst, p.MIME)
		dst = append(dst, `,"fileUri":`...)
		return append(wire.AppendString(dst, p.URL), "}}"...)
	}
	return appendText(dst, wire.PartText(p))
}

// encodeTools is the request's field for a set of tools, behind a comma.
func encodeTools(set *troupe.ToolSet) []byte {
	dst := []byte(`,"tools":[{"functionDeclarations":[`)
	for i, spec := range set.Specs() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = wire.AppendString(dst, spec.Name)
		dst = append(dst, `,"description":`...)
		dst = wire.AppendString(dst, spec.Description)
		dst = append(dst, `,"parametersJsonSchema":`...)
		dst = append(dst, withoutConst(spec.Input)...)
		dst = append(dst, '}')
	}
	return append(dst, "]}]"...)
}
