package troupetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

const streaming = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`
const plain = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

// post sends a body and returns status and answer, with the error that reading ended in.
func post(ctx context.Context, s *troupetest.Server, body string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// deltas joins a field of the deltas in a stream.
func deltas(t *testing.T, stream, field string) string {
	t.Helper()
	var joined strings.Builder
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta map[string]any }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("chunk %s: %v", data, err)
		}
		for _, c := range chunk.Choices {
			if text, ok := c.Delta[field].(string); ok {
				joined.WriteString(text)
			}
		}
	}
	return joined.String()
}

func TestServerAnswersByPlan(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...troupetest.Exchange) *troupetest.Server{
		"socket": troupetest.NewServer, "pipe": troupetest.NewPipeServer,
	} {
		t.Run(name, func(t *testing.T) {
			call := troupe.ToolCall{ID: "c1", Name: "add", Arguments: `{"a":1}`}
			s := start(t,
				troupetest.ServeText("all is well").Thought("is it"),
				troupetest.ServeText("all is well"),
				troupetest.ServeCalls(call).Text("wait"),
				troupetest.ServeStatus(429, `{"error":"slow down"}`).Header("Retry-After", "2"),
				troupetest.ServeRaw("text/plain", "what?"))
			_, stream, err := post(t.Context(), s, streaming)
			if err != nil || deltas(t, stream, "content") != "all is well" || deltas(t, stream, "reasoning_content") != "is it" {
				t.Errorf("stream: %v\n%s", err, stream)
			}
			if !strings.HasSuffix(stream, "data: [DONE]\n\n") || !strings.Contains(stream, `"prompt_tokens":10`) {
				t.Errorf("the stream ends wrongly:\n%s", stream)
			}
			if _, whole, err := post(t.Context(), s, plain); err != nil || !strings.Contains(whole, `"content":"all is well"`) {
				t.Errorf("whole: %v\n%s", err, whole)
			}
			if _, stream, err = post(t.Context(), s, streaming); err != nil || !strings.Contains(stream, `"finish_reason":"tool_calls"`) || strings.Count(stream, `"tool_calls":[`) != 3 {
				t.Errorf("calls: %v\n%s", err, stream)
			}
			if status, body, err := post(t.Context(), s, streaming); err != nil || status != 429 || body != `{"error":"slow down"}` {
				t.Errorf("status: %v %d %s", err, status, body)
			}
			if status, body, err := post(t.Context(), s, streaming); err != nil || status != 200 || body != "what?" {
				t.Errorf("raw: %v %d %s", err, status, body)
			}
			if got := s.Requests(); len(got) != 5 || string(got[1].Body) != plain {
				t.Errorf("recorded %d requests", len(got))
			}
		})
	}
}

func TestServerMisbehavesByPlan(t *testing.T) {
	tests := map[string]struct {
		exchange troupetest.Exchange
		holds    string // what the answer has
		lacks    string
		broken   bool // the connection ends in an error
	}{
		"cut after chunks": {troupetest.ServeText("one two").CutAfterChunks(2), `"one "`, "two", true},
		"cut after bytes":  {troupetest.ServeText("one two").CutAfterBytes(10), "data: ", "}", true},
		"ended early":      {troupetest.ServeText("one two").EndAfterChunks(2), `"one "`, "two", false},
		"no finish":        {troupetest.ServeText("one").Finish(""), "[DONE]", `"finish_reason":"stop"`, false},
		"no done":          {troupetest.ServeText("one").NoDone(), `"finish_reason":"stop"`, "[DONE]", false},
		"error inside":     {troupetest.ServeText("one").FailWith(`{"message":"no"}`), `"error":{"message":"no"}`, "[DONE]", false},
		"keep-alives":      {troupetest.ServeText("one").KeepAlives(2), ": keep-alive\n\n: keep-alive\n\ndata: ", "two", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := troupetest.NewServer(t, test.exchange)
			_, body, err := post(t.Context(), s, streaming)
			if (err != nil) != test.broken {
				t.Errorf("reading ended with %v", err)
			}
			if !strings.Contains(body, test.holds) || strings.Contains(body, test.lacks) {
				t.Errorf("want %q and not %q in\n%s", test.holds, test.lacks, body)
			}
		})
	}
}

func TestPipeServerRunsOnFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{})
		s := troupetest.NewPipeServer(t,
			troupetest.ServeText("one two").Delay(time.Hour),
			troupetest.ServeText("held").Hold(ready),
			troupetest.ServeText("paused").PauseAfterChunks(1, ready),
			troupetest.ServeNothing(),
			troupetest.ServeText("one two").StallAfterChunks(1))
		start := time.Now()
		if _, _, err := post(t.Context(), s, streaming); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 6*time.Hour {
			t.Errorf("six chunks took %v", took)
		}
		time.AfterFunc(time.Minute, func() { close(ready) })
		for range 2 {
			if _, _, err := post(t.Context(), s, streaming); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took != 6*time.Hour+time.Minute {
			t.Errorf("with the hold: %v", took)
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, _, err := post(ctx, s, streaming); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a silent server: %v", err)
			}
			cancel()
		}
	})
}

// record is a test that only notes its failures.
type record struct {
	testing.TB
	failures []string
	cleanups []func()
	skipped  bool
}

func (r *record) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *record) Failed() bool     { return len(r.failures) > 0 }
func (r *record) Skipped() bool    { return r.skipped }
func (r *record) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *record) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func TestServerFailsTheTest(t *testing.T) {
	messages := func(list string) string { return `{"model":"m","messages":[` + list + `]}` }
	const user = `{"role":"user","content":"hi"}`
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const result = `{"role":"tool","tool_call_id":"a","content":"ok"}`
	tests := map[string]struct{ body, complaint string }{
		"unanswered call":   {messages(user + "," + call + "," + user), "there is none for a"},
		"unanswered at end": {messages(user + "," + call), "there is none for a"},
		"answered twice":    {messages(call + "," + result + "," + result), "once"},
		"result of nothing": {messages(user + "," + result), "once"},
		"wrong id":          {messages(call + "," + strings.Replace(result, `"a"`, `"b"`, 1)), "once"},
		"cut arguments":     {messages(strings.Replace(call, `"{}"`, `"{\"x"`, 1) + "," + result), "not a JSON object"},
		"no arguments":      {messages(strings.Replace(call, `"{}"`, `""`, 1) + "," + result), "not a JSON object"},
		"null arguments":    {messages(strings.Replace(call, `"{}"`, `"null"`, 1) + "," + result), "not a JSON object"},
		"no id":             {messages(strings.Replace(call, `"a"`, `""`, 1)), "needs an id"},
		"same id":           {messages(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"a","function":{"name":"f","arguments":"{}"}}]}`), "two calls"},
		"user calls":        {messages(strings.Replace(call, "assistant", "user", 1)), "only an assistant"},
		"empty message":     {messages(`{"role":"assistant","content":null}`), "neither content"},
		"odd role":          {messages(`{"role":"robot","content":"x"}`), "no role"},
		"no messages":       {messages(""), "required"},
		"no JSON":           {"{", "JSON"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &record{TB: t}
			s := troupetest.NewServer(r, troupetest.ServeText("never").Forever())
			status, body, err := post(t.Context(), s, test.body)
			r.end()
			if err != nil || status != 400 || !strings.Contains(body, "invalid_request_error") {
				t.Errorf("got %d %s %v", status, body, err)
			}
			if len(r.failures) != 1 || !strings.Contains(r.failures[0], test.complaint) {
				t.Errorf("failures %q, want one with %q", r.failures, test.complaint)
			}
		})
	}
}

func TestServerTakesAProperConversation(t *testing.T) {
	s := troupetest.NewServer(t, troupetest.ServeText("ok"))
	body := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{\"x\":1}"}}]},
		{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"assistant","content":"done"},{"role":"user","content":"more"}]}`
	if status, answer, err := post(t.Context(), s, body); err != nil || status != 200 {
		t.Errorf("got %d %s %v", status, answer, err)
	}
}

func TestServerKeepsToThePlan(t *testing.T) {
	r := &record{TB: t}
	s := troupetest.NewServer(r, troupetest.ServeText("once"))
	for range 2 {
		if _, _, err := post(t.Context(), s, plain); err != nil {
			t.Error(err)
		}
	}
	r.end()
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "request 2 is not in the plan") {
		t.Errorf("one request too many: %q", r.failures)
	}

	r = &record{TB: t}
	troupetest.NewServer(r, troupetest.ServeText("never"), troupetest.ServeText("ever"))
	r.end()
	if len(r.failures) != 1 || !strings.Contains(r.failures[0], "2 of the planned requests never came") {
		t.Errorf("two requests too few: %q", r.failures)
	}

	r = &record{TB: t, skipped: true}
	troupetest.NewServer(r, troupetest.ServeText("never"))
	if r.end(); len(r.failures) > 0 {
		t.Errorf("in a test that was skipped: %q", r.failures)
	}
}

// Every shape is really sent: it differs from the plain answer, and from the others.
func TestShapesDifferFromThePlainAnswer(t *testing.T) {
	calls := troupetest.ServeCalls(troupe.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}, troupe.ToolCall{ID: "b", Name: "f", Arguments: `{"x":2}`}).Thought("hm ha")
	seen := map[string]string{}
	send := func(name string, exchange troupetest.Exchange) {
		s := troupetest.NewServer(t, exchange)
		resp, err := s.Client().Post(s.URL+"/chat/completions", "application/json",
			strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%q: %d, %v", name, resp.StatusCode, err)
		}
		if other, ok := seen[string(body)]; ok {
			t.Errorf("%q is sent as %q is:\n%.2000s", name, other, body)
		}
		seen[string(body)] = name
	}
	send("the plain answer", calls.Text("so"))
	send("the plain answer without a text", calls)
	for _, shape := range troupetest.Shapes() {
		if shape == troupetest.ShapeCallsInText { // only where there is no other text
			send(string(shape), calls.As(shape))
			continue
		}
		send(string(shape), calls.Text("so").As(shape))
	}
}

// An answer that is not streamed has the shapes too that are about what it says.
func TestWholeAnswersHaveShapes(t *testing.T) {
	exchange := troupetest.ServeCalls(troupe.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}).Text("so").Thought("hm")
	for shape, want := range map[troupetest.Shape]string{
		troupetest.ShapeNumberID:        `"id":7001`,
		troupetest.ShapeOneCall:         `"tool_calls":{`,
		troupetest.ShapeContentParts:    `"content":[{`,
		troupetest.ShapeObjectArguments: `"arguments":{"x":1}`,
		troupetest.ShapeReasoningObject: `"reasoning":{`,
	} {
		s := troupetest.NewServer(t, exchange.As(shape))
		if _, body, err := post(t.Context(), s, plain); err != nil || !strings.Contains(body, want) {
			t.Errorf("%q: %v, want %s in %s", shape, err, want, body)
		}
	}
}
