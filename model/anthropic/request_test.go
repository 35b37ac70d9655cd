package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

var fine = wiretest.Events(start, textBegin, textPiece("x"), ends("end_turn"), stop)

// sent returns the request that a model sends.
func sent(t *testing.T, c Config, req *troupe.Request) (map[string]any, wiretest.Sent) {
	t.Helper()
	canned := wiretest.Stream(fine)
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

func lookup(t *testing.T) *troupe.ToolSet {
	t.Helper()
	tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: "lookup", Description: "Looks up.", Input: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := troupe.NewToolSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAWholeRequest(t *testing.T) {
	seven := 7
	req := &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleSystem, Text: "Be kind."},
			{Role: troupe.RoleUser, Text: "What is this?", Parts: []troupe.Part{{MIME: "image/png", Data: []byte("png")}, {MIME: "text/plain", Name: "n.txt", Data: []byte("inside")}, {MIME: "application/pdf", URL: "https://h/p.pdf", Name: "p"}}},
			{Role: troupe.RoleAssistant, Text: "Two calls.", Calls: []troupe.ToolCall{{ID: "functions.f:0", Name: "lookup", Arguments: `{"a":`}, {ID: "b", Name: "lookup"}}},
			{Role: troupe.RoleTool, CallID: "functions.f:0", Text: "one"},
			{Role: troupe.RoleTool, CallID: "b", Text: "two", Parts: []troupe.Part{{MIME: "image/jpeg", URL: "https://h/i.jpg"}}},
			{Role: troupe.RoleUser, Text: "Well?"},
			{Role: troupe.RoleAssistant, Text: "  "},
			{Role: troupe.RoleUser, Text: "Say!"},
		},
		Tools: lookup(t), Stable: 7,
		Params: &troupe.Params{MaxTokens: &seven, Stop: []string{"END"}, Extra: map[string]any{"top_k": 3}},
	}
	body, request := sent(t, Config{}, req)
	const mark = `"cache_control":{"type":"ephemeral"}`
	const id = "functions.f:0"
	mapped := callID(id)
	const want = `{"model":"claude-sonnet-4-5","stream":true,"max_tokens":7,"stop_sequences":["END"],"top_k":3,
"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind.",MARK}],
"messages":[
{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"text","text":"n.txt:\ninside"},
 {"type":"document","source":{"type":"url","url":"https://h/p.pdf"},"title":"p"},{"type":"text","text":"What is this?"}]},
{"role":"assistant","content":[{"type":"text","text":"Two calls."},{"type":"tool_use","id":"ID","name":"lookup","input":{"invalid_json":"{\"a\":"}},{"type":"tool_use","id":"b","name":"lookup","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"ID","content":"one"},
 {"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"url","url":"https://h/i.jpg"}}],MARK},
 {"type":"text","text":"Well?",MARK},{"type":"text","text":"Say!"}]}],
"tools":[{"name":"lookup","description":"Looks up.","input_schema":{"type":"object"},MARK}]}`
	var wanted map[string]any
	if err := json.Unmarshal([]byte(strings.NewReplacer("MARK", mark, "ID", mapped).Replace(want)), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, body); diff != "" {
		t.Error(diff)
	}
	if request.URL != "https://api.anthropic.com/v1/messages" || request.Header.Get("X-Api-Key") != "sk-canary-1234" ||
		request.Header.Get("Anthropic-Version") != "2023-06-01" || request.Header.Get("Authorization") != "" {
		t.Errorf("sent to %s with %v", request.URL, request.Header)
	}
	if n := strings.Count(request.Body, "cache_control"); n != 4 {
		t.Errorf("%d marks", n)
	}
}

func TestWhereRequestsGo(t *testing.T) {
	for _, test := range []struct{ base, model, url, has, hasNot string }{
		{"", "claude-x", "https://api.anthropic.com/v1/messages", `"model":"claude-x"`, "anthropic_version"},
		{"https://proxy.test/v1", "m", "https://proxy.test/v1/messages", `"stream":true`, ""},
		{"https://proxy.test/anthropic/", "m", "https://proxy.test/anthropic/v1/messages", `"stream":true`, ""},
		{"https://proxy.test/v1/messages?k=1", "m", "https://proxy.test/v1/messages?k=1", `"stream":true`, ""},
		{"https://bedrock-runtime.eu-west-1.amazonaws.com", "eu.anthropic.claude-x-v1:0", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-x-v1:0/invoke-with-response-stream",
			`"anthropic_version":"bedrock-2023-05-31"`, `"model"`},
		{"https://l-aiplatform.googleapis.com/v1/projects/p/locations/l", "claude-x@20250101", "https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@20250101:streamRawPredict",
			`"anthropic_version":"vertex-2023-10-16"`, `"model"`},
	} {
		_, request := sent(t, Config{BaseURL: test.base, Model: test.model}, wiretest.Hello())
		if request.URL != test.url || !strings.Contains(request.Body, test.has) || test.hasNot != "" && strings.Contains(request.Body, test.hasNot) {
			t.Errorf("%+v: %s %s", test, request.URL, request.Body)
		}
	}
	_, request := sent(t, Config{KeyHeader: "Authorization"}, wiretest.Hello())
	if request.Header.Get("Authorization") != "Bearer sk-canary-1234" || request.Header.Get("X-Api-Key") != "" {
		t.Errorf("%v", request.Header)
	}
	for _, c := range []Config{{}, {Model: "m", BaseURL: "ftp://x"}, {Model: "m", Key: "a\nb"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%v is taken", c.Model)
		}
	}
}

func TestHowHardToThink(t *testing.T) {
	small, half, ten := 1500, 0.5, 10_000
	for _, test := range []struct {
		model string
		p     troupe.Params
		want  string
	}{
		{"claude-opus-4-8", troupe.Params{Effort: "high", Temperature: &half}, `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"max_tokens":32000}`},
		{"claude-opus-4-6", troupe.Params{Effort: "xhigh"}, `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"max_tokens":32000}`},
		{"claude-sonnet-4-5", troupe.Params{Effort: "low", Temperature: &half}, `{"thinking":{"type":"enabled","budget_tokens":2048},"max_tokens":34048}`},
		{"claude-sonnet-4-5", troupe.Params{Effort: "high", MaxTokens: &ten}, `{"thinking":{"type":"enabled","budget_tokens":5000},"max_tokens":10000}`},
		{"claude-sonnet-4-5", troupe.Params{Effort: "high", MaxTokens: &small, Temperature: &half}, `{"max_tokens":1500,"temperature":0.5}`},
		{"claude-sonnet-4-5", troupe.Params{Effort: "none"}, `{"thinking":{"type":"disabled"},"max_tokens":32000}`},
		{"claude-sonnet-4-5", troupe.Params{Temperature: &half, TopP: &half}, `{"max_tokens":32000,"temperature":0.5,"top_p":0.5}`},
		{"claude-opus-4-8", troupe.Params{Temperature: &half}, `{"max_tokens":32000}`},
		{"unheard-of", troupe.Params{}, `{"max_tokens":8192}`},
		{"claude-sonnet-4-5", troupe.Params{Extra: map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000}}, Temperature: &half}, `{"thinking":{"type":"enabled","budget_tokens":2000},"max_tokens":32000}`},
	} {
		req := wiretest.Hello()
		req.Params = &test.p
		body, _ := sent(t, Config{Model: test.model}, req)
		for _, name := range []string{"model", "stream", "messages"} {
			delete(body, name)
		}
		var want map[string]any
		json.Unmarshal([]byte(test.want), &want)
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("%s %+v: %s", test.model, test.p, diff)
		}
	}
}

func TestBoundAnswers(t *testing.T) {
	req := wiretest.Hello()
	closed := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)
	req.Params = &troupe.Params{Schema: closed, SchemaName: "thing"}
	body, _ := sent(t, Config{}, req)
	format := body["output_config"].(map[string]any)["format"].(map[string]any)
	if format["type"] != "json_schema" || format["schema"].(map[string]any)["type"] != "object" || body["system"] != nil {
		t.Errorf("%v", body)
	}
	req.Params = &troupe.Params{Schema: json.RawMessage(`{"type":"object"}`)}
	if body, request := sent(t, Config{}, req); body["output_config"] != nil || !strings.Contains(request.Body, "fits this JSON schema") {
		t.Errorf("%v", body)
	}
	// A server that does not take it is told by the prompt from then on.
	refusal := &wiretest.Canned{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: not supported by this model"}}`}
	refusal.Then = []*wiretest.Canned{wiretest.Stream(fine)}
	m := modelOn(t, Config{HTTPClient: refusal.Client()})
	req.Params = &troupe.Params{Schema: closed}
	h := wiretest.Listen(t.Context(), m, req)
	if e, ok := errors.AsType[*troupe.ModelError](h.Err); !ok || !e.Temporary || e.Reason != "schema" {
		t.Errorf("%v", h.Err)
	}
	if h = wiretest.Listen(t.Context(), m, req); h.Err != nil || strings.Contains(refusal.Sent()[1].Body, "output_config") {
		t.Errorf("%v: %s", h.Err, refusal.Sent()[1].Body)
	}
}

func TestWhatIsRefusedIsSentOtherwise(t *testing.T) {
	half := 0.5
	refusing := func(text string) *wiretest.Canned {
		c := &wiretest.Canned{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"` + text + `"}}`}
		c.Then = []*wiretest.Canned{wiretest.Stream(fine)}
		return c
	}
	for text, field := range map[string]string{
		"temperature is deprecated for this model": "temperature", "cache_control: extra inputs are not permitted": "cache_control",
	} {
		c := refusing(text)
		m := modelOn(t, Config{HTTPClient: c.Client()})
		req := wiretest.Hello()
		req.Stable, req.Params = 1, &troupe.Params{Temperature: &half}
		first, second := wiretest.Listen(t.Context(), m, req), wiretest.Listen(t.Context(), m, req)
		if e, ok := errors.AsType[*troupe.ModelError](first.Err); !ok || !e.Temporary || second.Err != nil {
			t.Errorf("%s: %v, %v", text, first.Err, second.Err)
		}
		if !strings.Contains(c.Sent()[0].Body, field) || strings.Contains(c.Sent()[1].Body, field) {
			t.Errorf("%s: %s", text, c.Sent()[1].Body)
		}
	}
	// Thoughts whose signature is refused are left out at once, for this conversation.
	thought := hear(t, wiretest.Stream(thinkAndCall))
	c := refusing("messages.1.content.0: Invalid `signature` in `thinking` block")
	m := modelOn(t, Config{HTTPClient: c.Client()})
	req := wiretest.Hello()
	req.Messages = append(req.Messages, thought.Message(), &troupe.Message{Role: troupe.RoleTool, CallID: "toolu_1", Text: "done"})
	if h := wiretest.Listen(t.Context(), m, req); h.Err != nil || len(c.Sent()) != 2 || !strings.Contains(c.Sent()[0].Body, "c2ln") || strings.Contains(c.Sent()[1].Body, "c2ln") {
		t.Errorf("%v: %v", h.Err, c.Sent())
	}
}

func TestAnAgentThatSpeaksFirst(t *testing.T) {
	req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleAssistant, Text: "Welcome."}, {Role: troupe.RoleUser, Text: "Hi."}}}
	body, _ := sent(t, Config{}, req)
	if first := body["messages"].([]any)[0].(map[string]any); first["role"] != "user" || len(body["messages"].([]any)) != 3 {
		t.Errorf("%v", body["messages"])
	}
}
