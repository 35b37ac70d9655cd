package troupetest

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// ollamaEvents is an answer of Ollama's own API, a line each. Calls come whole.
func (e *Exchange) ollamaEvents(model string) (list []string) {
	add := func(data object) { list = append(list, encode(data)+"\n") }
	say := func(message object) {
		message["role"] = "assistant"
		add(object{"model": model, "message": message, "done": false})
	}
	for _, word := range words(e.thought) {
		say(object{"content": "", "thinking": word})
	}
	for _, word := range words(e.text) {
		say(object{"content": word})
	}
	for _, call := range e.calls {
		say(object{"content": "", "tool_calls": []object{{"id": call.ID, "function": object{"name": call.Name, "arguments": json.RawMessage(call.Arguments)}}}})
	}
	switch {
	case e.failure != "":
		add(object{"error": fmt.Sprint(e.failureFields()["message"])})
	case e.finish != "":
		reason := "stop"
		if e.finish == troupe.FinishLength {
			reason = "length"
		}
		add(object{"model": model, "message": object{"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
			"prompt_eval_count": e.usage.Input, "eval_count": e.usage.Output})
	}
	return list
}

func ollamaConversation(body []byte) (list []servedMessage, err error) {
	var req struct {
		Messages []struct {
			Role, Content string
			Calls         []struct {
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	results := 0 // Results have no ids: they follow in the order of the calls.
	for _, m := range req.Messages {
		one := servedMessage{Role: m.Role, Content: something}
		if m.Role == "tool" {
			one.CallID = fmt.Sprint(results)
			results++
		} else {
			results = 0
		}
		for i, call := range m.Calls {
			one.addCall(fmt.Sprint(i), call.Function.Name, string(call.Function.Arguments))
		}
		list = append(list, one)
	}
	return list, nil
}
