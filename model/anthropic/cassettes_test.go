package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

// replaying makes a model that gets the recorded answer.
func replaying(t *testing.T, r *wiretest.Recording) *Model {
	t.Helper()
	base := "https://api.anthropic.com"
	switch {
	case strings.Contains(r.Request.URL, "bedrock-runtime"):
		base = "https://bedrock-runtime.us-east-1.amazonaws.com"
	case strings.Contains(r.Request.URL, "aiplatform"):
		base = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5"
	}
	name := r.Model
	if name == "" {
		name = "claude"
	}
	m, err := New(Config{BaseURL: base, Model: name, Key: "sk-canary-1234", HTTPClient: r.Answer().Client()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func otherEndpoint(r *wiretest.Recording) string {
	if strings.Contains(r.Request.URL, "count_tokens") {
		return "tokens were counted"
	}
	return ""
}

func TestRecordingsAreReadAsTheyWereSent(t *testing.T) {
	wiretest.Replay{API: "anthropic", Skip: otherEndpoint, Check: check, Least: 250,
		Open: func(t *testing.T, r *wiretest.Recording) troupe.Model { return replaying(t, r) }}.Run(t)
}

// stops are the finishes of the words for the end.
var stops = map[wiretest.Word]troupe.Finish{
	"end_turn": troupe.FinishStop, "stop_sequence": troupe.FinishStop, "tool_use": troupe.FinishCalls,
	"max_tokens": troupe.FinishLength, "refusal": troupe.FinishFiltered,
}

// check compares what was heard with the facts, and names the outcome.
func check(t *testing.T, r *wiretest.Recording, h *wiretest.Heard) string {
	t.Helper()
	failure, _ := errors.AsType[*troupe.ModelError](h.Err)
	switch {
	case r.Response.Status != 200:
		reasons := map[int]string{400: "request", 401: "key", 403: "model", 404: "model"}
		if failure == nil || failure.Status != r.Response.Status || failure.Reason != reasons[failure.Status] || failure.Temporary || failure.Message == "" {
			t.Errorf("%s: %+v", r.Name, failure)
		}
		return "status"
	case r.Facts.Unsure != "":
		if h.Err != nil || h.End == nil || h.Text == "" {
			t.Errorf("%s: %+v", r.Name, h)
		}
		return "unsure"
	case r.Facts.StopWord == "pause_turn":
		if failure == nil || !failure.Temporary || failure.Code != "pause_turn" || h.End != nil {
			t.Errorf("%s: %+v", r.Name, h)
		}
		return "paused"
	case h.Err != nil:
		t.Errorf("%s: %v", r.Name, h.Err)
		return "failed"
	}
	if r.Facts.StopWord == "refusal" && h.Refusal == "" && r.Has("stop_details") {
		t.Errorf("%s: nothing is said of the refusal", r.Name)
	}
	count := r.Facts.Count
	r.CheckAnswer(t, h, stops[r.Facts.StopWord], troupe.Usage{
		Input:       count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens"),
		CachedInput: count("cache_read_input_tokens"), CacheWrite: count("cache_creation_input_tokens"),
		Output: count("output_tokens"), Reasoning: count("output_tokens_details", "thinking_tokens"),
	})
	return "answer"
}

// changed are answers that their clients did not send back as they were.
var changed = map[string]string{
	"fantasy.jsonl:22": "the client left the text out", "fantasy.jsonl:24": "the client left the text out",
	"opencode.jsonl:10": "the client changed the arguments",
}

// An answer that was read goes back as it stands in the recorded next request of the
// same conversation.
func TestAnswersGoBackAsOthersSentThem(t *testing.T) {
	all := wiretest.Recordings(t, "anthropic")
	same, thoughts, others := 0, 0, map[string]int{}
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
		encoded := messageForm{host: m.host, model: m.name}.encode(h.Message())
		got := wiretest.SentBack(t, r, encoded)
		if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
			t.Errorf("%s: (-recorded +ours)\n%s", r.Name, diff)
			continue
		}
		same++
		if r.Facts.Signatures > 0 {
			thoughts++
		}
	}
	t.Logf("%d answers go back alike, %d of them with thoughts; not compared: %v", same, thoughts, others)
	if same < 60 || thoughts < 10 {
		t.Errorf("only %d answers, %d with thoughts", same, thoughts)
	}
}

// sentBack is the message of the model in the next request, if that goes on with the
// conversation by exactly this answer.
func sentBack(r, next *wiretest.Recording) ([]any, bool) {
	type body struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	var before, after body
	if json.Unmarshal([]byte(r.Request.Body), &before) != nil || json.Unmarshal([]byte(next.Request.Body), &after) != nil {
		return nil, false
	}
	n := len(before.Messages)
	if len(after.Messages) <= n || after.Messages[n].Role != "assistant" {
		return nil, false
	}
	content, ok := after.Messages[n].Content.([]any)
	return content, ok
}

// plain leaves out what clients are free to send or not.
func plain(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	case map[string]any:
		for name, member := range value {
			if member == nil || name == "cache_control" || name == "caller" || name == "citations" {
				delete(value, name)
				continue
			}
			value[name] = plain(member)
		}
	}
	return value
}
