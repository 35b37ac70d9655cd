package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/wiretest"
)

// sentMessage is what of a message must be the same whichever client sends it.
type sentMessage struct {
	Role      string
	Content   any
	ToolCalls []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// An answer that was read goes into the next request as the recorded client sent it:
// the same text, the same calls under the same ids.
func TestAnswersGoIntoTheNextRequestAsRecorded(t *testing.T) {
	all := wiretest.ChatRecordings(t)
	compared := 0
	for i, r := range all {
		if next := wiretest.Next(all, i); next != nil && wiretest.NotAChat(r) == "" {
			compared += compareNeighbours(t, r, next)
		}
	}
	t.Logf("compared %d answers with the next request", compared)
	if compared < 50 {
		t.Errorf("only %d answers were compared", compared)
	}
}

func compareNeighbours(t *testing.T, asked, next *wiretest.Recording) int {
	t.Helper()
	var before, after struct{ Messages []json.RawMessage }
	if json.Unmarshal([]byte(asked.Request.Body), &before) != nil || json.Unmarshal([]byte(next.Request.Body), &after) != nil || len(after.Messages) <= len(before.Messages) {
		return 0 // another conversation
	}
	var want sentMessage
	if json.Unmarshal(after.Messages[len(before.Messages)], &want) != nil || want.Role != "assistant" {
		return 0
	}
	m := newModel(t, asked.Answer())
	got := listen(t.Context(), m, hello())
	if got.Err != nil {
		return 0 // a failure is not sent back
	}
	var sent sentMessage
	if err := json.Unmarshal(encodedBy(m, got.Message())[1:], &sent); err != nil {
		t.Fatal(err)
	}
	if why := changedByClient(&want, &sent, asked.Response.Body); why != "" {
		t.Logf("%s: not compared: %s", asked.Name, why)
		return 0
	}
	wantText, _, _ := split(want.Content)
	sentText, _, _ := split(sent.Content)
	if wantText != sentText && wantText != "" {
		t.Errorf("%s: text %q was sent as %q", asked.Name, wantText, sentText)
	}
	if len(want.ToolCalls) != len(sent.ToolCalls) {
		t.Errorf("%s: %d calls were sent as %d", asked.Name, len(want.ToolCalls), len(sent.ToolCalls))
		return 1
	}
	for i, call := range want.ToolCalls {
		own := sent.ToolCalls[i]
		if call.ID != own.ID || call.Function.Name != own.Function.Name || !isSameValue(call.Function.Arguments, own.Function.Arguments) {
			t.Errorf("%s: call %+v was sent as %+v", asked.Name, call, own)
		}
	}
	return 1
}

// changedByClient says what the recorded client did to the answer before it sent it
// back, which is its own affair; empty if nothing.
func changedByClient(want, sent *sentMessage, answer string) string {
	text, _, _ := split(want.Content)
	switch {
	case strings.HasPrefix(text, "<think>"):
		return "the client put the thought into the text"
	case len(want.ToolCalls) == 0 && len(sent.ToolCalls) > 0:
		return "the client does not send calls back"
	}
	for _, call := range want.ToolCalls {
		if !strings.Contains(answer, call.ID) {
			return "the client gave the call an id of its own"
		}
		if !strings.HasPrefix(call.Function.Arguments, "{") {
			return "the client sends other arguments back"
		}
	}
	return ""
}

func isSameValue(a, b string) bool {
	var left, right any
	if json.Unmarshal([]byte(a), &left) != nil || json.Unmarshal([]byte(b), &right) != nil {
		return a == b
	}
	x, _ := json.Marshal(left)
	y, _ := json.Marshal(right)
	return string(x) == string(y)
}
