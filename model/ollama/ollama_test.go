package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	done      = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}` + "\n"
	callChunk = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"lookup","arguments":{"city":"Oslo"}}}]},"done":false}` + "\n"
)

func said(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"model":"m","message":{"role":"assistant","content":` + string(quoted) + `},"done":false}` + "\n"
}

func lines(body string) *wiretest.Canned {
	return &wiretest.Canned{Status: 200, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Body: body}
}

func modelOn(t testing.TB, c Config) *Model {
	t.Helper()
	if c.Model == "" {
		c.Model = "m"
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hear(t testing.TB, c *wiretest.Canned) wiretest.Heard {
	return wiretest.Listen(t.Context(), modelOn(t, Config{HTTPClient: c.Client()}), wiretest.Hello())
}

func TestFaultsAreWhatTheyAre(t *testing.T) {
	troupetest.TestFaults(t, func(t *testing.T, s *troupetest.Server) troupe.Model {
		return modelOn(t, Config{BaseURL: s.URL, HTTPClient: s.Client()})
	})
}

func TestModelKeepsItsContract(t *testing.T) {
	troupetest.TestModel(t, func(t *testing.T, does troupetest.Behaviour) troupe.Model {
		status, ending := http.StatusOK, wiretest.Close
		pieces := []string{said("a few "), said("words")}
		switch does {
		case troupetest.Answering:
			pieces = append(pieces, done)
		case troupetest.Calling:
			pieces = []string{callChunk, done}
		case troupetest.Failing:
			status, pieces = 404, []string{`{"error":"model 'm' not found"}`}
		case troupetest.Stalling:
			ending = wiretest.Stall
		}
		s := wiretest.Serve(t, status, "application/x-ndjson", ending, pieces...)
		return modelOn(t, Config{BaseURL: s.URL, HTTPClient: s.Client()})
	})
}

func TestRecordingsAreReadAsTheyWereSent(t *testing.T) {
	wiretest.Replay{
		API: "ollama", Least: 6,
		Open: func(t *testing.T, r *wiretest.Recording) troupe.Model {
			return modelOn(t, Config{HTTPClient: r.Answer().Client()})
		},
		Skip: func(r *wiretest.Recording) string {
			if !strings.HasSuffix(r.Request.URL, "/api/chat") {
				return "another endpoint"
			}
			return ""
		},
		Check: func(t *testing.T, r *wiretest.Recording, h *wiretest.Heard) string {
			if h.Err != nil || h.End.Model == "" {
				t.Errorf("%s: %v, %+v", r.Name, h.Err, h.End)
				return "failed"
			}
			r.CheckAnswer(t, h, troupe.Finish(r.Facts.StopWord), troupe.Usage{Input: r.Facts.Count("prompt_eval_count"), Output: r.Facts.Count("eval_count")})
			return "answer"
		},
	}.Run(t)
}

func TestAnswers(t *testing.T) {
	thinking := `{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}` + "\n"
	for name, test := range map[string]struct {
		body          string
		thought, text string
		finish        troupe.Finish
	}{
		"thinking":                  {thinking + said("yes") + done, "hm", "yes", troupe.FinishStop},
		"tags":                      {said("<thi") + said("nk>\nh") + said("m\n</") + said("think>\n\ny") + said("es") + done, "hm", "yes", troupe.FinishStop},
		"a tag that is none":        {said("<thin") + said("g>") + done, "", "<thing>", troupe.FinishStop},
		"only the end of a thought": {said("Let me see") + said(".\n</th") + said("ink>\n") + said("\nTwo.") + done, "Let me see.", "Two.", troupe.FinishStop},
		"a thought without an end":  {said("<think>hm ") + done, "hm", "", troupe.FinishStop},
		"cut":                       {said("ye") + strings.Replace(done, `"stop"`, `"length"`, 1), "", "ye", troupe.FinishLength},
		"no reason":                 {said("yes") + `{"done":true}`, "", "yes", troupe.FinishStop},
		"calls":                     {thinking + callChunk + done, "hm", "", troupe.FinishCalls},
	} {
		h := hear(t, lines(test.body))
		if h.Err != nil || h.Thought != test.thought || h.Text != test.text || h.End.Finish != test.finish {
			t.Errorf("%s: %+v", name, h)
		}
	}
	h := hear(t, lines(callChunk+callChunk+done))
	want := []troupe.ToolCall{{ID: "call_1", Name: "lookup", Arguments: `{"city":"Oslo"}`}, {ID: "call_2", Name: "lookup", Arguments: `{"city":"Oslo"}`}}
	if diff := cmp.Diff(want, h.Calls); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		answer    *wiretest.Canned
		reason    string
		temporary bool
	}{
		"cut":               {lines(said("half")), "incomplete", true},
		"cut in a line":     {lines(said("half") + done[:40]), "incomplete", true},
		"nothing":           {lines(""), "incomplete", true},
		"error in a stream": {lines(said("half") + `{"error":"an error was encountered while running the model: CUDA out of memory"}` + "\n"), "memory", false},
		"no model":          {&wiretest.Canned{Status: 404, Body: `{"error":"model \"m\" not found, try pulling it first"}`}, "model", false},
		"too long":          {&wiretest.Canned{Status: 400, Body: `{"error":"prompt too long; exceeded max context length by 4 tokens"}`}, "context", false},
		"loading":           {&wiretest.Canned{Status: 503, Body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`}, "overloaded", true},
		"a page":            {&wiretest.Canned{Status: 200, Body: "Ollama is running"}, "request", false},
		"another answer":    {&wiretest.Canned{Status: 200, Body: `{"choices":[]}`}, "request", false},
	} {
		h := hear(t, test.answer)
		e, ok := errors.AsType[*troupe.ModelError](h.Err)
		if !ok || e.Reason != test.reason || e.Temporary != test.temporary || h.End != nil || h.Calls != nil {
			t.Errorf("%s: %+v, error %#v", name, h, h.Err)
		}
	}
}

func sent(t *testing.T, c Config, req *troupe.Request) (map[string]any, wiretest.Sent) {
	t.Helper()
	canned := lines(done)
	c.HTTPClient = canned.Client()
	if h := wiretest.Listen(t.Context(), modelOn(t, c), req); h.Err != nil {
		t.Fatal(h.Err)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(canned.Sent()[0].Body), &body); err != nil {
		t.Fatalf("%v in %s", err, canned.Sent()[0].Body)
	}
	return body, canned.Sent()[0]
}

func TestAWholeRequest(t *testing.T) {
	tool, _ := troupe.NewRawTool(troupe.ToolSpec{Name: "lookup", Description: "Looks up.", Input: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	tools, err := troupe.NewToolSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	thought := hear(t, lines(`{"model":"m","message":{"content":"","thinking":"hm"},"done":false}`+"\n"+callChunk+done))
	half, ten, seed := 0.5, 10, int64(7)
	req := &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleUser, Text: "Look.", Parts: []troupe.Part{{MIME: "image/png", Data: []byte("png")}, {MIME: "text/plain", Name: "n.txt", Data: []byte("inside")}}},
			thought.Message(),
			{Role: troupe.RoleTool, CallID: "call_1", Tool: "lookup", Text: "seen", Parts: []troupe.Part{{MIME: "image/png", Data: []byte("png")}}},
		},
		Tools: tools,
		Params: &troupe.Params{Temperature: &half, MaxTokens: &ten, Seed: &seed, Stop: []string{"END"}, Effort: "high",
			Schema: json.RawMessage(`{"type":"object"}`), Extra: map[string]any{"keep_alive": "10m", "options": map[string]any{"seed": 8, "num_gpu": 1}}},
	}
	body, request := sent(t, Config{BaseURL: "127.0.0.1", ContextLength: 16384}, req)
	const want = `{"model":"m","stream":true,"think":true,"keep_alive":"10m",
"options":{"num_ctx":16384,"temperature":0.5,"num_predict":10,"seed":8,"stop":["END"],"num_gpu":1},
"messages":[{"role":"system","content":"PROMPT"},{"role":"system","content":"Be brief."},
{"role":"user","content":"Look.\n\nn.txt:\ninside","images":["cG5n"]},
{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"call_1","function":{"name":"lookup","arguments":{"city":"Oslo"}}}]},
{"role":"tool","content":"seen","images":["cG5n"],"tool_name":"lookup","tool_call_id":"call_1"}],
"tools":[{"type":"function","function":{"name":"lookup","description":"Looks up.","parameters":{"type":"object"}}}]}`
	first := body["messages"].([]any)[0].(map[string]any)
	if !strings.Contains(first["content"].(string), "fits this JSON schema") {
		t.Errorf("%v", first)
	}
	first["content"] = "PROMPT"
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	// The thought was another host's: it stays behind.
	delete(wanted["messages"].([]any)[3].(map[string]any), "thinking")
	if diff := cmp.Diff(wanted, body); diff != "" {
		t.Error(diff)
	}
	if request.URL != "http://127.0.0.1:11434/api/chat" {
		t.Error(request.URL)
	}
	if own, _ := sent(t, Config{}, req); own["messages"].([]any)[3].(map[string]any)["thinking"] != "hm" {
		t.Errorf("%v", own["messages"])
	}
	req.Tools = nil
	if bound, _ := sent(t, Config{Model: "gpt-oss:20b"}, req); bound["format"] == nil || len(bound["messages"].([]any)) != 4 || bound["think"] != "high" {
		t.Errorf("%v", bound)
	}
}

func TestWhereRequestsGo(t *testing.T) {
	for base, want := range map[string]string{
		"": "http://localhost:11434/api/chat", "0.0.0.0:1234": "http://localhost:1234/api/chat", "box": "http://box:11434/api/chat",
		"https://ollama.com": "https://ollama.com:443/api/chat", "http://box:1/v1": "http://box:1/api/chat", "http://box:1/behind/": "http://box:1/behind/api/chat",
	} {
		if _, request := sent(t, Config{BaseURL: base}, wiretest.Hello()); request.URL != want {
			t.Errorf("%q: %s", base, request.URL)
		}
	}
	for _, c := range []Config{{}, {Model: "m", BaseURL: "ftp://x"}, {Model: "m", ContextLength: -1}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestAModelThatCannotThinkIsNotAskedTo(t *testing.T) {
	c := &wiretest.Canned{Status: 400, Body: `{"error":"\"m\" does not support thinking"}`, Then: []*wiretest.Canned{lines(done)}}
	m := modelOn(t, Config{HTTPClient: c.Client()})
	req := wiretest.Hello()
	req.Params = &troupe.Params{Effort: "low"}
	first, second := wiretest.Listen(t.Context(), m, req), wiretest.Listen(t.Context(), m, req)
	if e, ok := errors.AsType[*troupe.ModelError](first.Err); !ok || !e.Temporary || second.Err != nil || strings.Contains(c.Sent()[1].Body, "think") {
		t.Errorf("%v, %v: %v", first.Err, second.Err, c.Sent())
	}
}

func FuzzStream(f *testing.F) {
	f.Add(said("<think>hm</think>yes") + callChunk + done)
	f.Add(`{"done":true}`)
	f.Fuzz(func(t *testing.T, body string) {
		m := modelOn(t, Config{HTTPClient: lines(body).Client()})
		h := wiretest.Listen(t.Context(), m, wiretest.Hello())
		if (h.End == nil) == (h.Err == nil) || h.End == nil && h.Calls != nil {
			t.Fatalf("heard %+v", h)
		}
		if encoded := (messageForm{m.host, m.name}).encode(h.Message()); !json.Valid(encoded[1:]) {
			t.Fatalf("goes back as %s", encoded)
		}
	})
}
