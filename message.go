package troupe

import (
	"encoding/json"
	"sync/atomic"
)

// The roles of a conversation: who speaks in a [Message].
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// A Message is one entry of a conversation. It does not change once a request
// holds it: providers keep their encoding of it, so that a conversation of n
// turns is encoded once and not n times. Pass it by pointer.
type Message struct {
	Role string `json:"role"`
	Text string `json:"text,omitempty"`
	// Thought is the model's reasoning, where the provider shows it.
	Thought string `json:"thought,omitempty"`
	// Refusal is what the model said instead of an answer.
	Refusal string `json:"refusal,omitempty"`
	// Calls are the tools an assistant's message asks for.
	Calls []ToolCall `json:"calls,omitempty"`
	// CallID says which call a tool's message answers; Tool is that tool's name.
	CallID string `json:"call_id,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Parts hold what is not plain text, such as images.
	Parts []Part `json:"parts,omitempty"`
	// Pinned messages survive compaction of the context.
	Pinned bool `json:"pinned,omitempty"`
	// ThoughtField is the name under which the provider sent Thought, and Opaque
	// whatever else it wants back with the message, as it came. Both are
	// meaningful only to the provider that made the message.
	ThoughtField string          `json:"thought_field,omitempty"`
	Opaque       json.RawMessage `json:"opaque,omitempty"`

	encoded encoding
	// task says that this is what somebody asked for, and keep names a result: both
	// outlive compaction.
	task bool
	keep string
}

// A Part is a piece of a message that is not plain text.
type Part struct {
	// MIME is the type of Data or of what URL names, such as "image/png".
	MIME string `json:"mime"`
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
	Data []byte `json:"data,omitempty"`
}

// A ToolCall is a model's wish that a tool be called. Arguments is the text the
// model sent: JSON if all went well, never trusted to be.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// size is what the message weighs in a request, in bytes, roughly.
func (m *Message) size() int {
	n := len(m.Text) + len(m.Thought) + len(m.Refusal) + len(m.Opaque) + 8
	for i := range m.Calls {
		n += len(m.Calls[i].Name) + len(m.Calls[i].Arguments) + 16
	}
	for i := range m.Parts {
		n += len(m.Parts[i].Data) + len(m.Parts[i].URL)
	}
	return n
}

// Encoded returns the provider's encoding of m, calling encode only if m was not
// yet encoded by this encoder. The key by names the encoder: it is compared with
// ==, and one that differs makes the message be encoded anew.
func (m *Message) Encoded(by any, encode func(*Message) []byte) []byte {
	if data, ok := m.encoded.get(by); ok {
		return data
	}
	return m.encoded.set(by, encode(m))
}

// encoding keeps one provider's encoding of an immutable value.
type encoding struct{ p atomic.Pointer[encodedBy] }

type encodedBy struct {
	by   any
	data []byte
}

func (e *encoding) get(by any) ([]byte, bool) {
	if kept := e.p.Load(); kept != nil && kept.by == by {
		return kept.data, true
	}
	return nil, false
}

func (e *encoding) set(by any, data []byte) []byte {
	e.p.Store(&encodedBy{by, data})
	return data
}
