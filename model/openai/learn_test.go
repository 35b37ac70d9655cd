package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/provider"
)

// picky is a server that refuses what its rules find, one rule after the other.
type picky struct {
	rules []rule
	sent  []string
}

type rule struct {
	has     string // in the request
	status  int
	refusal string
}

func (p *picky) RoundTrip(r *http.Request) (*http.Response, error) {
	good := stream200(events(said(`"content":"{}"`), because("stop")))
	resp, err := good.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	p.sent = append(p.sent, good.Sent()[0].Body)
	for _, rule := range p.rules {
		if strings.Contains(good.Sent()[0].Body, rule.has) {
			return (&canned{Status: rule.status, Header: http.Header{}, Body: rule.refusal}).RoundTrip(&http.Request{Body: http.NoBody, URL: r.URL})
		}
	}
	return resp, nil
}

// tries asks until there is an answer, as the engine does.
func tries(t *testing.T, m *Model, req *troupe.Request) (n int, err error) {
	t.Helper()
	for n = 1; n < 10; n++ {
		got := listen(t.Context(), m, req)
		if got.Err == nil {
			return n, nil
		}
		if e, ok := errors.AsType[*troupe.ModelError](got.Err); !ok || !e.Temporary {
			return n, got.Err
		}
	}
	return n, errors.New("no end of it")
}

func TestServersAreLearnedFrom(t *testing.T) {
	call := []troupe.ToolCall{{ID: "call_0123456789abcdef", Name: "f", Arguments: "{}"}}
	req := &troupe.Request{
		Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: "a"}, {Role: troupe.RoleSystem, Text: "b"}, {Role: troupe.RoleUser, Text: "c"},
			{Role: troupe.RoleAssistant, Calls: call}, {Role: troupe.RoleTool, CallID: call[0].ID, Text: "d"}},
		Params: &troupe.Params{Temperature: new(float64), MaxTokens: new(int), Effort: "high", Schema: []byte(`{"type":"object","properties":{"n":{}},"required":["n"],"additionalProperties":false}`)},
	}
	strict := provider.Quirks{Schema: provider.SchemaStrict}
	for name, test := range map[string]struct {
		quirks provider.Quirks
		rules  []rule
		tries  int
		has    string // the last request
	}{
		"stream options": {rules: []rule{{`"stream_options"`, 422, `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`}}, tries: 2},
		"token field": {rules: []rule{{`"max_tokens"`, 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`}}, tries: 2,
			has: `"max_completion_tokens":0`},
		"temperature":         {rules: []rule{{`"temperature"`, 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model."}}`}}, tries: 2},
		"one system message":  {rules: []rule{{`{"role":"system","content":"b"}`, 500, `{"error":{"message":"Value is not callable: System message must be at the beginning."}}`}}, tries: 2, has: `"content":"a\n\nb"`},
		"effort":              {rules: []rule{{`"reasoning_effort"`, 400, `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort"}}`}}, tries: 2},
		"ids":                 {rules: []rule{{`"call_0123456789abcdef"`, 400, `{"message":"Tool call id was call_01 but must be a-z, A-Z, 0-9, with a length of 9.","code":"3280"}`}}, tries: 2},
		"reasoning back":      {rules: []rule{{`"content":null,"tool_calls"`, 400, `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}`}}, tries: 2, has: `"reasoning_content":""`},
		"strict":              {quirks: strict, rules: []rule{{`"strict":true`, 400, `{"error":{"message":"json_schema.strict is not supported"}}`}}, tries: 2, has: `"type":"json_schema"`},
		"json_schema":         {rules: []rule{{`"type":"json_schema"`, 400, `{"error":{"message":"This model does not support response_format of type json_schema"}}`}}, tries: 2, has: `"type":"json_object"`},
		"no schema whatever":  {quirks: strict, rules: []rule{{`"response_format"`, 400, `{"error":{"message":"response_format is not supported"}}`}}, tries: 4, has: `fits this JSON schema`},
		"two things in a row": {rules: []rule{{`"stream_options"`, 400, `{"error":{"message":"unknown field stream_options"}}`}, {`"type":"json_schema"`, 400, `{"error":{"message":"json_schema is not available"}}`}}, tries: 3},
	} {
		t.Run(name, func(t *testing.T) {
			server := &picky{rules: test.rules}
			m, err := New(Config{Model: "m", BaseURL: "http://model.test", Quirks: &test.quirks, HTTPClient: &http.Client{Transport: server}})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := tries(t, m, req); err != nil || n != test.tries {
				t.Fatalf("answered after %d tries, %v; want %d\n%s", n, err, test.tries, strings.Join(server.sent, "\n"))
			}
			if last := server.sent[len(server.sent)-1]; !strings.Contains(last, test.has) {
				t.Errorf("the last request has no %s: %s", test.has, last)
			}
			if n, err := tries(t, m, req); err != nil || n != 1 {
				t.Errorf("it was forgotten: %d tries, %v", n, err)
			}
		})
	}
}

// A refusal that teaches nothing new is not tried again.
func TestWhatCannotBeHelpedIsNotTriedAgain(t *testing.T) {
	for name, r := range map[string]rule{
		"always":    {"{", 400, `{"error":{"message":"stream_options"}}`},
		"something": {"{", 400, `{"error":{"message":"messages must not be empty"}}`},
		"a schema":  {"{", 400, `{"error":{"message":"json_schema"}}`}, // none was sent
		"a key":     {"{", 401, `{"error":{"message":"temperature is not supported"}}`},
	} {
		m, err := New(Config{Model: "m", BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: &picky{rules: []rule{r}}}})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := tries(t, m, hello()); err == nil || n > 2 {
			t.Errorf("%s: %d tries, %v", name, n, err)
		}
	}
}
