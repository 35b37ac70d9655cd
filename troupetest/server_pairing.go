package troupetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A servedMessage is a message as far as its place in a conversation goes.
type servedMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"tool_call_id"`
	ToolCalls []servedCall    `json:"tool_calls"`
}

type servedCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// checkConversation says what a provider of chat completions would refuse a request
// for, or nothing.
func checkConversation(body []byte) string {
	var req struct {
		Model    string          `json:"model"`
		Messages []servedMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return "the request is not what JSON should be: " + err.Error()
	}
	if req.Model == "" || len(req.Messages) == 0 {
		return "a model and messages are required"
	}
	return checkTurns(req.Messages)
}

// checkTurns says what is wrong with a conversation, or nothing: each tool call of an
// assistant's message is answered by exactly one tool message before anyone else speaks,
// ids are unique in their message, and arguments are JSON objects.
func checkTurns(messages []servedMessage) string {
	var open []string // calls without a result
	for i, m := range messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Sprintf("messages[%d]: a tool message must answer a call of the assistant's message before it, once; %q is none", i, m.CallID)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("messages[%d]: an assistant message with tool_calls must be followed by tool messages; there is none for %s", i, strings.Join(open, ", "))
		}
		var problem string
		if open, problem = openCalls(m); problem != "" {
			return fmt.Sprintf("messages[%d]: %s", i, problem)
		}
	}
	if len(open) > 0 {
		return "an assistant message with tool_calls must be followed by tool messages; there is none for " + strings.Join(open, ", ")
	}
	return ""
}

// openCalls returns the ids of a message's calls, or what is wrong with it.
func openCalls(m servedMessage) (ids []string, problem string) {
	hasContent := len(m.Content) > 0 && string(m.Content) != "null"
	switch {
	case !slices.Contains([]string{"system", "developer", "user", "assistant"}, m.Role):
		return nil, fmt.Sprintf("there is no role %q", m.Role)
	case m.Role != "assistant" && len(m.ToolCalls) > 0:
		return nil, "only an assistant calls tools"
	case !hasContent && len(m.ToolCalls) == 0:
		return nil, "there is neither content nor a tool call"
	}
	for _, call := range m.ToolCalls {
		var arguments map[string]any
		switch {
		case call.ID == "" || call.Function.Name == "":
			return nil, "a tool call needs an id and a name"
		case slices.Contains(ids, call.ID):
			return nil, fmt.Sprintf("two calls have the id %q", call.ID)
		case json.Unmarshal([]byte(call.Function.Arguments), &arguments) != nil || arguments == nil:
			return nil, fmt.Sprintf("the arguments of call %q are not a JSON object: %.200s", call.ID, call.Function.Arguments)
		}
		ids = append(ids, call.ID)
	}
	return ids, ""
}
