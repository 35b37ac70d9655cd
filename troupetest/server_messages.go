package troupetest

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// messagesStops are Anthropic's words for the end of an answer.
var messagesStops = map[troupe.Finish]string{
	troupe.FinishStop: "end_turn", troupe.FinishCalls: "tool_use", troupe.FinishLength: "max_tokens", troupe.FinishFiltered: "refusal",
}

// messagesEvents is an answer of the Messages API. Thoughts are signed.
func (e *Exchange) messagesEvents(model string) (list []string) {
	add := func(data object) { list = append(list, namedEvent(data)) }
	block := -1
	open := func(content object) {
		block++
		add(object{"type": "content_block_start", "index": block, "content_block": content})
	}
	delta := func(d object) { add(object{"type": "content_block_delta", "index": block, "delta": d}) }
	shut := func() { add(object{"type": "content_block_stop", "index": block}) }

	add(object{"type": "message_start", "message": object{"id": "msg_test", "type": "message", "role": "assistant", "model": model, "content": []any{},
		"usage": object{"input_tokens": e.usage.Input - e.usage.CachedInput, "cache_read_input_tokens": e.usage.CachedInput, "output_tokens": 1}}})
	if e.thought != "" {
		open(object{"type": "thinking", "thinking": "", "signature": ""})
		for _, word := range words(e.thought) {
			delta(object{"type": "thinking_delta", "thinking": word})
		}
		delta(object{"type": "signature_delta", "signature": "c2lnbmVk"})
		shut()
	}
	if e.text != "" {
		open(object{"type": "text", "text": ""})
		for _, word := range words(e.text) {
			delta(object{"type": "text_delta", "text": word})
		}
		shut()
	}
	for _, call := range e.calls {
		open(object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}})
		for _, piece := range halves(call.Arguments) {
			delta(object{"type": "input_json_delta", "partial_json": piece})
		}
		shut()
	}
	switch {
	case e.failure != "":
		add(object{"type": "error", "error": e.failureFields()})
	case e.finish != "":
		add(object{"type": "message_delta", "delta": object{"stop_reason": messagesStops[e.finish]}, "usage": object{"output_tokens": e.usage.Output}})
		add(object{"type": "message_stop"})
	}
	return list
}

func messagesConversation(body []byte) (list []servedMessage, err error) {
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	for _, m := range req.Messages {
		var blocks []struct {
			Type, ID, Name string
			Input          json.RawMessage
			Of             string `json:"tool_use_id"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			list = append(list, servedMessage{Role: m.Role, Content: m.Content})
			continue
		}
		one := servedMessage{Role: m.Role}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				one.addCall(b.ID, b.Name, string(b.Input))
			case "tool_result":
				list = append(list, servedMessage{Role: "tool", CallID: b.Of})
			default:
				one.Content = something
			}
		}
		if one.Content != nil || one.ToolCalls != nil {
			list = append(list, one)
		}
	}
	return list, nil
}
