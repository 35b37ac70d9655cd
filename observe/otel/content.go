package otel

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"

	"github.com/troupe-dev/troupe"
)

// A message is what somebody said, in the form that the conventions give it.
type message struct {
	Role   string        `json:"role"`
	Parts  []part        `json:"parts"`
	Finish troupe.Finish `json:"finish_reason,omitempty"`
}

// A part is a text, a reasoning or a tool call.
type part struct {
	Type      string            `json:"type"`
	Content   string            `json:"content,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Arguments *troupe.Arguments `json:"arguments,omitempty"`
}

func textPart(content string) part { return part{Type: "text", Content: content} }

// messageOf turns a reply into a message.
func messageOf(b *troupe.ModelReplied) message {
	m := message{Role: troupe.RoleAssistant, Parts: []part{}, Finish: b.Finish}
	if b.Message.Thought != "" {
		m.Parts = append(m.Parts, part{Type: "reasoning", Content: b.Message.Thought})
	}
	for _, said := range []string{b.Message.Text, b.Message.Refusal} {
		if said != "" {
			m.Parts = append(m.Parts, textPart(said))
		}
	}
	for _, call := range b.Message.Calls {
		arguments := troupe.Arguments(call.Arguments)
		m.Parts = append(m.Parts, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: &arguments})
	}
	return m
}

func messages(key attribute.Key, m message) attribute.KeyValue { return encoded(key, []message{m}) }

// encoded returns value as JSON, as the conventions have content in attributes.
func encoded(key attribute.Key, value any) attribute.KeyValue {
	data, err := json.Marshal(value)
	if err != nil {
		return key.String("")
	}
	return text(key, string(data))
}
