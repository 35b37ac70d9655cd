package openai

import (
	"bytes"
	"encoding/json"

	"github.com/troupe-dev/troupe/internal/wire"
)

// thinkingPart is the [troupe.Message] ThoughtField of a thought that came as a
// part of the content, as Mistral sends it.
const thinkingPart = "thinking"

// kept is what servers want to see again with a message: it is the form of
// [troupe.Message] Opaque. Signed or encrypted reasoning must go back as it came.
type kept struct {
	// By is who made the message, and so whom alone the rest and the thought may be sent
	// to. A message that does not say may go anywhere. Host is how messages that were
	// stored earlier say it.
	By   *wire.By `json:"by,omitempty"`
	Host string   `json:"host,omitempty"`
	// ReasoningDetails are OpenRouter's, ThinkingBlocks LiteLLM's and ExtraContent
	// Google's, who also puts some into calls: Calls has it by the call's id.
	ReasoningDetails []json.RawMessage          `json:"reasoning_details,omitempty"`
	ThinkingBlocks   []json.RawMessage          `json:"thinking_blocks,omitempty"`
	ExtraContent     json.RawMessage            `json:"extra_content,omitempty"`
	Calls            map[string]json.RawMessage `json:"calls,omitempty"`
}

// readKept reports whether a message with this Opaque came from the host, and what
// to send with it if it did.
func readKept(opaque json.RawMessage, host string) (k kept, own bool) {
	if len(opaque) == 0 {
		return kept{}, true
	}
	if json.Unmarshal(opaque, &k) != nil || k.Host != "" && k.Host != host {
		return kept{}, false
	}
	if k.By != nil && (k.By.API != api || k.By.Host != host) {
		return kept{}, false
	}
	return k, true
}

// append adds the fields that go back with a message.
func (k *kept) append(dst []byte) []byte {
	dst = appendRawList(dst, `,"reasoning_details":[`, k.ReasoningDetails)
	dst = appendRawList(dst, `,"thinking_blocks":[`, k.ThinkingBlocks)
	if k.ExtraContent != nil {
		dst = append(dst, `,"extra_content":`...)
		dst = append(dst, k.ExtraContent...)
	}
	return dst
}

func appendRawList(dst []byte, opening string, list []json.RawMessage) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, opening...)
	for _, raw := range list {
		dst = append(append(dst, raw...), ',')
	}
	dst[len(dst)-1] = ']'
	return dst
}

func (k *kept) keepCall(id string, extra json.RawMessage) {
	if k.Calls == nil {
		k.Calls = map[string]json.RawMessage{}
	}
	k.Calls[id] = extra
}

// api is what this package speaks, as messages have it.
const api = "chat"

// opaque encodes what is kept of an answer, and whose it is, or returns nil if there is
// nothing to send back and no thought to send back only there.
func (k *kept) opaque(host, model string, thought bool) json.RawMessage {
	k.ReasoningDetails = mergePieces(k.ReasoningDetails)
	k.ThinkingBlocks = mergePieces(k.ThinkingBlocks)
	if !thought && k.ReasoningDetails == nil && k.ThinkingBlocks == nil && k.ExtraContent == nil && k.Calls == nil {
		return nil
	}
	k.By = &wire.By{API: api, Host: host, Model: model}
	data, err := json.Marshal(k)
	if err != nil {
		return nil
	}
	return bytes.ToValidUTF8(data, []byte("\ufffd"))
}
