package gemini

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

// piece is an event with parts, and ends the last one.
func piece(parts string) string {
	return "data: " + `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}}],"modelVersion":"g-1","responseId":"r1"}` + "\r\n\r\n"
}

func ends(why, parts string) string {
	return "data: " + `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"finishReason":"` + why + `","finishMessage":"so"}],` +
		`"usageMetadata":{"promptTokenCount":7,"cachedContentTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":4},"modelVersion":"g-1"}` + "\r\n\r\n"
}

// signed is an answer with a thought, a text, a signature on nothing, and a call.
var signed = piece(`{"text":"let me ","thought":true}`) + piece(`{"text":"see","thought":true}`) + piece(`{"text":"I look "}`) + piece(`{"text":"it up."}`) +
	piece(`{"text":"","thoughtSignature":"c2ln"}`) + ends("STOP", `{"functionCall":{"name":"lookup","args":{"city":"Oslo"}},"thoughtSignature":"Y2FsbA=="}`)

func modelOn(t testing.TB, c Config) *Model {
	t.Helper()
	if c.Model == "" {
		c.Model = "gemini-3.5-flash"
	}
	if c.Key == "" {
		c.Key = "canary-1234"
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
		pieces := []string{piece(`{"text":"a few "}`), piece(`{"text":"words"}`)}
		switch does {
		case troupetest.Answering:
			pieces = append(pieces, ends("STOP", ""))
		case troupetest.Calling:
			pieces = []string{signed}
		case troupetest.Failing:
			status, pieces = 400, []string{`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`}
		case troupetest.Stalling:
			ending = wiretest.Stall
		}
		s := wiretest.Serve(t, status, "text/event-stream", ending, pieces...)
		return modelOn(t, Config{BaseURL: s.URL, HTTPClient: s.Client()})
	})
}

func TestWhatIsSignedGoesBackInItsPlaceToWhoeverSignedIt(t *testing.T) {
	h := hear(t, wiretest.Stream(signed))
	if h.Err != nil || h.Thought != "let me see" || h.Text != "I look it up." || len(h.Calls) != 1 || h.Calls[0].ID == "" || h.End.Finish != troupe.FinishCalls {
		t.Fatalf("heard %+v", h)
	}
	if want := (troupe.Usage{Input: 7, CachedInput: 2, Output: 7, Reasoning: 4}); h.End.Usage != want || h.End.Model != "g-1" {
		t.Errorf("end %+v", h.End)
	}
	call := `{"functionCall":{"id":"` + h.Calls[0].ID + `","name":"lookup","args":{"city":"Oslo"}}`
	whole := `[{"text":"let me see","thought":true},{"text":"I look it up."},{"text":"","thoughtSignature":"c2ln"},` + call + `,"thoughtSignature":"Y2FsbA=="}]`
	dummy := `[{"text":"I look it up."},` + call + `,"thoughtSignature":"` + unsigned + `"}]`
	plain := `[{"text":"I look it up."},` + call + `}]`
	const host, model = "generativelanguage.googleapis.com", "gemini-3.5-flash"
	for name, test := range map[string]struct {
		form messageForm
		want string
	}{
		"the same model":     {messageForm{host, model, 3, false}, whole},
		"another model":      {messageForm{host, "gemini-3-flash-preview", 3, false}, dummy},
		"an older model":     {messageForm{host, "gemini-2.5-flash", 2, false}, plain},
		"another host":       {messageForm{"proxy.test", model, 3, false}, dummy},
		"without signatures": {messageForm{host, model, 3, true}, dummy},
	} {
		var got, want any
		json.Unmarshal([]byte("["+string(test.form.encode(h.Message())[1:])+"]"), &got)
		json.Unmarshal([]byte(test.want), &want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		answer    *wiretest.Canned
		reason    string
		temporary bool
		after     time.Duration
	}{
		"cut":               {wiretest.Stream(piece(`{"text":"half"}`)), "incomplete", true, 0},
		"cut in an event":   {wiretest.Stream(signed[:len(signed)-40]), "incomplete", true, 0},
		"nothing":           {wiretest.Stream(""), "incomplete", true, 0},
		"only keep-alives":  {wiretest.Stream(": ping\n\n: ping\n\n"), "incomplete", true, 0},
		"error in a stream": {wiretest.Stream(piece(`{"text":"half"}`) + "data: " + `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}` + "\n\n"), "overloaded", true, 0},
		"429": {&wiretest.Canned{Status: 429, Body: `{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`},
			"rate", true, 34 * time.Second},
		"a wrong key":      {&wiretest.Canned{Status: 400, Body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`}, "key", false, 0},
		"too long":         {&wiretest.Canned{Status: 400, Body: `{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`}, "context", false, 0},
		"a malformed call": {wiretest.Stream(piece(`{"text":"x"}`) + ends("MALFORMED_FUNCTION_CALL", "")), "incomplete", true, 0},
		"other":            {wiretest.Stream(ends("OTHER", "")), "incomplete", true, 0},
		"a page":           {&wiretest.Canned{Status: 200, Body: "<html><title>Welcome</title>"}, "request", false, 0},
		"another answer":   {&wiretest.Canned{Status: 200, Body: `{"choices":[]}`}, "request", false, 0},
	} {
		h := hear(t, test.answer)
		e, ok := errors.AsType[*troupe.ModelError](h.Err)
		if !ok || e.Reason != test.reason || e.Temporary != test.temporary || e.RetryAfter != test.after || h.End != nil || h.Calls != nil {
			t.Errorf("%s: %+v, error %#v", name, h, h.Err)
		}
	}
	for why, want := range map[string]troupe.Finish{"STOP": troupe.FinishStop, "MAX_TOKENS": troupe.FinishLength, "SAFETY": troupe.FinishFiltered, "RECITATION": troupe.FinishFiltered, "PROHIBITED_CONTENT": troupe.FinishFiltered} {
		h := hear(t, wiretest.Stream(ends(why, `{"text":"x"}`)))
		if h.Err != nil || h.End.Finish != want || (h.Refusal == "so") != (want == troupe.FinishFiltered) {
			t.Errorf("%s: %+v", why, h)
		}
	}
	h := hear(t, wiretest.Stream(`data: {"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"No."},"usageMetadata":{"promptTokenCount":3}}`+"\n\n"))
	if h.Err != nil || h.End.Finish != troupe.FinishFiltered || h.Refusal != "No." || h.End.Usage.Input != 3 {
		t.Errorf("blocked: %+v", h)
	}
	for i := range len(signed) - len("\r\n\r\n") {
		if h := hear(t, wiretest.Stream(signed[:i])); h.End == nil && (h.Calls != nil || h.Err == nil) || h.End != nil && i < len(signed)-8 {
			t.Fatalf("cut at %d: %+v", i, h)
		}
	}
}

// What came to nothing is paid for where the server says what it took.
func TestAFailedAnswerSaysWhatItTook(t *testing.T) {
	e, ok := errors.AsType[*troupe.ModelError](hear(t, wiretest.Stream(ends("MALFORMED_FUNCTION_CALL", ""))).Err)
	if !ok || e.End == nil || e.End.Usage.Input != 7 || e.End.Usage.Output != 7 || e.End.Model != "g-1" {
		t.Errorf("%+v", e)
	}
	if e, _ := errors.AsType[*troupe.ModelError](hear(t, wiretest.Stream(piece(`{"text":"half"}`))).Err); e.End != nil {
		t.Errorf("nothing is known of it: %+v", e.End)
	}
}

var fine = ends("STOP", `{"text":"x"}`)

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
	tool, _ := troupe.NewRawTool(troupe.ToolSpec{Name: "lookup", Description: "Looks up.", Input: json.RawMessage(`{"type":"object","properties":{"k":{"const":"a"}}}`)}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	tools, err := troupe.NewToolSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	half, ten, seed := 0.5, 10, int64(7)
	picture := troupe.Part{MIME: "image/png", Data: []byte("png")}
	req := &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleUser, Text: "Look.", Parts: []troupe.Part{picture, {MIME: "text/plain", Name: "n.txt", Data: []byte("inside")}, {MIME: "application/pdf", URL: "gs://b/p.pdf"}}},
			{Role: troupe.RoleAssistant, Text: "Two.", Calls: []troupe.ToolCall{{ID: "a", Name: "lookup", Arguments: `{"k":`}, {ID: "b", Name: "lookup"}}},
			{Role: troupe.RoleTool, CallID: "a", Tool: "lookup", Text: "one", Parts: []troupe.Part{picture}},
			{Role: troupe.RoleTool, CallID: "b", Tool: "lookup", Text: "two"},
			{Role: troupe.RoleUser, Text: "Well?"},
		},
		Tools: tools,
		Params: &troupe.Params{Temperature: &half, TopP: &half, MaxTokens: &ten, Seed: &seed, Stop: []string{"END"}, Effort: "high", Schema: json.RawMessage(`{"type":"object","properties":{"k":{"const":"a"}}}`),
			Extra: map[string]any{"generationConfig": map[string]any{"topK": 3}, "labels": map[string]any{"a": "b"}}},
	}
	const want = `{"generationConfig":{"temperature":0.5,"topP":0.5,"maxOutputTokens":10,"seed":7,"stopSequences":["END"],"topK":3,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"},
"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"k":{"enum":["a"]}}}},"labels":{"a":"b"},
"systemInstruction":{"parts":[{"text":"Be brief."}]},
"contents":[{"role":"user","parts":[{"text":"Look."},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"n.txt:\ninside"},{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/p.pdf"}}]},
{"role":"model","parts":[{"text":"Two."},{"functionCall":{"id":"a","name":"lookup","args":{"invalid_json":"{\"k\":"}},"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="},{"functionCall":{"id":"b","name":"lookup","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"id":"a","name":"lookup","response":{"result":"one"},"parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}},{"functionResponse":{"id":"b","name":"lookup","response":{"result":"two"}}}]},
{"role":"user","parts":[{"text":"Well?"}]}],
"tools":[{"functionDeclarations":[{"name":"lookup","description":"Looks up.","parametersJsonSchema":{"type":"object","properties":{"k":{"enum":["a"]}}}}]}]}`
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	body, request := sent(t, Config{}, req)
	if diff := cmp.Diff(wanted, body); diff != "" {
		t.Error(diff)
	}
	if request.URL != "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse" || request.Header.Get("X-Goog-Api-Key") != "canary-1234" || request.Header.Get("Authorization") != "" {
		t.Errorf("%s %v", request.URL, request.Header)
	}
	// Older models have budgets, no schemas beside tools, and pictures apart.
	body, _ = sent(t, Config{Model: "gemini-2.5-flash"}, req)
	config := body["generationConfig"].(map[string]any)
	contents := body["contents"].([]any)
	if config["responseJsonSchema"] != nil || config["thinkingConfig"].(map[string]any)["thinkingBudget"] != 24576.0 || len(contents) != 4 ||
		!strings.Contains(body["systemInstruction"].(map[string]any)["parts"].([]any)[1].(map[string]any)["text"].(string), "fits this JSON schema") {
		t.Errorf("%v", body)
	}
	last, _ := json.Marshal(contents[3])
	if want := `{"parts":[{"text":"This was returned by lookup:"},{"inlineData":{"data":"cG5n","mimeType":"image/png"}},{"text":"Well?"}],"role":"user"}`; string(last) != want {
		t.Errorf("%s", last)
	}
	_, request = sent(t, Config{BaseURL: "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu"}, wiretest.Hello())
	if request.URL != "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse" || request.Header.Get("Authorization") != "Bearer canary-1234" {
		t.Errorf("%s %v", request.URL, request.Header)
	}
}

func TestWhatIsRefusedIsSentOtherwise(t *testing.T) {
	refusing := func(text string) *wiretest.Canned {
		return &wiretest.Canned{Status: 400, Body: `{"error":{"code":400,"message":"` + text + `","status":"INVALID_ARGUMENT"}}`, Then: []*wiretest.Canned{wiretest.Stream(fine)}}
	}
	for text, field := range map[string]string{"Thinking level is not supported for this model.": "thinkingConfig", "Unknown name \\\"responseJsonSchema\\\"": "responseJsonSchema"} {
		c := refusing(text)
		m := modelOn(t, Config{HTTPClient: c.Client()})
		req := wiretest.Hello()
		req.Params = &troupe.Params{Effort: "low", Schema: json.RawMessage(`{"type":"object"}`)}
		first, second := wiretest.Listen(t.Context(), m, req), wiretest.Listen(t.Context(), m, req)
		if e, ok := errors.AsType[*troupe.ModelError](first.Err); !ok || !e.Temporary || second.Err != nil || !strings.Contains(c.Sent()[0].Body, field) || strings.Contains(c.Sent()[1].Body, field) {
			t.Errorf("%s: %v, %v: %s", text, first.Err, second.Err, c.Sent()[1].Body)
		}
	}
	thought := hear(t, wiretest.Stream(signed))
	c := refusing("Invalid thought signature.")
	req := wiretest.Hello()
	req.Messages = append(req.Messages, thought.Message(), &troupe.Message{Role: troupe.RoleTool, CallID: thought.Calls[0].ID, Tool: "lookup", Text: "done"})
	if h := wiretest.Listen(t.Context(), modelOn(t, Config{HTTPClient: c.Client()}), req); h.Err != nil || len(c.Sent()) != 2 || !strings.Contains(c.Sent()[0].Body, "Y2FsbA==") || strings.Contains(c.Sent()[1].Body, "Y2FsbA==") {
		t.Errorf("%v: %v", h.Err, c.Sent())
	}
}

func FuzzStream(f *testing.F) {
	f.Add(signed)
	f.Add(`[{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":1}]}]`)
	f.Add(piece(`{"functionCall":{"name":"f","willContinue":true}}`) + piece(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[1].b","stringValue":"x"}]}}`) + fine)
	f.Fuzz(func(t *testing.T, body string) {
		m := modelOn(t, Config{HTTPClient: wiretest.Stream(body).Client()})
		h := wiretest.Listen(t.Context(), m, wiretest.Hello())
		wiretest.Sound(t, h, messageForm{host: m.host, model: m.name, generation: m.generation}.encode)
	})
}
