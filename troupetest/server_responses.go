package troupetest

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
)

// responsesEvents is an answer of the Responses API. Reasoning has a summary, and its
// encrypted form.
func (e *Exchange) responsesEvents(model string) (list []string) {
	add := func(data object) { list = append(list, namedEvent(data)) }
	index := -1
	item := func(begun object, kind string, pieces []string, done object) {
		index++
		add(object{"type": "response.output_item.added", "output_index": index, "item": begun})
		for _, piece := range pieces {
			add(object{"type": kind, "output_index": index, "summary_index": 0, "content_index": 0, "delta": piece})
		}
		add(object{"type": "response.output_item.done", "output_index": index, "item": done})
	}
	add(object{"type": "response.created", "response": object{"id": "resp_test", "object": "response", "model": model, "status": "in_progress", "output": []any{}}})
	if e.thought != "" {
		item(object{"type": "reasoning", "id": "rs_test", "summary": []any{}}, "response.reasoning_summary_text.delta", words(e.thought),
			object{"type": "reasoning", "id": "rs_test", "summary": []object{{"type": "summary_text", "text": e.thought}}, "encrypted_content": "c2VhbGVk"})
	}
	if e.text != "" {
		item(object{"type": "message", "id": "msg_test", "role": "assistant", "content": []any{}}, "response.output_text.delta", words(e.text),
			object{"type": "message", "id": "msg_test", "role": "assistant", "content": []object{{"type": "output_text", "text": e.text}}})
	}
	for _, call := range e.calls {
		made := func(arguments string) object {
			return object{"type": "function_call", "id": "fc_" + call.ID, "call_id": call.ID, "name": call.Name, "arguments": arguments}
		}
		item(made(""), "response.function_call_arguments.delta", halves(call.Arguments), made(call.Arguments))
	}
	response := object{"id": "resp_test", "object": "response", "model": model, "status": "completed", "output": []any{}, "usage": object{
		"input_tokens": e.usage.Input, "input_tokens_details": object{"cached_tokens": e.usage.CachedInput},
		"output_tokens": e.usage.Output, "output_tokens_details": object{"reasoning_tokens": e.usage.Reasoning}}}
	switch {
	case e.failure != "":
		failure := e.failureFields()
		failure["type"] = "error"
		add(failure)
	case e.finish == "":
	case e.finish == troupe.FinishLength || e.finish == troupe.FinishFiltered:
		why := map[troupe.Finish]string{troupe.FinishLength: "max_output_tokens", troupe.FinishFiltered: "content_filter"}[e.finish]
		response["status"], response["incomplete_details"] = "incomplete", object{"reason": why}
		add(object{"type": "response.incomplete", "response": response})
	default:
		add(object{"type": "response.completed", "response": response})
	}
	return list
}

func responsesConversation(body []byte) (list []servedMessage, err error) {
	var req struct{ Input json.RawMessage }
	if err := json.Unmarshal(body, &req); err != nil || req.Input == nil {
		return nil, err
	}
	if req.Input[0] == '"' { // one message of the user
		return []servedMessage{{Role: "user", Content: req.Input}}, nil
	}
	var items []struct {
		Type, Role, Name, Arguments string
		CallID                      string `json:"call_id"`
	}
	if err := json.Unmarshal(req.Input, &items); err != nil {
		return nil, err
	}
	for _, item := range items {
		switch item.Type {
		case "function_call":
			// Calls belong to what the assistant said right before them.
			if n := len(list); n == 0 || list[n-1].Role != "assistant" {
				list = append(list, servedMessage{Role: "assistant"})
			}
			list[len(list)-1].addCall(item.CallID, item.Name, item.Arguments)
		case "function_call_output":
			list = append(list, servedMessage{Role: "tool", CallID: item.CallID})
		case "", "message":
			list = append(list, servedMessage{Role: item.Role, Content: something})
		}
	}
	return list, nil
}
