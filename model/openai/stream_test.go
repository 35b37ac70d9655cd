package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// events is a stream of data payloads that ends in [DONE].
func events(payloads ...string) string {
	var stream strings.Builder
	for _, payload := range append(payloads, "[DONE]") {
		fmt.Fprintf(&stream, "data: %s\n\n", payload)
	}
	return stream.String()
}

func said(fields string) string {
	return `{"model":"m-1","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`
}

func calling(pieces ...string) string {
	return said(`"tool_calls":[` + strings.Join(pieces, ",") + `]`)
}

func because(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func tool(id, name, arguments string) troupe.ToolCall {
	return troupe.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func end(f troupe.Finish) *troupe.End { return &troupe.End{Finish: f, Model: "m-1"} }

var unordered = cmpopts.IgnoreFields(heard{}, "Order")

func TestStreamsAreRead(t *testing.T) {
	thinking := func(e *troupe.End, field string) *troupe.End {
		e.ThoughtField = field
		e.Opaque = []byte(`{"by":{"api":"chat","host":"model.test","model":"m"}}`)
		return e
	}
	counted := func(e *troupe.End, u troupe.Usage) *troupe.End { e.Usage = u; return e }
	tests := map[string]struct {
		stream string
		want   heard
	}{
		"text": {events(said(`"content":"Hel"`), said(`"content":"lo"`), because("stop")),
			heard{Text: "Hello", End: end(troupe.FinishStop)}},
		"nothing at all": {events(said(`"role":"assistant"`), because("stop")),
			heard{End: end(troupe.FinishStop)}},
		"refusal": {events(said(`"refusal":"I can"`), said(`"refusal":"not"`), because("stop")),
			heard{Refusal: "I cannot", End: end(troupe.FinishStop)}},
		"finish twice": {events(said(`"content":"a"`), because("stop"), because("stop")),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"a cut is not undone": {events(said(`"content":"a"`), because("length"), because("stop")),
			heard{Text: "a", End: end(troupe.FinishLength)}},
		"a cut is not missed": {events(said(`"content":"a"`), because("stop"), because("length")),
			heard{Text: "a", End: end(troupe.FinishLength)}},
		"filtered": {events(said(`"content":"a"`), because("content_filter")),
			heard{Text: "a", End: end(troupe.FinishFiltered)}},
		"unknown finish": {events(said(`"content":"a"`), because("bored")),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"calls announced but not made": {events(said(`"content":"a"`), because("tool_calls")),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"no DONE": {strings.TrimSuffix(events(said(`"content":"a"`), because("stop")), "data: [DONE]\n\n"),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"no final blank line": {strings.TrimSuffix(events(said(`"content":"a"`), because("stop")), "\n\ndata: [DONE]\n\n"),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"rest cut off after the finish": {strings.TrimSuffix(events(said(`"content":"a"`), because("stop")), "[DONE]\n\n") + `{"choi`,
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"CRLF and comments": {": hi\r\n\r\n" + strings.ReplaceAll(events(said(`"content":"a"`), because("stop")), "\n\n", "\r\n: OPENROUTER PROCESSING\r\n\r\n"),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"reasoning_content": {events(said(`"reasoning_content":"hm","content":null`), said(`"reasoning_content":"","content":"a"`), because("stop")),
			heard{Thought: "hm", Text: "a", End: thinking(end(troupe.FinishStop), "reasoning_content")}},
		"reasoning": {events(said(`"reasoning":"h","content":""`), said(`"reasoning":"m"`), said(`"reasoning":null,"content":"a"`), because("stop")),
			heard{Thought: "hm", Text: "a", End: thinking(end(troupe.FinishStop), "reasoning")}},
		"both names for one thought": {events(said(`"reasoning_content":"hm","reasoning":"hm"`), because("stop")),
			heard{Thought: "hm", End: thinking(end(troupe.FinishStop), "reasoning_content")}},
		"thinking parts": {events(said(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]`),
			said(`"content":[{"type":"thinking","thinking":"m"},{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]}]`), because("stop")),
			heard{Thought: "hm", Text: "a", End: thinking(end(troupe.FinishStop), "thinking")}},
		"usage at the end": {events(said(`"content":"a"`), because("stop"),
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}}`),
			heard{Text: "a", End: counted(end(troupe.FinishStop), troupe.Usage{Input: 9, CachedInput: 8, Output: 4, Reasoning: 3})}},
		"usage with the finish": {events(said(`"content":"a"`),
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_cache_hit_tokens":5}}`, `{"choices":[],"usage":null}`),
			heard{Text: "a", End: counted(end(troupe.FinishStop), troupe.Usage{Input: 9, CachedInput: 5, Output: 4})}},
		"reasoning outside of the completion": {events(said(`"content":"a"`), because("stop"),
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":32,"completion_tokens_details":{"reasoning_tokens":20}}}`),
			heard{Text: "a", End: counted(end(troupe.FinishStop), troupe.Usage{Input: 10, Output: 22, Reasoning: 20})}},
		"odd usage": {events(said(`"content":"a"`), because("stop"), `{"choices":[],"usage":{"prompt_tokens":"nine","completion_tokens":4.0,"prompt_tokens_details":[]}}`),
			heard{Text: "a", End: counted(end(troupe.FinishStop), troupe.Usage{Output: 4})}},
		"null where anything may be": {events(`{"model":null,"error":null,"usage":null,"choices":null}`,
			`{"model":"m-1","choices":[{"index":0,"delta":{"content":null,"refusal":null,"tool_calls":null,"function_call":null,"reasoning_details":null},"finish_reason":null}]}`,
			said(`"content":"a","tool_calls":[]`), because("stop")),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"another choice": {events(said(`"content":"a"`), `{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]}`, because("stop")),
			heard{Text: "a", End: end(troupe.FinishStop)}},
		"named events and empty data": {"event: message\ndata: " + said(`"content":"a"`) + "\n\nevent: ping\ndata: {}\n\ndata:\n\n" + events(because("stop")),
			heard{Text: "a", End: end(troupe.FinishStop)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := listen(t.Context(), newModel(t, stream200(test.stream)), hello())
			if diff := cmp.Diff(test.want, got, unordered); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCallsAreAssembled(t *testing.T) {
	tests := map[string]struct {
		payloads []string
		want     []troupe.ToolCall
	}{
		"by the book": {[]string{
			calling(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			calling(`{"index":0,"function":{"arguments":"{\"x\":"}}`), calling(`{"index":0,"function":{"arguments":"1}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{"x":1}`)}},
		"interleaved and out of order": {[]string{
			calling(`{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`), calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`),
			calling(`{"index":1,"function":{"arguments":"\"y\":2}"}}`, `{"index":0,"function":{"arguments":"\"x\":1}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{"x":1}`), tool("b", "g", `{"y":2}`)}},
		"whole at once": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{"x":1}`), tool("b", "f", `{}`)}},
		"finish stop": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), because("stop")},
			[]troupe.ToolCall{tool("a", "f", `{}`)}},
		"finish in the same chunk": {[]string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
			[]troupe.ToolCall{tool("a", "f", `{}`)}},
		"no ids": {[]string{calling(`{"index":0,"function":{"name":"f","arguments":"{}"}}`), calling(`{"index":1,"function":{"name":"g","arguments":"{}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("call_1", "f", `{}`), tool("call_2", "g", `{}`)}},
		"no ids, no indexes": {[]string{calling(`{"function":{"name":"f","arguments":"{\"x\""}}`), calling(`{"function":{"arguments":":1}"}}`), calling(`{"function":{"name":"f","arguments":"{}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("call_1", "f", `{"x":1}`), tool("call_2", "f", `{}`)}},
		"no indexes": {[]string{calling(`{"id":"a","function":{"name":"f","arguments":"{"}}`), calling(`{"id":"b","function":{"name":"f","arguments":"{}"}}`), calling(`{"id":"a","function":{"arguments":"}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`), tool("b", "f", `{}`)}},
		"one index for all": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}`), calling(`{"index":0,"function":{"arguments":"1}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`), tool("b", "f", `{"x":1}`)}},
		"one index for all, no ids": {[]string{calling(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":\"}{\"}"}}`), calling(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":2}"}}`), calling(`{"index":0,"id":"","function":{"name":"g","arguments":"{}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("call_1", "f", `{"x":"}{"}`), tool("call_2", "f", `{"x":2}`), tool("call_3", "g", `{}`)}},
		"two calls, one id": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`), tool("call_1", "g", `{}`)}},
		"a made id is not taken": {[]string{calling(`{"index":0,"id":"call_1","function":{"name":"f"}}`), calling(`{"index":1,"function":{"name":"g"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("call_1", "f", `{}`), tool("call_2", "g", `{}`)}},
		"name and id in every piece": {[]string{
			calling(`{"index":0,"id":"0","function":{"name":"get","arguments":""}}`), calling(`{"index":0,"id":"0","function":{"name":"get","arguments":"{\"a\":{}"}}`), calling(`{"index":0,"id":"0","function":{"name":"get","arguments":"}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("0", "get", `{"a":{}}`)}},
		"name in every piece, no id": {[]string{
			calling(`{"index":0,"function":{"name":"get","arguments":"{\"a\":"}}`), calling(`{"index":0,"function":{"name":"get","arguments":"{}"}}`), calling(`{"index":0,"function":{"name":"get","arguments":"}"}}`), calling(`{"index":0,"function":{"name":"get","arguments":""}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("call_1", "get", `{"a":{}}`)}},
		"another id in every piece": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), calling(`{"index":0,"id":"b","function":{"arguments":"}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`)}},
		"a name in two pieces": {[]string{calling(`{"index":0,"id":"a","function":{"name":"get_"}}`), calling(`{"index":0,"function":{"name":"time"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "get_time", `{}`)}},
		"a growing name": {[]string{calling(`{"index":0,"id":"a","function":{"name":"get_"}}`), calling(`{"index":0,"function":{"name":"get_time"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "get_time", `{}`)}},
		"arguments null, absent, empty, blank": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`), calling(`{"index":1,"id":"b","function":{"name":"f"}}`),
			calling(`{"index":2,"id":"c","function":{"name":"f","arguments":""}}`), calling(`{"index":3,"id":"d","function":{"name":"f","arguments":" "}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`), tool("b", "f", `{}`), tool("c", "f", `{}`), tool("d", "f", `{}`)}},
		"arguments an object": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 12345678901234567890}}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{"x": 12345678901234567890}`)}},
		"arguments that are no JSON": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": tr"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{"x": tr`)}},
		"indexes from one": {[]string{calling(`{"index":1,"id":"a","function":{"name":"f","arguments":""}}`), calling(`{"index":1,"function":{"arguments":"{}"}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`)}},
		"the legacy form": {[]string{said(`"function_call":{"name":"f","arguments":""}`), said(`"function_call":{"arguments":"{\"x\":"}`), said(`"function_call":{"arguments":"1}"}`), because("function_call")},
			[]troupe.ToolCall{tool("call_1", "f", `{"x":1}`)}},
		"an empty call": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"index":5,"function":{}}`), because("tool_calls")},
			[]troupe.ToolCall{tool("a", "f", `{}`)}},
		"an unknown finish": {[]string{calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), because("done_i_guess")},
			[]troupe.ToolCall{tool("a", "f", `{}`)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := listen(t.Context(), newModel(t, stream200(events(test.payloads...))), hello())
			if diff := cmp.Diff(test.want, got.Calls); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.Err != nil || got.End == nil || got.End.Finish != troupe.FinishCalls {
				t.Errorf("ended with %+v, %v", got.End, got.Err)
			}
		})
	}
}

func TestCallsComeAfterEverythingElse(t *testing.T) {
	stream := events(calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), said(`"content":"t"`), said(`"reasoning":"h"`), because("tool_calls"))
	if got := listen(t.Context(), newModel(t, stream200(stream)), hello()); strings.ReplaceAll(got.Order, "p", "") != "thce" {
		t.Errorf("order %q, want text, thought, call, end", got.Order)
	}
}

func TestCallsOfACutAnswerAreToldAsCut(t *testing.T) {
	stream := events(calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), because("length"))
	got := listen(t.Context(), newModel(t, stream200(stream)), hello())
	if len(got.Calls) != 1 || got.End == nil || got.End.Finish != troupe.FinishLength {
		t.Errorf("got %+v", got)
	}
}

func TestWhatHasNoEndIsIncomplete(t *testing.T) {
	call := calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`)
	whole := events(said(`"content":"hello"`), call)
	for name, stream := range map[string]string{
		"DONE without a finish, cut":   events(said(`"content":"hello"`), calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}`)),
		"DONE without a finish, empty": events(said(`"reasoning":"hm"`)),
		"no DONE":                      strings.TrimSuffix(whole, "data: [DONE]\n\n"),
		"nothing":                      "",
		"only comments":                ": hi\n\n: hi\n\n",
		"cut in an event":              whole[:60],
		"finish error":                 events(call, because("error")),
		"out of resources":             events(call, because("insufficient_system_resource")),
		"unknown finish, nothing said": events(said(`"reasoning":"hm"`), because("bored")),
		"garbage":                      events(call, "{]", because("stop")),
		"a number as delta":            events(`{"choices":[{"delta":5,"finish_reason":"stop"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			checkIncomplete(t, listen(t.Context(), newModel(t, stream200(stream)), hello()))
		})
	}
}

// What came to nothing is paid for where the server says what it took.
func TestAFailedAnswerSaysWhatItTook(t *testing.T) {
	for name, last := range map[string]string{
		"beside the error": `{"error":{"message":"Provider returned error","code":502},"choices":[{"delta":{},"finish_reason":"error"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"cost":0.5}}`,
		"before it":        `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"cost":0.5}}` + "\n\ndata: " + `{"error":{"message":"overloaded","code":503}}`,
	} {
		e, ok := errors.AsType[*troupe.ModelError](listen(t.Context(), newModel(t, stream200(events(said(`"content":"hello"`), last))), hello()).Err)
		if !ok || e.End == nil || e.End.Usage.Input != 7 || e.End.Usage.Output != 3 || e.End.Cost == nil || *e.End.Cost != 0.5 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func checkIncomplete(t *testing.T, got heard) {
	t.Helper()
	e, ok := errors.AsType[*troupe.ModelError](got.Err)
	if !ok || !errors.Is(e, io.ErrUnexpectedEOF) || !e.Temporary {
		t.Errorf("error %v, want a temporary ErrIncomplete", got.Err)
	}
	if got.End != nil || got.Calls != nil {
		t.Errorf("got %+v from an incomplete answer", got)
	}
}

// failing is a transport whose answer breaks after some bytes.
type failing struct{ body string }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(io.MultiReader(strings.NewReader(f.body), iotest.ErrReader(errors.New("connection reset")))),
	}, nil
}

// An answer that is cut anywhere before its finish is incomplete, and one that is
// cut behind it is complete.
func TestStreamCutAtEveryByte(t *testing.T) {
	before := strings.TrimSuffix(events(said(`"content":"h\u00e9llo"`), calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), because("tool_calls")), "data: [DONE]\n\n")
	all := before + "data: [DONE]\n\n"
	for n := range len(all) {
		got := listen(t.Context(), newModel(t, failing{all[:n]}), hello())
		if n < len(before) {
			checkIncomplete(t, got)
		} else if got.Err != nil || got.End == nil || len(got.Calls) != 1 {
			t.Errorf("cut after %d of %d bytes: %+v", n, len(all), got)
		}
	}
}

func TestWholeAnswersAreRead(t *testing.T) {
	message := func(fields, reason string) string {
		return `{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant",` + fields + `},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	}
	stop := &troupe.End{Finish: troupe.FinishStop, Model: "m-1", Usage: troupe.Usage{Input: 1, Output: 2}}
	calls := &troupe.End{Finish: troupe.FinishCalls, Model: "m-1", Usage: troupe.Usage{Input: 1, Output: 2}}
	tests := map[string]struct {
		contentType, body string
		want              heard
	}{
		"text":                {"application/json; charset=utf-8", message(`"content":"hi"`, "stop"), heard{Text: "hi", End: stop}},
		"space before":        {"application/json", "\n   \n\r\t" + message(`"content":"hi"`, "stop"), heard{Text: "hi", End: stop}},
		"no content type":     {"", message(`"content":"hi"`, "stop"), heard{Text: "hi", End: stop}},
		"stream as JSON":      {"application/json", events(said(`"content":"hi"`), because("stop")), heard{Text: "hi", End: end(troupe.FinishStop)}},
		"stream as text":      {"text/plain", ": hi\n\n" + events(said(`"content":"hi"`), because("stop")), heard{Text: "hi", End: end(troupe.FinishStop)}},
		"no ids, odd indexes": {"application/json", message(`"content":null,"tool_calls":[{"id":"","function":{"name":"f","arguments":"{}"}},{"id":"","function":{"name":"f","arguments":{"x":1}}},{"index":0,"function":{"name":"f"}}]`, "stop"), heard{Calls: []troupe.ToolCall{tool("call_1", "f", "{}"), tool("call_2", "f", `{"x":1}`), tool("call_3", "f", "{}")}, End: calls}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := listen(t.Context(), newModel(t, &canned{Status: 200, Header: http.Header{"Content-Type": {test.contentType}}, Body: test.body}), hello())
			if diff := cmp.Diff(test.want, got, unordered); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for name, body := range map[string]string{
		"no choices": `{"choices":[]}`,
		"cut":        message(`"content":"hi"`, "stop")[:50],
		"nothing":    "",
	} {
		t.Run(name, func(t *testing.T) {
			checkIncomplete(t, listen(t.Context(), newModel(t, &canned{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}), hello()))
		})
	}
}

func manyCalls(n int) (payloads []string) {
	for i := range n {
		payloads = append(payloads, calling(fmt.Sprintf(`{"index":%d,"function":{"name":"f"}}`, i)))
	}
	return payloads
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	for name, stream := range map[string]string{
		"text":      events(said(`"content":"`+strings.Repeat("x", 600)+`"`), said(`"content":"`+strings.Repeat("x", 600)+`"`), because("stop")),
		"thought":   events(said(`"reasoning":"`+strings.Repeat("x", 1200)+`"`), because("stop")),
		"arguments": events(calling(`{"index":0,"function":{"name":"f","arguments":"`+strings.Repeat("x", 1200)+`"}}`), because("stop")),
		"calls":     events(manyCalls(100)...),
		"details":   events(said(`"reasoning_details":[{"text":"`+strings.Repeat("x", 1200)+`"}]`), because("stop")),
		"a line":    events(said(`"content":"`+strings.Repeat("x", 3000)+`"`), because("stop")),
		"a stream":  strings.Repeat(": nothing\n\n", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(Config{Model: "m", MaxAnswer: 1000, MaxLine: 2000, HTTPClient: &http.Client{Transport: stream200(stream)}})
			if err != nil {
				t.Fatal(err)
			}
			got := listen(t.Context(), m, hello())
			if e, ok := errors.AsType[*troupe.ModelError](got.Err); !ok || e.Temporary || !errors.Is(e, wire.ErrTooLarge) || got.End != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Whenever the caller leaves, nothing more is yielded: a range that is left would panic.
func TestBreakAtEveryChunk(t *testing.T) {
	stream := events(said(`"reasoning":"a","content":"b","refusal":"c"`), calling(`{"index":0,"id":"a","function":{"name":"f"}}`), because("tool_calls"))
	m := newModel(t, stream200(stream))
	for leave := 1; leave <= 5; leave++ {
		n := 0
		for _, err := range m.Generate(t.Context(), hello()) {
			if n++; err != nil {
				t.Error(err)
			}
			if n == leave {
				break
			}
		}
		if n != leave {
			t.Errorf("%d chunks, want %d", n, leave)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	stream := events(append(slices.Repeat([]string{said(`"content":"word "`)}, 1000), because("stop"))...)
	m := newModel(b, stream200(stream))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Generate(b.Context(), hello()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// FuzzStream feeds bytes as a stream: whatever they are, an answer ends once, and
// with an end only if a finish reason was sent.
func FuzzStream(f *testing.F) {
	f.Add([]byte(events(said(`"content":"a"`), calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), because("tool_calls"))))
	f.Add([]byte(events(said(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]`), said(`"reasoning_details":[{"type":"a","text":"b","index":0},{"type":"a","text":"c","index":0}]`), because("length"))))
	f.Add([]byte("event: error\ndata: {\"error\":{\"message\":{\"detail\":[{\"loc\":[1],\"msg\":\"x\"}]},\"code\":400}}\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"arguments":{"a":1}}}]},"finish_reason":"stop"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range []string{"text/event-stream", "application/json"} {
			m := newModel(t, &canned{Status: 200, Header: http.Header{"Content-Type": {kind}}, Body: string(body)})
			got := listen(t.Context(), m, hello())
			if (got.End == nil) == (got.Err == nil) || strings.ContainsAny(strings.TrimRight(got.Order, "ex"), "ex") {
				t.Fatalf("order %q, end %v, error %v", got.Order, got.End, got.Err)
			}
			if got.End != nil && !strings.Contains(strings.ToLower(string(body)), "finish") && !strings.Contains(string(body), `\u`) {
				t.Fatalf("an end without a finish: %+v", got.End)
			}
			checkSentBack(t, m, got)
		}
	})
}
