package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

func TestRecordingsAreReadAsTheyWereSent(t *testing.T) {
	all := wiretest.ChatRecordings(t)
	replayed, outcomes := 0, map[string]int{}
	for _, r := range all {
		if why := wiretest.NotAChat(r); why != "" {
			t.Logf("not replayed: %s %s %s: %s", r.Name, r.Request.Method, r.Request.URL, why)
			continue
		}
		replayed++
		got := listen(t.Context(), newModel(t, r.Answer()), hello())
		outcome := checkReplay(t, r, got)
		outcomes[outcome]++
	}
	t.Logf("replayed %d of %d: %v", replayed, len(all), outcomes)
	if replayed < 300 {
		t.Errorf("only %d recordings were replayed", replayed)
	}
}

// The conversations that real clients sent are sent alike, message by message.
func TestRecordedConversationsAreSentAlike(t *testing.T) {
	compared, skipped := 0, 0
	for _, r := range wiretest.ChatRecordings(t) {
		var request struct{ Messages []map[string]any }
		if json.Unmarshal([]byte(r.Request.Body), &request) != nil {
			continue // not a chat, or a request that was meant to be refused
		}
		for i, sent := range request.Messages {
			message, ok := asMessage(sent)
			if !ok {
				skipped++
				continue
			}
			var again map[string]any
			encoded := encodeMessage(message, messageForm{host: "model.test"})
			if err := json.Unmarshal(encoded[1:], &again); err != nil {
				t.Fatalf("%s: message %d: %v in %s", r.Name, i, err, encoded)
			}
			compared++
			if diff := cmp.Diff(sent, again); diff != "" {
				t.Errorf("%s: message %d (-recorded +sent)\n%s", r.Name, i, diff)
			}
		}
	}
	t.Logf("compared %d messages; %d use forms that the client has no need of", compared, skipped)
	if compared < 500 {
		t.Errorf("only %d messages were compared", compared)
	}
}

// asMessage reads a recorded message, leaving out of it what says nothing. It is
// false for forms that we never send, such as arrays of text or named results.
func asMessage(sent map[string]any) (*troupe.Message, bool) {
	m := &troupe.Message{}
	for key, value := range sent {
		text, isText := value.(string)
		switch {
		case key == "role" && isText:
			m.Role = string(text)
		case key == "content" && isText:
			m.Text = text
		case key == "tool_call_id" && isText:
			m.CallID = text
		case (key == "reasoning_content" || key == "reasoning") && text != "":
			m.Thought, m.ThoughtField = text, key
		case key == "tool_calls" && addRecordedCalls(m, value):
		case value == nil && key != "content":
			delete(sent, key)
		case value != nil:
			return nil, false
		}
	}
	if m.Text == "" && m.Calls != nil {
		sent["content"] = nil // some leave it out, or send it empty
	}
	return m, m.Role != "" && (m.Role != troupe.RoleAssistant || m.Text != "" || m.Calls != nil)
}

func addRecordedCalls(m *troupe.Message, value any) bool {
	list, _ := value.([]any)
	for _, c := range list {
		recorded := c.(map[string]any)
		recorded["type"] = "function" // some leave it out
		function, _ := recorded["function"].(map[string]any)
		id, _ := recorded["id"].(string)
		name, _ := function["name"].(string)
		arguments, isText := function["arguments"].(string)
		if !isText || len(recorded) != 3 || len(function) != 2 {
			return false
		}
		if !json.Valid([]byte(arguments)) || !strings.HasPrefix(arguments, "{") {
			quoted, _ := json.Marshal(arguments)
			function["arguments"] = `{"invalid_json":` + string(quoted) + "}"
		}
		m.Calls = append(m.Calls, troupe.ToolCall{ID: id, Name: name, Arguments: arguments})
	}
	return list != nil
}

// checkReplay compares what the client made of a recording with a plain reading of
// it, and names the outcome.
func checkReplay(t *testing.T, r *wiretest.Recording, got heard) string {
	t.Helper()
	fail := func(format string, args ...any) { t.Errorf(r.Name+": "+format, args...) }
	failure, isFailure := errors.AsType[*troupe.ModelError](got.Err)
	if got.Err != nil && !isFailure {
		fail("error is no *ModelError: %v", got.Err)
	}
	if r.Response.Status != 200 {
		wantTemporary := r.Response.Status == 429 || r.Response.Status >= 500 || strings.Contains(r.Response.Body, "tool_use_failed")
		wantFull := strings.Contains(r.Response.Body, "exceed_context_size_error")
		if failure == nil || failure.Status != r.Response.Status || failure.Temporary != wantTemporary ||
			errors.Is(failure, troupe.ErrContextFull) != wantFull || failure.Message == "" || got.End != nil {
			fail("status %d became %v", r.Response.Status, got.Err)
		}
		return "status " + strconv.Itoa(r.Response.Status)
	}
	want := readPlainly(r.Response.Body)
	switch {
	case want.failed:
		if failure == nil || failure.Message == "" || got.End != nil || got.Calls != nil {
			fail("an error object became %+v", got)
		}
		return "error in the answer"
	case !want.isCompletion:
		if failure == nil || failure.Temporary {
			fail("what is no completion became %+v", got)
		}
		return "not a completion"
	case want.Finish == "":
		if !errors.Is(got.Err, io.ErrUnexpectedEOF) || !failure.Temporary || got.End != nil || got.Calls != nil {
			fail("an answer without an end became %+v", got)
		}
		return "incomplete"
	case got.Err != nil || got.End == nil:
		fail("%v, end %v", got.Err, got.End)
		return "failed"
	}
	said := plainAnswer{
		Text: got.Text, Thought: got.Thought, Calls: got.Calls,
		Finish: string(got.End.Finish), Usage: got.End.Usage, Model: got.End.Model,
		failed: want.failed, isCompletion: want.isCompletion,
	}
	if diff := cmp.Diff(want, said, cmp.AllowUnexported(plainAnswer{})); diff != "" {
		fail("(-recorded +read)\n%s", diff)
	}
	return "answer"
}

// A plainAnswer is what a recording says to a reader that knows nothing of the client.
type plainAnswer struct {
	Text, Thought string
	Calls         []troupe.ToolCall
	Finish        string
	Usage         troupe.Usage
	Model         string

	failed, isCompletion bool
}

func readPlainly(body string) plainAnswer {
	var chunks []map[string]any
	var one map[string]any
	if json.Unmarshal([]byte(body), &one) == nil {
		chunks = append(chunks, one)
	} else {
		for _, line := range strings.Split(body, "\n") {
			var chunk map[string]any
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
			if ok && json.Unmarshal([]byte(data), &chunk) == nil {
				chunks = append(chunks, chunk)
			}
		}
	}
	var a plainAnswer
	calls := map[int]*troupe.ToolCall{}
	for _, chunk := range chunks {
		if chunk["error"] != nil {
			a.failed = true
		}
		if model, _ := chunk["model"].(string); a.Model == "" {
			a.Model = model
		}
		if usage, ok := chunk["usage"].(map[string]any); ok {
			a.Usage = plainUsage(usage)
		}
		choices, ok := chunk["choices"].([]any)
		a.isCompletion = a.isCompletion || ok
		for _, c := range choices {
			choice := c.(map[string]any)
			if index, _ := choice["index"].(float64); index != 0 {
				continue // the request asked for several answers, and gets the first
			}
			message, ok := choice["delta"].(map[string]any)
			if !ok {
				message = choice["message"].(map[string]any)
			}
			a.readMessage(message, calls)
			if reason, _ := choice["finish_reason"].(string); reason != "" {
				a.Finish = reason
			}
		}
	}
	for i := range 1000 {
		call, ok := calls[i]
		if !ok {
			continue
		}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d", len(a.Calls)+1)
		}
		a.Calls = append(a.Calls, *call)
	}
	if isEnded := one != nil || strings.Contains(body, "data: [DONE]"); a.Finish == "" && isEnded && (a.Text != "" || len(a.Calls) > 0) {
		a.Finish = "stop"
	}
	if a.Finish == "stop" && len(a.Calls) > 0 || a.Finish == "function_call" {
		a.Finish = "tool_calls"
	}
	return a
}

func (a *plainAnswer) readMessage(message map[string]any, calls map[int]*troupe.ToolCall) {
	switch content := message["content"].(type) {
	case string:
		a.Text += content
	case []any:
		for _, p := range content {
			part := p.(map[string]any)
			if part["type"] == "text" {
				a.Text += part["text"].(string)
			}
			if part["type"] == "thinking" {
				for _, thought := range part["thinking"].([]any) {
					a.Thought += thought.(map[string]any)["text"].(string)
				}
			}
		}
	}
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if thought, ok := message[key].(string); ok {
			a.Thought += thought
		}
	}
	list, _ := message["tool_calls"].([]any)
	if legacy, ok := message["function_call"]; ok {
		list = append(list, map[string]any{"function": legacy})
	}
	for i, c := range list {
		piece := c.(map[string]any)
		index := i
		if given, ok := piece["index"].(float64); ok {
			index = int(given)
		}
		call := calls[index]
		if call == nil {
			call = &troupe.ToolCall{}
			calls[index] = call
		}
		if id, _ := piece["id"].(string); id != "" {
			call.ID = id
		}
		function := piece["function"].(map[string]any)
		if name, _ := function["name"].(string); name != "" {
			call.Name = name
		}
		if arguments, ok := function["arguments"].(string); ok {
			call.Arguments += arguments
		}
	}
}

func plainUsage(usage map[string]any) troupe.Usage {
	count := func(path ...string) int {
		var v any = usage
		for _, key := range path {
			object, _ := v.(map[string]any)
			v = object[key]
		}
		n, _ := v.(float64)
		return int(n)
	}
	u := troupe.Usage{
		Input:       count("prompt_tokens"),
		CachedInput: count("prompt_tokens_details", "cached_tokens"),
		Output:      count("completion_tokens"),
		Reasoning:   count("completion_tokens_details", "reasoning_tokens"),
	}
	if u.CachedInput == 0 {
		u.CachedInput = count("num_cached_tokens")
	}
	// Some servers leave reasoning out of the completion and count it in the total.
	if total := count("total_tokens"); total > u.Input+u.Output {
		u.Output = total - u.Input
	}
	return u
}
