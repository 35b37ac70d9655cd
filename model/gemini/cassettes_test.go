package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

func replaying(t *testing.T, r *wiretest.Recording) *Model {
	t.Helper()
	base := ""
	if strings.Contains(r.Request.URL, "aiplatform") {
		base = "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global"
	}
	name := r.Model
	if name == "" {
		name = "gemini"
	}
	m, err := New(Config{BaseURL: base, Model: name, Key: "canary-1234", HTTPClient: r.Answer().Client()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func otherEndpoint(r *wiretest.Recording) string {
	if strings.Contains(r.Request.URL, "countTokens") {
		return "tokens were counted"
	}
	return ""
}

func TestRecordingsAreReadAsTheyWereSent(t *testing.T) {
	wiretest.Replay{API: "gemini", Skip: otherEndpoint, Check: check, Least: 270,
		Open: func(t *testing.T, r *wiretest.Recording) troupe.Model { return replaying(t, r) }}.Run(t)
}

// stops are the finishes of the words for the end.
var stops = map[wiretest.Word]troupe.Finish{
	"STOP": troupe.FinishStop, "1": troupe.FinishStop, "MAX_TOKENS": troupe.FinishLength,
	"SAFETY": troupe.FinishFiltered, "MODEL_ARMOR": troupe.FinishFiltered, "blockReason:MODEL_ARMOR": troupe.FinishFiltered,
}

// check compares what was heard with the facts, and names the outcome.
func check(t *testing.T, r *wiretest.Recording, h *wiretest.Heard) string {
	t.Helper()
	failure, _ := errors.AsType[*troupe.ModelError](h.Err)
	switch {
	case r.Response.Status != 200:
		want := map[int]string{403: "key", 404: "model", 429: "rate"}[r.Response.Status]
		if strings.Contains(r.Response.Body, "API_KEY_INVALID") {
			want = "key"
		} else if r.Response.Status == 400 {
			want = "request"
		}
		if failure == nil || failure.Status != r.Response.Status || failure.Reason != want || failure.Temporary != (r.Response.Status == 429) || failure.Message == "" {
			t.Errorf("%s: %+v, want %s", r.Name, failure, want)
		}
		if r.Response.Status == 429 && failure.RetryAfter == 0 && strings.Contains(r.Response.Body, "retryDelay") {
			t.Errorf("%s: when to try again is not known", r.Name)
		}
		return "status"
	case r.Facts.StopWord == "UNEXPECTED_TOOL_CALL":
		if failure == nil || !failure.Temporary || failure.Code != string(r.Facts.StopWord) || h.Calls != nil || !strings.Contains(failure.Message, "undeclared function") {
			t.Errorf("%s: %+v", r.Name, h)
		}
		return "unexpected call"
	case h.Err != nil:
		t.Errorf("%s: %v", r.Name, h.Err)
		return "failed"
	case r.Facts.Unsure != "":
		for _, call := range h.Calls {
			if !json.Valid([]byte(call.Arguments)) || call.Name == "" {
				t.Errorf("%s: %+v", r.Name, call)
			}
		}
		if len(h.Calls) == 0 {
			t.Errorf("%s: %+v", r.Name, h)
		}
		t.Logf("%s: arguments in pieces: %.300v", r.Name, h.Calls)
		return "arguments in pieces"
	}
	count := r.Facts.Count
	r.CheckAnswer(t, h, stops[r.Facts.StopWord], troupe.Usage{
		Input: count("promptTokenCount") + count("toolUsePromptTokenCount"), CachedInput: count("cachedContentTokenCount"),
		Output: count("candidatesTokenCount") + count("thoughtsTokenCount"), Reasoning: count("thoughtsTokenCount"),
	})
	return "answer"
}

// changed are answers that their clients did not send back as they were.
var changed = map[string]string{
	"pydantic-ai.jsonl:26": "the client added what a search had found", "pydantic-ai.jsonl:28": "the client added what a search had found",
}

// An answer that was read goes back as it stands in the recorded next request of the
// same conversation.
func TestAnswersGoBackAsOthersSentThem(t *testing.T) {
	all := wiretest.Recordings(t, "gemini")
	same, signed, others := 0, 0, map[string]int{}
	for i, r := range all {
		next := wiretest.Next(all, i)
		if next == nil || otherEndpoint(r) != "" || otherEndpoint(next) != "" || r.Response.Status != 200 || r.Facts.Unsure != "" {
			continue
		}
		want, ok := sentBack(r, next)
		if why := changed[r.Name]; why != "" {
			others[why]++
			continue
		}
		if !ok {
			others["another conversation"]++
			continue
		}
		m := replaying(t, r)
		h := wiretest.Listen(t.Context(), m, wiretest.Hello())
		if h.End == nil {
			others["no answer"]++
			continue
		}
		encoded := messageForm{host: m.host, model: m.name, generation: m.generation}.encode(h.Message())
		got := wiretest.SentBack(t, r, encoded)
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			t.Errorf("%s: (-recorded +ours)\n%s", r.Name, diff)
			continue
		}
		same++
		if r.Facts.Signatures > 0 {
			signed++
		}
	}
	t.Logf("%d answers go back alike, %d of them signed; not compared: %v", same, signed, others)
	if same < 60 || signed < 40 {
		t.Errorf("only %d answers, %d signed", same, signed)
	}
}

// sentBack is the content of the model in the next request, if that goes on with the
// conversation by exactly this answer.
func sentBack(r, next *wiretest.Recording) ([]any, bool) {
	type body struct {
		Contents []struct {
			Role  string
			Parts []any
		}
	}
	var before, after body
	if json.Unmarshal([]byte(r.Request.Body), &before) != nil || json.Unmarshal([]byte(next.Request.Body), &after) != nil {
		return nil, false
	}
	n := len(before.Contents)
	if len(after.Contents) <= n || after.Contents[n].Role != "model" {
		return nil, false
	}
	return after.Contents[n].Parts, true
}

// plain leaves out what clients are free to choose: ids that they made up, and names
// with underscores.
func plain(parts []any) []any {
	var list []any
	for _, p := range parts {
		part := camel(p).(map[string]any)
		if part["thought"] == true && part["thoughtSignature"] == nil {
			continue // some leave out thoughts that nobody signed
		}
		for _, name := range []string{"toolCall", "toolResponse"} {
			camel(part[name])
		}
		if call, ok := part["functionCall"].(map[string]any); ok {
			delete(call, "id")
			if call["args"] == nil {
				call["args"] = map[string]any{}
			}
		}
		list = append(list, part)
	}
	return list
}

func camel(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	names := map[string]string{"function_call": "functionCall", "thought_signature": "thoughtSignature", "tool_type": "toolType"}
	for old, name := range names {
		if member, ok := object[old]; ok {
			object[name] = member
			delete(object, old)
		}
	}
	if signature, ok := object["thoughtSignature"].(string); ok { // some write base64 for URLs
		object["thoughtSignature"] = strings.NewReplacer("-", "+", "_", "/").Replace(signature)
	}
	return object
}
