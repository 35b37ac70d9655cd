package openai

import (
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/provider"
)

// Servers whose templates take one system message get one; others get them all.
func TestSystemMessagesAreJoinedWhereAsked(t *testing.T) {
	messages := []*troupe.Message{
		{Role: troupe.RoleSystem, Text: "You are Alex."},
		{Role: troupe.RoleSystem, Text: "[Critical Action] Loaded file: config.yaml"},
		{Role: troupe.RoleUser, Text: "hi"},
	}
	for one, want := range map[bool]int{false: 3, true: 2} {
		m, err := New(Config{BaseURL: "http://localhost:1/v1", Model: "m", Quirks: &provider.Quirks{OneSystem: one}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // what was joined once is not joined again
			parts, err := m.parts(&troupe.Request{Messages: messages})
			if err != nil {
				t.Fatal(err)
			}
			var body []byte
			for _, part := range parts {
				body = append(body, part...)
			}
			var sent struct {
				Messages []struct{ Role, Content string }
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if len(sent.Messages) != want || one && sent.Messages[0].Content != "You are Alex.\n\n[Critical Action] Loaded file: config.yaml" {
				t.Errorf("one system message %v: sent %+v", one, sent.Messages)
			}
		}
	}
	if len(messages) != 3 || messages[0].Text != "You are Alex." {
		t.Error("the request was changed")
	}
}
