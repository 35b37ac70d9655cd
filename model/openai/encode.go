package openai

import (
	"encoding/json"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// A messageForm is how a server wants messages. Encodings are kept under it, so that
// models with the same one share what is encoded.
type messageForm struct {
	host          string
	ids           provider.IDForm
	reasoningBack bool
}

// encodeMessage is a message as the API wants it, behind a comma: a request puts
// such pieces one after the other and leaves out the first comma.
func encodeMessage(m *troupe.Message, form messageForm) []byte {
	dst := make([]byte, 0, len(m.Text)+len(m.Text)/8+64)
	dst = append(dst, `,{"role":`...)
	dst = wire.AppendString(dst, string(m.Role))
	switch m.Role {
	case troupe.RoleAssistant:
		dst = appendAssistant(dst, m, form)
	case troupe.RoleTool:
		dst = append(dst, `,"tool_call_id":`...)
		dst = wire.AppendString(dst, callID(m.CallID, form.ids))
		dst = append(dst, `,"content":`...)
		dst = wire.AppendString(dst, resultText(m))
	default:
		dst = appendContent(dst, m)
	}
	return append(dst, '}')
}

// encodeMarked is a message with a mark at its end that asks to cache all up to it.
func encodeMarked(m *troupe.Message, form messageForm) []byte {
	dst := []byte(`,{"role":`)
	dst = wire.AppendString(dst, string(m.Role))
	if m.Role == troupe.RoleTool {
		dst = append(dst, `,"tool_call_id":`...)
		dst = wire.AppendString(dst, callID(m.CallID, form.ids))
	}
	dst = append(dst, `,"content":[`...)
	text := m.Text
	if m.Role == troupe.RoleTool {
		text = resultText(m)
	} else {
		for i := range m.Parts {
			dst = append(appendPart(dst, &m.Parts[i]), ',')
		}
	}
	dst = append(dst, `{"type":"text","text":`...)
	dst = wire.AppendString(dst, text)
	return append(dst, `,"cache_control":{"type":"ephemeral"}}]}`...)
}

// callID is a call's id in the form that a server insists on. An id that has another
// form, because it came from elsewhere, is replaced by a digest of it, which is the
// same in the call and in its answer.
func callID(id string, form provider.IDForm) string {
	isPlain := func(c rune) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	fits, length := true, 24
	switch form {
	case provider.ShortID:
		fits = len(id) <= 40
	case provider.NineID:
		fits, length = len(id) == 9 && !strings.ContainsFunc(id, func(c rune) bool { return !isPlain(c) }), 9
	case provider.StrictID:
		fits = wire.IsPlainID(id)
	}
	return wire.CallID(id, fits, length)
}

// appendAssistant adds what a model said. A refusal goes back as content, which
// every server takes. Reasoning goes back under the name it came with, and only to
// the host it came from: some insist on it, others refuse a request that has it.
func appendAssistant(dst []byte, m *troupe.Message, form messageForm) []byte {
	said := m.Text
	if m.Refusal != "" {
		said = strings.TrimPrefix(m.Text+"\n"+m.Refusal, "\n")
	}
	kept, own := readKept(m.Opaque, form.host)
	thought := m.Thought
	if !own {
		thought = ""
	}
	switch {
	case thought != "" && m.ThoughtField == thinkingPart:
		dst = append(dst, `,"content":[{"type":"thinking","thinking":[`...)
		dst = append(appendTextPart(dst, thought), "]}"...)
		if said != "" {
			dst = appendTextPart(append(dst, ','), said)
		}
		dst = append(dst, ']')
	case said == "" && len(m.Calls) > 0:
		dst = append(dst, `,"content":null`...)
	default:
		dst = append(dst, `,"content":`...)
		dst = wire.AppendString(dst, said)
	}
	switch {
	case form.reasoningBack && len(m.Calls) > 0:
		if m.ThoughtField != "reasoning_content" {
			thought = ""
		}
		dst = append(dst, `,"reasoning_content":`...)
		dst = wire.AppendString(dst, thought)
	case thought != "" && (m.ThoughtField == "reasoning_content" || m.ThoughtField == "reasoning"):
		dst = append(dst, `,"`+m.ThoughtField+`":`...)
		dst = wire.AppendString(dst, thought)
	}
	dst = appendCalls(dst, m.Calls, kept.Calls, form.ids)
	return kept.append(dst)
}

func appendCalls(dst []byte, calls []troupe.ToolCall, extra map[string]json.RawMessage, ids provider.IDForm) []byte {
	if len(calls) == 0 {
		return dst
	}
	dst = append(dst, `,"tool_calls":[`...)
	for i, call := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = wire.AppendString(dst, callID(call.ID, ids))
		dst = append(dst, `,"type":"function","function":{"name":`...)
		dst = wire.AppendString(dst, call.Name)
		dst = append(dst, `,"arguments":`...)
		dst = wire.AppendString(dst, wire.Arguments(call.Arguments))
		dst = append(dst, '}')
		if raw := extra[call.ID]; raw != nil {
			dst = append(dst, `,"extra_content":`...)
			dst = append(dst, raw...)
		}
		dst = append(dst, '}')
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
		if spec.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = wire.AppendString(dst, spec.Description)
		}
		dst = append(dst, `,"parameters":`...)
		dst = append(dst, spec.Input...)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}
