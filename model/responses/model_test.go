package responses

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The events of answers.
const (
	created = `{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`
	usage   = `"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3}}`
	message = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`
)

func textPiece(text string) string {
	return `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"` + text + `"}`
}

func ends(status, more string) string {
	kind := status
	if status == "in_progress" {
		kind = "completed"
	}
	return `{"type":"response.` + kind + `","response":{"object":"response","model":"gpt-x","status":"` + status + `",` + usage + more + `}}`
}

// reasonAndCall is an answer with reasoning, a text and a call.
var reasonAndCall = wiretest.Events(created,
	`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
	`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"let me "}`,
	`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"see"}`,
	`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"let me see"},{"type":"summary_text","text":" more"}],"encrypted_content":"c2ln"}}`,
	`{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
	`{"type":"response.output_text.delta","output_index":1,"delta":"I look "}`,
	`{"type":"response.output_text.delta","output_index":1,"delta":"it up."}`,
	`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look it up."}]}}`,
	`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"lookup","arguments":""}}`,
	`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"city\":"}`,
	`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"Oslo\"}"}`,
	`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"lookup","arguments":"{\"city\":\"Oslo\"}"}}`,
	ends("completed", `,"output":[]`))

func modelOn(t testing.TB, c Config) *Model {
	t.Helper()
	if c.Model == "" {
		c.Model = "gpt-5"
	}
	if c.Key == "" {
		c.Key = "sk-canary-1234"
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hear(t testing.TB, c *wiretest.Canned) wiretest.Heard {
	t.Helper()
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
		pieces := []string{wiretest.Events(created, message), wiretest.Events(textPiece("a few ")), wiretest.Events(textPiece("words"))}
		switch does {
		case troupetest.Answering:
			pieces = append(pieces, wiretest.Events(ends("completed", "")))
		case troupetest.Calling:
			pieces = []string{reasonAndCall}
		case troupetest.Failing:
			status, pieces = 400, []string{`{"error":{"type":"invalid_request_error","message":"no"}}`}
		case troupetest.Stalling:
			ending = wiretest.Stall
		}
		s := wiretest.Serve(t, status, "text/event-stream", ending, pieces...)
		return modelOn(t, Config{BaseURL: s.URL, HTTPClient: s.Client()})
	})
}

func TestReasoningGoesBackInItsPlaceToWhoeverSentIt(t *testing.T) {
	h := hear(t, wiretest.Stream(reasonAndCall))
	if h.Err != nil || h.Thought != "let me see more" || h.Text != "I look it up." || len(h.Calls) != 1 || h.Calls[0].Arguments != `{"city":"Oslo"}` {
		t.Fatalf("heard %+v", h)
	}
	if want := (troupe.Usage{Input: 9, CachedInput: 4, CacheWrite: 2, Output: 7, Reasoning: 3}); h.End.Usage != want || h.End.Model != "gpt-x" || h.End.Finish != troupe.FinishCalls {
		t.Errorf("end %+v", h.End)
	}
	const reasoning = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"let me see"},{"type":"summary_text","text":" more"}],"encrypted_content":"c2ln"},`
	const call = `{"type":"function_call","call_id":"call_1","name":"lookup","arguments":"{\"city\":\"Oslo\"}"}`
	const whole = `[` + reasoning + `{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look it up."}]},` + call + `]`
	const plain = `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look it up."}]},` + call + `]`
	for name, test := range map[string]struct {
		form messageForm
		want string
	}{
		"the same model":    {messageForm{"api.openai.com", "gpt-5", false}, whole},
		"another model":     {messageForm{"api.openai.com", "gpt-5-mini", false}, plain},
		"another host":      {messageForm{"proxy.test", "gpt-5", false}, plain},
		"without reasoning": {messageForm{"api.openai.com", "gpt-5", true}, plain},
	} {
		var got, want any
		json.Unmarshal([]byte("["+string(test.form.encode(h.Message())[1:])+"]"), &got)
		json.Unmarshal([]byte(test.want), &want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Reasoning that nothing followed would be refused.
	alone := hear(t, wiretest.Stream(wiretest.Events(created,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"}}`, ends("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`))))
	if alone.Err != nil || alone.End.Finish != troupe.FinishLength || len(messageForm{"api.openai.com", "gpt-5", false}.encode(alone.Message())) != 0 {
		t.Errorf("alone: %+v", alone)
	}
	// Azure sends the encrypted form with the end only.
	late := hear(t, wiretest.Stream(wiretest.Events(created,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`, strings.Replace(textPiece("x"), `"output_index":0`, `"output_index":1`, 1),
		ends("completed", `,"output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"bGF0ZQ=="},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}]`))))
	if late.Err != nil || late.Text != "x" || !strings.Contains(string(late.End.Opaque), "bGF0ZQ==") {
		t.Errorf("late: %+v %s", late, late.End.Opaque)
	}
}

func TestFaultsAndEnds(t *testing.T) {
	for name, test := range map[string]struct {
		answer    *wiretest.Canned
		reason    string
		temporary bool
		after     time.Duration
	}{
		"cut":               {wiretest.Stream(wiretest.Events(created, message, textPiece("half"))), "incomplete", true, 0},
		"cut in an event":   {wiretest.Stream(reasonAndCall[:len(reasonAndCall)-60]), "incomplete", true, 0},
		"nothing":           {wiretest.Stream(""), "incomplete", true, 0},
		"only pings":        {wiretest.Stream(wiretest.Events(`{"type":"ping"}`, `{"type":"keepalive"}`)), "incomplete", true, 0},
		"error in a stream": {wiretest.Stream(wiretest.Events(created, `{"type":"error","code":"rate_limit_exceeded","message":"Rate limit reached"}`)), "rate", true, 0},
		"overloaded":        {wiretest.Stream(wiretest.Events(created, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"The server is overloaded"}}}`)), "overloaded", true, 0},
		"no money":          {wiretest.Stream(wiretest.Events(created, `{"type":"response.failed","response":{"status":"failed","error":{"code":"insufficient_quota","message":"You exceeded your quota"}}}`)), "money", false, 0},
		"queued":            {wiretest.Stream(wiretest.Events(ends("in_progress", ""))), "incomplete", true, 0},
		"429":               {&wiretest.Canned{Status: 429, Header: http.Header{"Retry-After-Ms": {"1500"}}, Body: `{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`}, "rate", true, 1500 * time.Millisecond},
		"too long":          {&wiretest.Canned{Status: 400, Body: `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`}, "context", false, 0},
		"a page":            {&wiretest.Canned{Status: 200, Body: "<html><title>Welcome</title>"}, "request", false, 0},
		"another answer":    {&wiretest.Canned{Status: 200, Body: `{"choices":[]}`}, "request", false, 0},
	} {
		h := hear(t, test.answer)
		e, ok := errors.AsType[*troupe.ModelError](h.Err)
		if !ok || e.Reason != test.reason || e.Temporary != test.temporary || e.RetryAfter != test.after || h.End != nil || h.Calls != nil {
			t.Errorf("%s: %+v, error %#v", name, h, h.Err)
		}
	}
	h := hear(t, wiretest.Stream(wiretest.Events(created, message, `{"type":"response.refusal.delta","output_index":0,"delta":"Not that."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"Not that."}]}}`, ends("completed", ""))))
	if h.Err != nil || h.Refusal != "Not that." || h.End.Finish != troupe.FinishStop {
		t.Errorf("refusal: %+v", h)
	}
	h = hear(t, wiretest.Stream(wiretest.Events(created, message, textPiece("x"), ends("incomplete", `,"incomplete_details":{"reason":"content_filter"}`))))
	if h.Err != nil || h.End.Finish != troupe.FinishFiltered {
		t.Errorf("filtered: %+v", h)
	}
	h = hear(t, wiretest.Stream(wiretest.Events(message, textPiece("x"), strings.Replace(ends("completed", ""), `"usage":{`, `"usage":{"cost":0.25,`, 1))))
	if h.Err != nil || h.End.Cost == nil || *h.End.Cost != 0.25 {
		t.Errorf("cost: %+v", h.End)
	}
	for i := range len(reasonAndCall) - len("\n\n") {
		if h := hear(t, wiretest.Stream(reasonAndCall[:i])); h.End == nil && (h.Calls != nil || h.Err == nil) || h.End != nil && i < len(reasonAndCall)-8 {
			t.Fatalf("cut at %d: %+v", i, h)
		}
	}
}

var fine = wiretest.Events(created, message, textPiece("x"), ends("completed", ""))

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

func TestAWholeRequest(t *testing.T) {
	tool, _ := troupe.NewRawTool(troupe.ToolSpec{Name: "lookup", Description: "Looks up.", Input: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	tools, err := troupe.NewToolSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	ten := 10
	long := strings.Repeat("x", 70)
	picture := troupe.Part{MIME: "image/png", Data: []byte("png")}
	req := &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleUser, Text: "Look.", Parts: []troupe.Part{picture, {MIME: "application/pdf", Name: "p.pdf", Data: []byte("pdf")}, {MIME: "text/plain", Name: "n.txt", Data: []byte("inside")}}},
			{Role: troupe.RoleAssistant, Text: "Two.", Thought: "hm", Calls: []troupe.ToolCall{{ID: long, Name: "lookup", Arguments: `{"k":`}}},
			{Role: troupe.RoleTool, CallID: long, Tool: "lookup", Text: "one", Parts: []troupe.Part{picture}},
		},
		Tools: tools, Session: "s1",
		Params: &troupe.Params{MaxTokens: &ten, Effort: "max", SchemaName: "my thing", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), Extra: map[string]any{"truncation": "auto"}},
	}
	want := `{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},"max_output_tokens":10,"prompt_cache_key":"s1","truncation":"auto",
"text":{"format":{"type":"json_schema","name":"my_thing","strict":true,"schema":{"type":"object","properties":{},"additionalProperties":false}}},
"input":[{"role":"system","content":"Be brief."},
{"role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"data:image/png;base64,cG5n"},{"type":"input_file","filename":"p.pdf","file_data":"data:application/pdf;base64,cGRm"},{"type":"input_text","text":"n.txt:\ninside"}]},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Two."}]},{"type":"function_call","call_id":"ID","name":"lookup","arguments":"{\"invalid_json\":\"{\\\"k\\\":\"}"},
{"type":"function_call_output","call_id":"ID","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]}],
"tools":[{"type":"function","name":"lookup","description":"Looks up.","parameters":{"type":"object"},"strict":false}]}`
	var wanted map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(want, `"ID"`, `"`+callID(long)+`"`)), &wanted); err != nil {
		t.Fatal(err)
	}
	body, request := sent(t, Config{}, req)
	if diff := cmp.Diff(wanted, body); diff != "" {
		t.Error(diff)
	}
	if request.URL != "https://api.openai.com/v1/responses" || request.Header.Get("Authorization") != "Bearer sk-canary-1234" {
		t.Errorf("%s %v", request.URL, request.Header)
	}
	_, request = sent(t, Config{BaseURL: "https://acme.openai.azure.com/openai/v1/responses?api-version=v1", KeyHeader: "api-key"}, wiretest.Hello())
	if request.URL != "https://acme.openai.azure.com/openai/v1/responses?api-version=v1" || request.Header.Get("Api-Key") != "sk-canary-1234" {
		t.Errorf("%s %v", request.URL, request.Header)
	}
	half := 0.5
	plain := wiretest.Hello()
	plain.Params = &troupe.Params{Temperature: &half}
	if body, _ := sent(t, Config{Model: "gpt-4.1"}, plain); body["include"] != nil || body["reasoning"] != nil || body["temperature"] != 0.5 || body["store"] != false {
		t.Errorf("%v", body)
	}
	plain.Params = &troupe.Params{Extra: map[string]any{"store": true}}
	if h := wiretest.Listen(t.Context(), modelOn(t, Config{HTTPClient: wiretest.Stream(fine).Client()}), plain); h.Err == nil {
		t.Error("something was stored")
	}
}

func TestWhatIsRefusedIsSentOtherwise(t *testing.T) {
	half := 0.5
	refusing := func(text string) *wiretest.Canned {
		return &wiretest.Canned{Status: 400, Body: `{"error":{"type":"invalid_request_error","message":"` + text + `"}}`, Then: []*wiretest.Canned{wiretest.Stream(fine)}}
	}
	for text, field := range map[string]string{
		"Unsupported parameter: 'temperature' is not supported with this model.":      "temperature",
		"Encrypted content is not supported with this model.":                         "encrypted_content",
		"Your organization must be verified to generate reasoning summaries.":         "summary",
		"Unknown parameter: 'prompt_cache_key'.":                                      "prompt_cache_key",
		"Unsupported parameter: 'reasoning.effort' is not supported with this model.": `"effort"`,
		"Invalid schema for response_format 'answer': 'strict' is not available":      `"strict":true`,
	} {
		c := refusing(text)
		m := modelOn(t, Config{HTTPClient: c.Client()})
		req := wiretest.Hello()
		req.Session = "s"
		req.Params = &troupe.Params{Temperature: &half, Effort: "low", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
		first, second := wiretest.Listen(t.Context(), m, req), wiretest.Listen(t.Context(), m, req)
		if e, ok := errors.AsType[*troupe.ModelError](first.Err); !ok || !e.Temporary || second.Err != nil || !strings.Contains(c.Sent()[0].Body, field) || strings.Contains(c.Sent()[1].Body, field) {
			t.Errorf("%s: %v, %v: %s", text, first.Err, second.Err, c.Sent()[len(c.Sent())-1].Body)
		}
	}
	thought := hear(t, wiretest.Stream(reasonAndCall))
	c := refusing("The encrypted content for item rs_1 could not be verified.")
	req := wiretest.Hello()
	req.Messages = append(req.Messages, thought.Message(), &troupe.Message{Role: troupe.RoleTool, CallID: "call_1", Text: "done"})
	if h := wiretest.Listen(t.Context(), modelOn(t, Config{HTTPClient: c.Client()}), req); h.Err != nil || len(c.Sent()) != 2 || !strings.Contains(c.Sent()[0].Body, "c2ln") || strings.Contains(c.Sent()[1].Body, "c2ln") {
		t.Errorf("%v: %v", h.Err, c.Sent())
	}
}

func FuzzStream(f *testing.F) {
	f.Add(reasonAndCall)
	f.Add(fine)
	for _, event := range strings.Split(reasonAndCall, "\n\n") { // events that come alone, twice and before their time
		f.Add(event + "\n\n" + fine)
		f.Add(wiretest.Events(created) + event + "\n\n" + event + "\n\n" + wiretest.Events(ends("completed", `,"output":[]`)))
	}
	f.Add(wiretest.Events(created, ends("failed", `,"error":{"code":"rate_limit_exceeded","message":"Try again in 2s"}`)))
	f.Add(wiretest.Events(created, message, textPiece("x"), ends("incomplete", `,"incomplete_details":{"reason":"content_filter"}`)))
	f.Add(wiretest.Events(`{"type":"error","code":"server_error","message":"no"}`))
	f.Add(wiretest.Events(created, `{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, ends("completed", "")))
	f.Add(`{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		m := modelOn(t, Config{HTTPClient: wiretest.Stream(body).Client()})
		h := wiretest.Listen(t.Context(), m, wiretest.Hello())
		wiretest.Sound(t, h, messageForm{host: m.host, model: m.name}.encode)
	})
}
