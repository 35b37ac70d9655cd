package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/troupe-dev/troupe/internal/wire"
)

// A block is a piece of reasoning that a stream sends in pieces of its own: its
// text grows, and its other fields are those sent last.
type block struct {
	fields map[string]json.RawMessage
	growth map[string]*strings.Builder
}

// mergePieces puts the blocks together that a stream has sent piece by piece.
func mergePieces(pieces []json.RawMessage) []json.RawMessage {
	if len(pieces) < 2 {
		return pieces
	}
	var blocks []*block
	for _, piece := range pieces {
		var fields map[string]json.RawMessage
		if json.Unmarshal(piece, &fields) != nil || fields == nil {
			continue
		}
		if len(blocks) == 0 || !blocks[len(blocks)-1].continuesWith(fields) {
			blocks = append(blocks, &block{map[string]json.RawMessage{}, map[string]*strings.Builder{}})
		}
		blocks[len(blocks)-1].add(fields)
	}
	whole := make([]json.RawMessage, len(blocks))
	for i, b := range blocks {
		whole[i] = b.encode()
	}
	return whole
}

// continuesWith reports whether fields are more of the block. Encrypted data comes
// whole; a signature ends a block, unless its index says that it goes on.
func (b *block) continuesWith(fields map[string]json.RawMessage) bool {
	if !bytes.Equal(b.fields["type"], fields["type"]) || !bytes.Equal(b.fields["index"], fields["index"]) {
		return false
	}
	if b.fields["data"] != nil || fields["data"] != nil {
		return false
	}
	if wire.IsSet(b.fields["id"]) && wire.IsSet(fields["id"]) && !bytes.Equal(b.fields["id"], fields["id"]) {
		return false
	}
	return wire.IsSet(fields["index"]) || !wire.IsSet(b.fields["signature"])
}

func (b *block) add(fields map[string]json.RawMessage) {
	for name, value := range fields {
		var text string
		switch name {
		case "text", "summary", "thinking":
			if json.Unmarshal(value, &text) == nil {
				if b.growth[name] == nil {
					b.growth[name] = &strings.Builder{}
				}
				b.growth[name].WriteString(text)
				continue
			}
		}
		if wire.IsSet(value) || b.fields[name] == nil {
			b.fields[name] = value
		}
	}
}

func (b *block) encode() json.RawMessage {
	for name, text := range b.growth {
		b.fields[name] = wire.AppendString(nil, text.String())
	}
	data, err := json.Marshal(b.fields)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}
