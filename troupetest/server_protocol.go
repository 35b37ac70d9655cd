package troupetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A protocol is an API that a [Server] speaks: it puts answers into words, and sees in a
// request the conversation that is to be checked.
type protocol struct {
	contentType string
	// conversation reads the messages of a request, in the form of chat completions.
	conversation func(body []byte) ([]servedMessage, error)
	// events are those of an answer. Nil means chat completions, which have shapes.
	events func(e *Exchange, model string) []string
}

// protocolOf finds the protocol of a request by its address.
func protocolOf(r *http.Request) (protocol, bool) {
	if r.Method != http.MethodPost {
		return protocol{}, false
	}
	const events = "text/event-stream"
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/chat/completions"):
		return protocol{contentType: events}, true
	case strings.HasSuffix(path, "/messages"):
		return protocol{events, messagesConversation, (*Exchange).messagesEvents}, true
	case strings.HasSuffix(path, "/responses"):
		return protocol{events, responsesConversation, (*Exchange).responsesEvents}, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return protocol{events, geminiConversation, (*Exchange).geminiEvents}, true
	case strings.HasSuffix(path, "/api/chat"):
		return protocol{"application/x-ndjson", ollamaConversation, (*Exchange).ollamaEvents}, true
	}
	return protocol{}, false
}

// refusal says what a provider would refuse the request for, or nothing.
func (p protocol) refusal(body []byte) string {
	if p.conversation == nil {
		return checkConversation(body)
	}
	messages, err := p.conversation(body)
	if err != nil {
		return "the request is not what JSON should be: " + err.Error()
	}
	if len(messages) == 0 {
		return "messages are required"
	}
	return checkTurns(messages)
}

// keepAlive is what says nothing: a comment, or an empty line where lines are all there is.
func (p protocol) keepAlive() string {
	if p.contentType == "application/x-ndjson" {
		return "\n"
	}
	return ": keep-alive\n\n"
}

// namedEvent is an event whose name is the type of what it holds.
func namedEvent(data object) string {
	return fmt.Sprintf("event: %s\ndata: %s\n\n", data["type"], encode(data))
}

// halves are a text in two pieces, as arguments come.
func halves(text string) []string {
	return []string{text[:len(text)/2], text[len(text)/2:]}
}

// failureFields are those of the error object, or its text as a message.
func (e *Exchange) failureFields() object {
	fields := object{}
	if json.Unmarshal([]byte(e.failure), &fields) != nil {
		fields["message"] = e.failure
	}
	return fields
}

// addCall adds a call of the assistant to a conversation.
func (m *servedMessage) addCall(id, name, arguments string) {
	call := servedCall{ID: id}
	call.Function.Name, call.Function.Arguments = name, arguments
	m.ToolCalls = append(m.ToolCalls, call)
}

// something stands for content of which it does not matter what it is.
var something = json.RawMessage(`"something"`)
