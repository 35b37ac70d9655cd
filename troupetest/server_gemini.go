package troupetest

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// geminiStops are Google's words for the end of an answer.
var geminiStops = map[troupe.Finish]string{
	troupe.FinishStop: "STOP", troupe.FinishCalls: "STOP", troupe.FinishLength: "MAX_TOKENS", troupe.FinishFiltered: "SAFETY",
}

// geminiEvents is an answer of generateContent. Calls come whole, and signed.
func (e *Exchange) geminiEvents(model string) (list []string) {
	add := func(data object) { list = append(list, "data: "+encode(data)+"\n\n") }
	part := func(p object) {
		add(object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": []object{p}}}}, "modelVersion": model})
	}
	for _, word := range words(e.thought) {
		part(object{"text": word, "thought": true})
	}
	for _, word := range words(e.text) {
		part(object{"text": word})
	}
	for _, call := range e.calls {
		part(object{"functionCall": object{"id": call.ID, "name": call.Name, "args": json.RawMessage(call.Arguments)}, "thoughtSignature": "c2lnbmVk"})
	}
	switch {
	case e.failure != "":
		add(object{"error": e.failureFields()})
	case e.finish != "":
		add(object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": []object{{"text": ""}}}, "finishReason": geminiStops[e.finish]}},
			"modelVersion": model, "usageMetadata": object{"promptTokenCount": e.usage.Input, "cachedContentTokenCount": e.usage.CachedInput,
				"candidatesTokenCount": e.usage.Output - e.usage.Reasoning, "thoughtsTokenCount": e.usage.Reasoning}})
	}
	return list
}

func geminiConversation(body []byte) (list []servedMessage, err error) {
	type named struct {
		ID, Name string
		Args     json.RawMessage
	}
	var req struct {
		Contents []struct {
			Role  string
			Parts []struct {
				FunctionCall, FunctionResponse *named
			}
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	for _, c := range req.Contents {
		one := servedMessage{Role: c.Role}
		if c.Role == "model" {
			one.Role = "assistant"
		}
		for i, p := range c.Parts {
			// Calls may have no ids: results follow in their order then.
			id := func(n *named) string {
				if n.ID != "" {
					return n.ID
				}
				return fmt.Sprintf("%s in place %d", n.Name, i)
			}
			switch {
			case p.FunctionCall != nil:
				one.addCall(id(p.FunctionCall), p.FunctionCall.Name, string(p.FunctionCall.Args))
			case p.FunctionResponse != nil:
				list = append(list, servedMessage{Role: "tool", CallID: id(p.FunctionResponse)})
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
