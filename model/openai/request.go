package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
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
	f := fields{data: []byte{'{'}, instead: p.Extra}
	f.add("model", m.name)
	f.add("stream", true)
	if m.streamUsage {
		f.add("stream_options", map[string]bool{"include_usage": true})
	}
	if p.Temperature != nil {
		f.add("temperature", *p.Temperature)
	}
	if p.TopP != nil {
		f.add("top_p", *p.TopP)
	}
	if p.MaxTokens != nil {
		f.add(m.maxTokensField, *p.MaxTokens)
	}
	if p.Seed != nil {
		f.add(m.seedField, *p.Seed)
	}
	if len(p.Stop) > 0 {
		f.add("stop", p.Stop)
	}
	if p.Effort != "" {
		f.add("reasoning_effort", p.Effort)
	}
	if len(p.Schema) > 0 {
		f.add("response_format", responseFormat(p.Schema))
	}
	f.instead = nil
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		f.add(name, p.Extra[name])
	}
	return append(f.data, `"messages":[`...), f.err
}

func responseFormat(schema json.RawMessage) any {
	return map[string]any{
		"type":        "json_schema",
		"json_schema": map[string]any{"name": "answer", "schema": schema},
	}
}

// fields are members of a JSON object, each with a comma behind it. Those that
// instead names are left to it.
type fields struct {
	data    []byte
	instead map[string]any
	err     error
}

func (f *fields) add(name string, value any) {
	if _, ok := f.instead[name]; ok || f.err != nil {
		return
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		f.err = fmt.Errorf("openai: parameter %s: %w", name, err)
		return
	}
	f.data = append(appendString(f.data, name), ':')
	f.data = append(append(f.data, encoded...), ',')
}

// A body reads pieces one after the other.
type body struct {
	parts [][]byte
	read  int // of parts[0]
}

// Read copies as many pieces as fit.
func (b *body) Read(p []byte) (n int, err error) {
	for len(b.parts) > 0 {
		c := copy(p[n:], b.parts[0][b.read:])
		n += c
		b.read += c
		if b.read < len(b.parts[0]) {
			return n, nil
		}
		b.parts, b.read = b.parts[1:], 0
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close does nothing: the pieces belong to the messages.
func (b *body) Close() error { return nil }

func size(parts [][]byte) (n int64) {
	for _, part := range parts {
		n += int64(len(part))
	}
	return n
}
