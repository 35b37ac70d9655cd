package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

func replaying(t *testing.T, r *wiretest.Recording) *Model {
	t.Helper()
	name := r.Model
	if name == "" {
		name = "m"
	}
	m, err := New(Config{Model: name, Key: "sk-canary-1234", HTTPClient: r.Answer().Client()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// otherEndpoint says that a recording is of another endpoint, or nothing.
func otherEndpoint(r *wiretest.Recording) string {
	switch {
	case r.Request.Method != "" && r.Request.Method != "POST":
		return "asked for an answer in the background"
	case strings.HasSuffix(r.Request.URL, "/compact") || strings.HasSuffix(r.Request.URL, "/input_tokens"):
		return "another endpoint"
	}
	return ""
}

func TestRecordingsAreReadAsTheyWereSent(t *testing.T) {
	wiretest.Replay{API: "responses", Skip: otherEndpoint, Check: check, Least: 260,
		Open: func(t *testing.T, r *wiretest.Recording) troupe.Model { return replaying(t, r) }}.Run(t)
}

// check compares what was heard with the facts, and names the outcome.
func check(t *testing.T, r *wiretest.Recording, h *wiretest.Heard) string {
	t.Helper()
	failure, _ := errors.AsType[*troupe.ModelError](h.Err)
	switch {
	case r.Response.Status != 200:
		if failure == nil || failure.Status != r.Response.Status || failure.Reason == "" || failure.Message == "" {
			t.Errorf("%s: %+v", r.Name, failure)
		}
		for phrase, want := range map[string]string{"model_not_found": "model", "context_length_exceeded": "context", "Incorrect API key": "key"} {
			if strings.Contains(r.Response.Body, phrase) && failure.Reason != want {
				t.Errorf("%s: %+v, want %s", r.Name, failure, want)
			}
		}
		return "status"
	case r.Facts.StopWord == "failed":
		if failure == nil || failure.Reason != "money" || failure.Temporary || h.End != nil {
			t.Errorf("%s: %+v", r.Name, h)
		}
		return "failed in the stream"
	case r.Facts.StopWord == "queued" || r.Facts.StopWord == "in_progress":
		if failure == nil || !failure.Temporary || !errors.Is(failure, io.ErrUnexpectedEOF) || h.End != nil {
			t.Errorf("%s: %+v", r.Name, h)
		}
		return "not done"
	case h.Err != nil:
		t.Errorf("%s: %v", r.Name, h.Err)
		return "failed"
	case strings.Count(r.Response.Body, `"type":"response.completed"`) > 1:
		return "several answers in one body"
	case len(h.Calls) == 0 && strings.Contains(r.Response.Body, `"custom_tool_call"`):
		return "a call of a kind of tool that is never offered"
	case r.Facts.Unsure != "":
		return "unsure"
	}
	count := r.Facts.Count
	r.CheckAnswer(t, h, troupe.FinishStop, troupe.Usage{
		Input: count("input_tokens"), CachedInput: count("input_tokens_details", "cached_tokens"), CacheWrite: count("input_tokens_details", "cache_write_tokens"),
		Output: count("output_tokens"), Reasoning: count("output_tokens_details", "reasoning_tokens"),
	})
	return "answer"
}

// An answer that was read goes back as it stands in the recorded next request of the
// same conversation.
func TestAnswersGoBackAsOthersSentThem(t *testing.T) {
	all := wiretest.Recordings(t, "responses")
	same, reasoned, others := 0, 0, map[string]int{}
	for i, r := range all {
		next := wiretest.Next(all, i)
		if next == nil || otherEndpoint(r) != "" || otherEndpoint(next) != "" || r.Response.Status != 200 || r.Facts.Unsure != "" {
			continue
		}
		m := replaying(t, r)
		h := wiretest.Listen(t.Context(), m, wiretest.Hello())
		if h.End == nil {
			others["no answer"]++
			continue
		}
		encoded := messageForm{host: m.host, model: m.name}.encode(h.Message())
		got := wiretest.SentBack(t, r, encoded)
		want, ok := sentBack(r, next)
		if why := changed[r.Name]; why != "" {
			others[why]++
			continue
		}
		if strings.Contains(next.Request.Body, `"tool_search`) || strings.Contains(next.Request.Body, `"additional_tools`) {
			others["items of a search for tools stand between"]++
			continue
		}
		want, got = ours(want), ours(got)
		if len(withoutReasoning(want)) == len(want) && len(withoutReasoning(got)) < len(got) {
			others["(the client sends no reasoning back)"]++
			got = withoutReasoning(got)
		}
		if !ok {
			others["another conversation"]++
			continue
		}
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			t.Errorf("%s: (-recorded +ours)\n%s", r.Name, diff)
			continue
		}
		same++
		if r.Facts.Signatures > 0 {
			reasoned++
		}
	}
	t.Logf("%d answers go back alike, %d of them with reasoning; not compared: %v", same, reasoned, others)
	if same < 30 || reasoned < 15 {
		t.Errorf("only %d answers, %d with reasoning", same, reasoned)
	}
}

// changed are answers that their clients did not send back as they were.
var changed = map[string]string{
	"opencode.jsonl:11": "the client changed the arguments", "opencode.jsonl:13": "the client changed the arguments",
	"pydantic-ai.jsonl:149": "the client changed the text", "pydantic-ai.jsonl:163": "the client changed the text",
}

// sentBack are the items of the model in the next request, if that goes on with the
// conversation by exactly this answer.
func sentBack(r, next *wiretest.Recording) ([]any, bool) {
	type body struct{ Input []any }
	var before, after body
	if json.Unmarshal([]byte(r.Request.Body), &before) != nil || json.Unmarshal([]byte(next.Request.Body), &after) != nil {
		return nil, false
	}
	from := len(before.Input)
	if len(after.Input) <= from || !cmp.Equal(before.Input, after.Input[:from]) {
		return nil, false
	}
	to := from
	for to < len(after.Input) {
		if item := after.Input[to].(map[string]any); item["role"] != nil && item["role"] != "assistant" || strings.HasSuffix(fmt.Sprint(item["type"]), "_output") {
			break
		}
		to++
	}
	return after.Input[from:to], to > from
}

// ours are the items that every client sends back: what the server's own tools did
// is sent whole, shortened or not at all.
func ours(items []any) (list []any) {
	for _, i := range items {
		item := i.(map[string]any)
		switch {
		case item["type"] == "reasoning" || item["type"] == "function_call":
			list = append(list, item)
		case item["role"] == "assistant" && item["content"] != "":
			list = append(list, item)
		}
	}
	return list
}

func withoutReasoning(items []any) (rest []any) {
	for _, i := range items {
		if i.(map[string]any)["type"] != "reasoning" {
			rest = append(rest, i)
		}
	}
	return rest
}

// plain leaves out what clients are free to choose.
func plain(items []any) []any {
	for _, i := range items {
		item := i.(map[string]any)
		if item["type"] != "reasoning" {
			delete(item, "id")
		}
		delete(item, "status")
		if text, ok := item["arguments"].(string); ok {
			var arguments any
			json.Unmarshal([]byte(text), &arguments)
			item["arguments"] = arguments
		}
		if item["role"] == "assistant" {
			item["type"] = "message"
			if list, ok := item["content"].([]any); ok {
				text := ""
				for _, c := range list {
					said, _ := c.(map[string]any)["text"].(string)
					text += said
				}
				item["content"] = text
			}
		}
	}
	return items
}
