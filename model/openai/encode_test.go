package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// checkSentBack puts an answer into a conversation and checks that the request
// with it is JSON in which every call has a JSON object for arguments.
func checkSentBack(t *testing.T, m *Model, got heard) {
	t.Helper()
	message := &troupe.Message{Role: troupe.RoleAssistant, Text: got.Text, Thought: got.Thought, Refusal: got.Refusal, Calls: got.Calls}
	if got.End != nil {
		message.ThoughtField, message.Opaque = got.End.ThoughtField, got.End.Opaque
	}
	var sent struct {
		ToolCalls []struct {
			Function struct{ Arguments string }
		} `json:"tool_calls"`
	}
	encoded := encodedBy(m, message)[1:]
	if err := json.Unmarshal(encoded, &sent); err != nil || !utf8.Valid(encoded) {
		t.Fatalf("%v in %q", err, encoded)
	}
	for _, call := range sent.ToolCalls {
		var object map[string]any
		if err := json.Unmarshal([]byte(call.Function.Arguments), &object); err != nil || object == nil {
			t.Fatalf("arguments %q: %v", call.Function.Arguments, err)
		}
	}
}

func TestMessagesAreEncoded(t *testing.T) {
	kept := `{"host":"model.test","reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}],"extra_content":{"g":1},"calls":{"a":{"google":{"thought_signature":"s"}}}}`
	tests := map[string]struct {
		message *troupe.Message
		want    string
	}{
		"system": {&troupe.Message{Role: troupe.RoleSystem, Text: "be\n\"good\""}, `{"role":"system","content":"be\n\"good\""}`},
		"of another API at the same host": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "reasoning", Opaque: []byte(`{"by":{"api":"responses","host":"model.test","model":"m"},"extra_content":{"g":1}}`)},
			`{"role":"assistant","content":"hi"}`},
		"of the same host": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "reasoning", Opaque: []byte(`{"by":{"api":"chat","host":"model.test","model":"n"},"extra_content":{"g":1}}`)},
			`{"role":"assistant","content":"hi","reasoning":"hm","extra_content":{"g":1}}`},
		"empty":     {&troupe.Message{Role: troupe.RoleUser}, `{"role":"user","content":""}`},
		"result":    {&troupe.Message{Role: troupe.RoleTool, CallID: "a", Tool: "f", Text: "42"}, `{"role":"tool","tool_call_id":"a","content":"42"}`},
		"assistant": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi"}, `{"role":"assistant","content":"hi"}`},
		"no answer": {&troupe.Message{Role: troupe.RoleAssistant}, `{"role":"assistant","content":""}`},
		"refusal":   {&troupe.Message{Role: troupe.RoleAssistant, Refusal: "no"}, `{"role":"assistant","content":"no"}`},
		"refused midway": {&troupe.Message{Role: troupe.RoleAssistant, Text: "well", Refusal: "no"},
			`{"role":"assistant","content":"well\nno"}`},
		"calls": {&troupe.Message{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{tool("a", "f", `{"x": 1}`), tool("b", "g", "")}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`},
		"text and calls": {&troupe.Message{Role: troupe.RoleAssistant, Text: "wait", Calls: []troupe.ToolCall{tool("a", "f", `{}`)}},
			`{"role":"assistant","content":"wait","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		"cut arguments": {&troupe.Message{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{tool("a", "f", `{"x": "y`), tool("b", "f", `[1]`)}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"invalid_json\":\"{\\\"x\\\": \\\"y\"}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{\"invalid_json\":\"[1]\"}"}}]}`},
		"a thought": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "reasoning_content"},
			`{"role":"assistant","content":"hi","reasoning_content":"hm"}`},
		"a thought with a call": {&troupe.Message{Role: troupe.RoleAssistant, Thought: "hm", ThoughtField: "reasoning", Calls: []troupe.ToolCall{tool("a", "f", `{}`)}},
			`{"role":"assistant","content":null,"reasoning":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		"a thinking part": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "thinking"},
			`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]}`},
		"a thought without a name":    {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm"}, `{"role":"assistant","content":"hi"}`},
		"a thought of another client": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "role"}, `{"role":"assistant","content":"hi"}`},
		"what is kept": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "reasoning", Opaque: []byte(kept), Calls: []troupe.ToolCall{tool("a", "f", `{}`)}},
			`{"role":"assistant","content":"hi","reasoning":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}],"reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}],"extra_content":{"g":1}}`},
		"what is kept for another host": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "reasoning", Opaque: []byte(strings.Replace(kept, "model.test", "other.test", 1))},
			`{"role":"assistant","content":"hi"}`},
		"what is not ours": {&troupe.Message{Role: troupe.RoleAssistant, Text: "hi", Thought: "hm", ThoughtField: "reasoning", Opaque: []byte(`["x"]`)},
			`{"role":"assistant","content":"hi"}`},
		"a picture": {&troupe.Message{Role: troupe.RoleUser, Text: "see", Parts: []troupe.Part{{MIME: "image/png", Data: []byte{1, 2, 3}}, {MIME: "image/*", URL: "https://x.test/a.png"}}},
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}},{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}`},
		"documents": {&troupe.Message{Role: troupe.RoleUser, Parts: []troupe.Part{
			{MIME: "text/markdown; charset=utf-8", Name: "a.md", Data: []byte("# hi")}, {MIME: "application/json", Data: []byte(`{}`)},
			{MIME: "application/pdf", Name: "b.pdf", Data: []byte{1}}, {MIME: "audio/wav", Data: []byte{2}}, {MIME: "application/pdf", URL: "https://x.test/c.pdf"}}},
			`{"role":"user","content":[{"type":"text","text":"a.md:\n# hi"},{"type":"text","text":"{}"},{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,AQ=="}},{"type":"input_audio","input_audio":{"format":"wav","data":"Ag=="}},{"type":"text","text":"https://x.test/c.pdf"}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := string(encodeMessage(test.message, messageForm{host: "model.test"}))
			if diff := cmp.Diff(","+test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !json.Valid([]byte(got[1:])) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}

// What a server sent with an answer goes back as it came.
func TestReasoningGoesBackWhereItCameFrom(t *testing.T) {
	stream := events(
		said(`"reasoning":"he","reasoning_details":[{"type":"reasoning.text","text":"he","index":0,"format":null}]`),
		said(`"reasoning":"llo","reasoning_details":[{"type":"reasoning.text","text":"llo","index":0,"format":"f"}]`),
		said(`"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]`),
		said(`"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]`),
		said(`"reasoning_details":[{"type":"reasoning.encrypted","data":"y","index":1}],"thinking_blocks":[{"type":"thinking","thinking":"a","signature":""}]`),
		said(`"thinking_blocks":[{"type":"thinking","thinking":"b","signature":"z"},{"type":"thinking","thinking":"c"}]`),
		calling(`{"index":0,"function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t"}}}`), because("tool_calls"))
	m := newModel(t, stream200(stream))
	got := listen(t.Context(), m, hello())
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	sent := string(encodedBy(m, &troupe.Message{
		Role: troupe.RoleAssistant, Thought: got.Thought, Calls: got.Calls, ThoughtField: got.End.ThoughtField, Opaque: got.End.Opaque,
	}))
	want := `,{"role":"assistant","content":null,"reasoning":"hello",` +
		`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t"}}}],` +
		`"reasoning_details":[{"format":"f","index":0,"signature":"s","text":"hello","type":"reasoning.text"},{"data":"x","index":1,"type":"reasoning.encrypted"},{"data":"y","index":1,"type":"reasoning.encrypted"}],` +
		`"thinking_blocks":[{"signature":"z","thinking":"ab","type":"thinking"},{"thinking":"c","type":"thinking"}]}`
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// toolNamed is a tool that has only a description.
type toolNamed struct{ spec troupe.ToolSpec }

func (t toolNamed) Spec() troupe.ToolSpec { return t.spec }
func (t toolNamed) Call(context.Context, *troupe.Invocation) (troupe.Result, error) {
	return troupe.Result{}, nil
}

func number[T any](v T) *T { return &v }

func TestRequestsAreWhole(t *testing.T) {
	tools, err := troupe.NewToolSet(
		toolNamed{troupe.ToolSpec{Name: "f", Description: "does \"f\"", Input: []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}},
		toolNamed{troupe.ToolSpec{Name: "g", Input: []byte(`{"type":"object"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		config Config
		params *troupe.Params
		tools  *troupe.ToolSet
		want   string // apart from model, stream and messages
	}{
		"plain":    {Config{}, nil, nil, `{"stream_options":{"include_usage":true}}`},
		"no usage": {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, nil, nil, `{}`},
		"mistral":  {Config{BaseURL: "https://api.mistral.ai/v1"}, &troupe.Params{Seed: number(int64(7))}, nil, `{"random_seed":7}`},
		"tools": {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, nil, tools, `{"tools":[{"type":"function","function":{"name":"f","description":"does \"f\"","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}},
			{"type":"function","function":{"name":"g","parameters":{"type":"object"}}}]}`},
		"params": {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, &troupe.Params{Temperature: number(0.0), TopP: number(0.5), MaxTokens: number(9), Seed: number(int64(-1)), Stop: []string{"a", "b"}, Effort: "low"}, nil,
			`{"temperature":0,"top_p":0.5,"max_tokens":9,"seed":-1,"stop":["a","b"],"reasoning_effort":"low"}`},
		"schema": {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, &troupe.Params{Schema: []byte(`{"type":"object"}`)}, nil,
			`{"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}}`},
		"extra": {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, &troupe.Params{Temperature: number(1.0), Extra: map[string]any{"temperature": 2, "top_k": 5, "a": nil}}, nil,
			`{"temperature":2,"top_k":5,"a":null}`},
		"max tokens of new models":  {Config{Quirks: &provider.Quirks{NoStreamOptions: true}, Model: "openai/gpt-5-mini"}, &troupe.Params{MaxTokens: number(9)}, nil, `{"max_completion_tokens":9}`},
		"max tokens as configured":  {Config{Quirks: &provider.Quirks{NoStreamOptions: true, MaxTokensField: "max_new"}}, &troupe.Params{MaxTokens: number(9)}, nil, `{"max_new":9}`},
		"an empty set is no tools":  {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, nil, &troupe.ToolSet{}, `{}`},
		"params that set nothing":   {Config{Quirks: &provider.Quirks{NoStreamOptions: true}}, &troupe.Params{}, nil, `{}`},
		"extra stream options only": {Config{}, &troupe.Params{Extra: map[string]any{"stream_options": nil}}, nil, `{"stream_options":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			transport := stream200(events(said(`"content":"a"`), because("stop")))
			test.config.HTTPClient = &http.Client{Transport: transport}
			if test.config.Model == "" {
				test.config.Model = "m"
			}
			m, err := New(test.config)
			if err != nil {
				t.Fatal(err)
			}
			req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: "s"}, {Role: troupe.RoleUser, Text: "u"}}, Tools: test.tools, Params: test.params}
			if got := listen(t.Context(), m, req); got.Err != nil {
				t.Fatal(got.Err)
			}
			var sent, want map[string]any
			if err := json.Unmarshal([]byte(transport.Sent()[0].Body), &sent); err != nil {
				t.Fatalf("%v in %s", err, transport.Sent()[0].Body)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			want["model"], want["stream"] = test.config.Model, true
			want["messages"] = []any{map[string]any{"role": "system", "content": "s"}, map[string]any{"role": "user", "content": "u"}}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParamsThatCannotBeSentAreErrors(t *testing.T) {
	m := newModel(t, stream200(""))
	for name, extra := range map[string]map[string]any{
		"ours": {"messages": nil}, "a channel": {"x": make(chan int)},
	} {
		req := hello()
		req.Params = &troupe.Params{Extra: extra}
		if got := listen(t.Context(), m, req); got.Err == nil || got.Order != "x" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A conversation is encoded once, however often it is sent.
func TestMessagesAreEncodedOnce(t *testing.T) {
	transport := stream200(events(said(`"content":"a"`), because("stop")))
	m := newModel(t, transport)
	req := hello()
	first := map[*troupe.Message]*byte{}
	for turn := range 20 {
		if got := listen(t.Context(), m, req); got.Err != nil {
			t.Fatal(got.Err)
		}
		for i, message := range req.Messages {
			encoded := message.Encoded(m.form(), func(*troupe.Message) []byte {
				t.Fatalf("turn %d: message %d was not kept", turn, i)
				return nil
			})
			if first[message] == nil {
				first[message] = &encoded[0]
			}
			if first[message] != &encoded[0] {
				t.Fatalf("turn %d: message %d was encoded again", turn, i)
			}
		}
		req.Messages = append(req.Messages, &troupe.Message{Role: troupe.RoleAssistant, Text: "a"}, &troupe.Message{Role: troupe.RoleUser, Text: "more"})
	}
	if n := strings.Count(transport.Sent()[19].Body, `"role"`); n != 39 {
		t.Errorf("the last request has %d messages", n)
	}
}

// discard takes requests without reading more of them than a socket would.
type discard struct{ answer *canned }

func (d discard) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r.Body, make([]byte, 4096)); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: d.answer.Header, Body: io.NopCloser(strings.NewReader(d.answer.Body))}, nil
}

func conversation(n int) *troupe.Request {
	req := &troupe.Request{}
	for i := range n {
		role := troupe.RoleUser
		if i%2 == 1 {
			role = troupe.RoleAssistant
		}
		req.Messages = append(req.Messages, &troupe.Message{Role: role, Text: strings.Repeat("word ", 100)})
	}
	return req
}

func TestATurnCostsTheSameHoweverLongTheConversation(t *testing.T) {
	m := newModel(t, discard{stream200(events(said(`"content":"a"`), because("stop")))})
	allocations := func(n int) float64 {
		req := conversation(n)
		return testing.AllocsPerRun(50, func() { listen(t.Context(), m, req) })
	}
	few, many := allocations(10), allocations(1000)
	t.Logf("allocations: %v with 10 messages, %v with 1000", few, many)
	if many > few+2 {
		t.Errorf("a turn with 10 messages makes %v allocations, with 1000 %v", few, many)
	}
}

func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newModel(b, discard{stream200(events(said(`"content":"a"`), because("stop")))})
			req := conversation(n)
			listen(b.Context(), m, req)
			b.ReportAllocs()
			for b.Loop() {
				listen(b.Context(), m, req)
			}
		})
	}
}

func FuzzString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\\n\t\r\x00\x7f", "h\u00e9llo \u2028 \U0001f600", "\xff\xfe\xc3", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded := wire.AppendString(nil, text)
		var back string
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatalf("%q: %v", encoded, err)
		}
		theirs, _ := json.Marshal(text)
		var expected string
		json.Unmarshal(theirs, &expected)
		if back != expected || !utf8.Valid(encoded) {
			t.Fatalf("%q became %q, by encoding/json %q", text, back, expected)
		}
		checkSentBack(t, newModel(t, stream200("")), heard{Text: text, Thought: text, Refusal: text, Calls: []troupe.ToolCall{tool(text, text, text)},
			End: &troupe.End{ThoughtField: text, Opaque: []byte(text)}})
	})
}

func BenchmarkEncodeMessage(b *testing.B) {
	m := &troupe.Message{Role: troupe.RoleUser, Text: string(bytes.Repeat([]byte("some \"text\"\n"), 1000))}
	b.SetBytes(int64(len(m.Text)))
	b.ReportAllocs()
	for b.Loop() {
		encodeMessage(m, messageForm{host: ""})
	}
}

// encodedBy is a message as the model sends it.
func encodedBy(m *Model, message *troupe.Message) []byte { return encodeMessage(message, m.form()) }
