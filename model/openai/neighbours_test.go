package openai

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
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
	f, err := os.Open(filepath.Join(corpus.Path(t, "cassettes"), "exchanges.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type exchange struct {
		recording
		Origin, File string
		N            int
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	var last *exchange
	compared := 0
	for n := 1; lines.Scan(); n++ {
		x := &exchange{}
		if err := json.Unmarshal(lines.Bytes(), x); err != nil {
			t.Fatal(err)
		}
		if last != nil && last.Origin == x.Origin && last.File == x.File && x.N == last.N+1 && notAChat(&last.recording) == "" {
			compared += compareNeighbours(t, n, &last.recording, &x.recording)
		}
		last = x
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("compared %d answers with the next request", compared)
	if compared < 50 {
		t.Errorf("only %d answers were compared", compared)
	}
}

func compareNeighbours(t *testing.T, line int, asked, next *recording) int {
	t.Helper()
	var before, after struct{ Messages []json.RawMessage }
	if json.Unmarshal([]byte(asked.Request.Body), &before) != nil || json.Unmarshal([]byte(next.Request.Body), &after) != nil || len(after.Messages) <= len(before.Messages) {
		return 0 // another conversation
	}
	var want sentMessage
	if json.Unmarshal(after.Messages[len(before.Messages)], &want) != nil || want.Role != "assistant" {
		return 0
	}
	header := http.Header{}
	for name, value := range asked.Response.Headers {
		header.Set(name, value)
	}
	m := newModel(t, &canned{status: asked.Response.Status, header: header, body: asked.Response.Body})
	got := listen(t.Context(), m, hello())
	if got.Err != nil {
		return 0 // a failure is not sent back
	}
	message := &troupe.Message{Role: troupe.RoleAssistant, Text: got.Text, Thought: got.Thought, Refusal: got.Refusal, Calls: got.Calls,
		ThoughtField: got.End.ThoughtField, Opaque: got.End.Opaque}
	var sent sentMessage
	if err := json.Unmarshal(encodedBy(m, message)[1:], &sent); err != nil {
		t.Fatal(err)
	}
	if why := changedByClient(&want, &sent, asked.Response.Body); why != "" {
		t.Logf("line %d: not compared: %s", line, why)
		return 0
	}
	wantText, _, _ := split(want.Content)
	sentText, _, _ := split(sent.Content)
	if wantText != sentText && wantText != "" {
		t.Errorf("line %d: text %q was sent as %q", line, wantText, sentText)
	}
	if len(want.ToolCalls) != len(sent.ToolCalls) {
		t.Errorf("line %d: %d calls were sent as %d", line, len(want.ToolCalls), len(sent.ToolCalls))
		return 1
	}
	for i, call := range want.ToolCalls {
		own := sent.ToolCalls[i]
		if call.ID != own.ID || call.Function.Name != own.Function.Name || !isSameValue(call.Function.Arguments, own.Function.Arguments) {
			t.Errorf("line %d: call %+v was sent as %+v", line, call, own)
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
