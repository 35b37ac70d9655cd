package wire

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// By says who made a message: the protocol, the server and the model.
type By struct {
	API   string `json:"api"`
	Host  string `json:"host"`
	Model string `json:"model"`
}

// A Block is one piece of an answer, in its place among the others. What it says is
// not in it: text and thoughts are ranges of the message's own, and a call is known
// by its id.
type Block struct {
	Kind BlockKind `json:"kind"`
	// From and To are the bytes of the message's Text or Thought.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Call is the id of the call.
	Call string `json:"call,omitempty"`
	// Signature is what the server signed the block with.
	Signature string `json:"signature,omitempty"`
	// Data is whatever else the server wants back with it, or all of a block that is
	// neither text nor thought nor call, as it came.
	Data json.RawMessage `json:"data,omitempty"`
}

// A BlockKind says what a block is.
type BlockKind string

// The kinds of blocks.
const (
	TextBlock    BlockKind = "text"
	ThoughtBlock BlockKind = "thought"
	CallBlock    BlockKind = "call"
	OtherBlock   BlockKind = "other"
)

// kept is the form of [troupe.Message] Opaque.
type kept struct {
	By     By       `json:"by"`
	Blocks []*Block `json:"blocks"`
}

// Blocks returns the blocks of a message that the server itself made, in order. It
// is false where the message came from elsewhere, or was changed since: then it has
// to be put together from its text and calls, without thoughts. Models are compared
// by sameModel; nil means that they must be equal.
func Blocks(m *troupe.Message, by By, sameModel func(a, b string) bool) ([]*Block, bool) {
	var k kept
	if len(m.Opaque) == 0 || json.Unmarshal(m.Opaque, &k) != nil || len(k.Blocks) == 0 {
		return nil, false
	}
	if k.By.API != by.API || k.By.Host != by.Host {
		return nil, false
	}
	if k.By.Model != by.Model && (sameModel == nil || !sameModel(k.By.Model, by.Model)) {
		return nil, false
	}
	return k.Blocks, fits(m, k.Blocks)
}

// fits reports whether blocks are all that a message says: its whole text and
// thought without gaps, and each of its calls once.
func fits(m *troupe.Message, blocks []*Block) bool {
	text, thought, calls := 0, 0, 0
	for _, b := range blocks {
		switch b.Kind {
		case TextBlock:
			if b.From != text || b.To < b.From {
				return false
			}
			text = b.To
		case ThoughtBlock:
			if b.From != thought || b.To < b.From {
				return false
			}
			thought = b.To
		case CallBlock:
			if calls >= len(m.Calls) || m.Calls[calls].ID != b.Call {
				return false
			}
			calls++
		}
	}
	return text == len(m.Text) && thought == len(m.Thought) && calls == len(m.Calls)
}

// isPlain reports whether a message can be put together from its text and calls just
// as well: one text, then the calls, and nothing that has to go back with them.
func isPlain(blocks []*Block) bool {
	called := false
	for _, b := range blocks {
		if b.Signature != "" || b.Data != nil {
			return false
		}
		switch b.Kind {
		case ThoughtBlock: // without a signature it does not go back
		case TextBlock:
			if b.From > 0 || called {
				return false
			}
		case CallBlock:
			called = true
		default:
			return false
		}
	}
	return true
}

// CallOf returns the call of a message that a block stands for. The block must be
// one of those that [Blocks] returned with the message.
func (b *Block) CallOf(m *troupe.Message) troupe.ToolCall {
	for i := range m.Calls {
		if m.Calls[i].ID == b.Call {
			return m.Calls[i]
		}
	}
	return troupe.ToolCall{ID: b.Call}
}
