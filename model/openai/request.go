package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// parts are the pieces of a request's body, in order. The messages and the tools
// among them were encoded when they were first sent, and are neither encoded
// again nor copied.
func (m *Model) parts(req *troupe.Request) ([][]byte, error) {
	head, err := m.head(req.Params)
	if err != nil {
		return nil, err
	}
	messages := req.Messages
	if m.oneSystem {
		messages = joinSystem(messages)
	}
	parts := make([][]byte, 0, len(messages)+3)
	parts = append(parts, head)
	for i, message := range messages {
		encoded := message.Encoded(m.encoder, m.encode)
		if i == 0 {
			encoded = encoded[len(","):]
		}
		parts = append(parts, encoded)
	}
	parts = append(parts, []byte{']'})
	if req.Tools.Len() > 0 {
		parts = append(parts, req.Tools.Encoded(toolsEncoder{}, encodeTools))
	}
	return append(parts, []byte{'}'}), nil
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

// head is the beginning of a request, up to its messages.
func (m *Model) head(p *troupe.Params) ([]byte, error) {
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
	if m.streamUsage {
		f.Add("stream_options", map[string]bool{"include_usage": true})
	}
	if p.Temperature != nil {
		f.Add("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		f.Add("top_p", *p.TopP)
	}
	if p.MaxTokens != nil {
		f.Add(m.maxTokensField, *p.MaxTokens)
	}
	if p.Seed != nil {
		f.Add(m.seedField, *p.Seed)
	}
	if len(p.Stop) > 0 {
		f.Add("stop", p.Stop)
	}
	if p.Effort != "" {
		f.Add("reasoning_effort", p.Effort)
	}
	if len(p.Schema) > 0 {
		f.Add("response_format", responseFormat(p.Schema))
	}
	f.Except = nil
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		f.Add(name, p.Extra[name])
	}
	return append(f.Data, `"messages":[`...), f.Err
}

func responseFormat(schema json.RawMessage) any {
	return map[string]any{
		"type":        "json_schema",
		"json_schema": map[string]any{"name": "answer", "schema": schema},
	}
}
