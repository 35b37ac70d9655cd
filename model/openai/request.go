package openai

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// parts are the pieces of a request's body, in order. The messages and the tools
// among them were encoded when they were first sent, and are neither encoded
// again nor copied.
func (m *Model) parts(req *troupe.Request) ([][]byte, error) {
	head, err := m.head(req)
	if err != nil {
		return nil, err
	}
	messages := req.Messages
	if m.quirks.OneSystem || m.learned.Has(oneSystem) {
		messages = joinSystem(messages)
	}
	if m.quirks.NoTools {
		messages = withoutCalls(messages)
	}
	if level := m.schemaLevel(req); req.Params != nil && len(req.Params.Schema) > 0 && (level == provider.SchemaObject || level == provider.SchemaPrompt) {
		messages = withSystem(messages, wire.SchemaPrompt(req.Params.Schema))
	}
	form := m.form()
	var by any = form
	encode := func(message *troupe.Message) []byte { return encodeMessage(message, form) }
	marked := m.cacheMarks(messages, req.Stable+len(messages)-len(req.Messages))
	parts := make([][]byte, 0, len(messages)+3)
	parts = append(parts, head)
	for i, message := range messages {
		var encoded []byte
		if slices.Contains(marked, i) {
			encoded = encodeMarked(message, form)
		} else {
			encoded = message.Encoded(by, encode)
		}
		if i == 0 {
			encoded = encoded[len(","):]
		}
		parts = append(parts, encoded)
		if shown := wire.ShownAfter(messages, i, func(p *troupe.Part) bool { return !isResultText(p) }); shown != nil {
			parts = append(parts, encodeMessage(shown, form))
		}
	}
	parts = append(parts, []byte{']'})
	switch {
	case req.Tools.Len() == 0:
	case m.quirks.NoTools:
		m.client.Note("the server takes no tools: they are not offered")
	default:
		parts = append(parts, req.Tools.Encoded(toolsEncoder{}, encodeTools))
	}
	return append(parts, []byte{'}'}), nil
}

// toolsEncoder is what the encoding of tools is kept under.
type toolsEncoder struct{}

// form is how messages are encoded for the model's server.
func (m *Model) form() messageForm {
	form := messageForm{host: m.host, ids: m.quirks.IDs, reasoningBack: m.quirks.ReasoningBack || m.learned.Has(reasoningBack)}
	if m.learned.Has(nineIDs) {
		form.ids = provider.NineID
	}
	return form
}

// joinSystem makes one of the system messages that a conversation begins with.
func joinSystem(messages []*troupe.Message) []*troupe.Message {
	n := 0
	for n < len(messages) && messages[n].Role == troupe.RoleSystem {
		n++
	}
	if n < 2 {
		return messages
	}
	texts := make([]string, n)
	for i, message := range messages[:n] {
		texts[i] = message.Text
	}
	joined := &troupe.Message{Role: troupe.RoleSystem, Text: strings.Join(texts, "\n\n")}
	return append([]*troupe.Message{joined}, messages[n:]...)
}

// withSystem adds text to the system message, or makes one of it.
func withSystem(messages []*troupe.Message, text string) []*troupe.Message {
	if len(messages) > 0 && messages[0].Role == troupe.RoleSystem {
		text = messages[0].Text + "\n\n" + text
		messages = messages[1:]
	}
	return append([]*troupe.Message{{Role: troupe.RoleSystem, Text: text}}, messages...)
}

// cacheMarks are the messages up to which a gateway is asked to cache its work, for
// models of Anthropic, which cache nothing that they are not asked to.
func (m *Model) cacheMarks(messages []*troupe.Message, stable int) (marked []int) {
	if !m.quirks.CacheMarks || !strings.Contains(m.name, "claude") {
		return nil
	}
	canMark := func(i int) bool { return messages[i].Role != troupe.RoleAssistant && messages[i].Text != "" }
	if len(messages) > 0 && messages[0].Role == troupe.RoleSystem && canMark(0) {
		marked = append(marked, 0)
	}
	for i := min(stable, len(messages)) - 1; i > 0; i-- {
		if canMark(i) {
			return append(marked, i)
		}
	}
	return marked
}
