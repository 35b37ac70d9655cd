package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/troupetest"
)

func modelOn(t *testing.T, s *troupetest.Server) *openai.Model {
	t.Helper()
	m, err := openai.New(openai.Config{BaseURL: s.URL, Model: "m", Key: "sk-canary", HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func request() *troupe.Request {
	return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hello"}}}
}

// ask returns the text of an answer, its calls, its end and its error.
func ask(ctx context.Context, m *openai.Model, req *troupe.Request) (text string, calls []troupe.ToolCall, end *troupe.End, err error) {
	for chunk, failure := range m.Generate(ctx, req) {
		text += chunk.Text
		if chunk.Call != nil {
			calls = append(calls, *chunk.Call)
		}
		end, err = chunk.End, failure
	}
	return text, calls, end, err
}

func isIncomplete(err error) bool {
	e, ok := errors.AsType[*troupe.ModelError](err)
	return ok && e.Temporary && errors.Is(e, io.ErrUnexpectedEOF)
}

func TestFaultsAreWhatTheyAre(t *testing.T) {
	troupetest.TestFaults(t, func(t *testing.T, s *troupetest.Server) troupe.Model { return modelOn(t, s) })
}

func TestEveryShapeIsReadAsItIsMeant(t *testing.T) {
	troupetest.TestShapes(t, func(t *testing.T, s *troupetest.Server) troupe.Model { return modelOn(t, s) })
}

func TestModelKeepsItsContract(t *testing.T) {
	troupetest.TestModel(t, func(t *testing.T, does troupetest.Behaviour) troupe.Model {
		exchange := troupetest.ServeText("a few words")
		switch does {
		case troupetest.Calling:
			exchange = troupetest.ServeCalls(troupe.ToolCall{ID: "a", Name: "lookup", Arguments: `{"city":"Oslo"}`})
		case troupetest.Failing:
			exchange = troupetest.ServeStatus(http.StatusBadRequest, "{}")
		case troupetest.BreakingOff:
			exchange = exchange.CutAfterChunks(2)
		case troupetest.Stalling:
			exchange = exchange.StallAfterChunks(2)
		}
		return modelOn(t, troupetest.NewServer(t, exchange.Forever()))
	})
}

func TestAConversationWithCalls(t *testing.T) {
	calls := []troupe.ToolCall{{ID: "a", Name: "add", Arguments: `{"x":1,"y":2}`}, {ID: "b", Name: "now", Arguments: `{}`}}
	s := troupetest.NewServer(t,
		troupetest.ServeCalls(calls...).Text("let me see").Thought("sums"),
		troupetest.ServeCalls(troupe.ToolCall{ID: "c", Name: "add", Arguments: `{"x":`}).Finish(troupe.FinishLength),
		troupetest.ServeText("it is 3").Usage(troupe.Usage{Input: 20, CachedInput: 16, Output: 4, Reasoning: 1}))
	m := modelOn(t, s)
	req := request()
	text, got, end, err := ask(t.Context(), m, req)
	if err != nil || text != "let me see" || len(got) != 2 || got[0] != calls[0] || got[1] != calls[1] || end.Finish != troupe.FinishCalls {
		t.Fatalf("got %q, %v, %+v, %v", text, got, end, err)
	}
	req.Messages = append(req.Messages,
		&troupe.Message{Role: troupe.RoleAssistant, Text: text, Thought: "sums", Calls: got, ThoughtField: end.ThoughtField, Opaque: end.Opaque},
		&troupe.Message{Role: troupe.RoleTool, CallID: "b", Text: "noon"}, &troupe.Message{Role: troupe.RoleTool, CallID: "a", Text: "3"})
	if _, got, end, err = ask(t.Context(), m, req); err != nil || len(got) != 1 || end.Finish != troupe.FinishLength {
		t.Fatalf("got %v, %+v, %v", got, end, err)
	}
	// The server refuses a conversation with cut arguments: they are sent as an object.
	req.Messages = append(req.Messages,
		&troupe.Message{Role: troupe.RoleAssistant, Calls: got}, &troupe.Message{Role: troupe.RoleTool, CallID: "c", Text: "cut off"})
	text, _, end, err = ask(t.Context(), m, req)
	want := troupe.Usage{Input: 20, CachedInput: 16, Output: 4, Reasoning: 1}
	if err != nil || text != "it is 3" || end.Finish != troupe.FinishStop || end.Usage != want || end.Model != "m" {
		t.Fatalf("got %q, %+v, %v", text, end, err)
	}
	sent := s.Requests()[1]
	if got := sent.Header.Get("Authorization"); got != "Bearer sk-canary" {
		t.Errorf("Authorization %q", got)
	}
	if got := sent.Header.Get("Content-Length"); got == "" {
		t.Error("the request was sent without its length")
	}
	if !strings.Contains(string(sent.Body), `"reasoning_content":"sums"`) {
		t.Errorf("the thought did not go back: %s", sent.Body)
	}
}

func TestFaultsOfServers(t *testing.T) {
	text := troupetest.ServeText("one two three")
	for name, exchange := range map[string]troupetest.Exchange{
		"cut before the first chunk": text.CutAfterChunks(0),
		"cut in the middle":          text.CutAfterChunks(2),
		"cut before the finish":      text.CutAfterChunks(4),
		"cut in a chunk":             text.CutAfterBytes(100),
		"ended early":                text.EndAfterChunks(3),
		"ended at once":              text.EndAfterChunks(0),
		"no finish, no DONE":         text.Finish("").NoDone(),
		"half a call, no finish":     troupetest.ServeCalls(troupe.ToolCall{ID: "a", Name: "f", Arguments: `{"a":`}).Finish(""),
		"calls cut":                  troupetest.ServeCalls(troupe.ToolCall{ID: "a", Name: "f", Arguments: "{}"}).CutAfterChunks(4),
		"garbage":                    troupetest.ServeRaw("text/event-stream", "data: {nonsense\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			_, calls, end, err := ask(t.Context(), modelOn(t, troupetest.NewServer(t, exchange)), request())
			if !isIncomplete(err) || calls != nil || end != nil {
				t.Errorf("got calls %v, end %v, error %v", calls, end, err)
			}
		})
	}
	for name, exchange := range map[string]troupetest.Exchange{
		"no DONE": text.NoDone(), "keep-alives": text.KeepAlives(3), "cut behind the finish": text.CutAfterChunks(5), "cut before DONE": text.CutAfterChunks(6),
	} {
		t.Run(name, func(t *testing.T) {
			said, _, end, err := ask(t.Context(), modelOn(t, troupetest.NewServer(t, exchange)), request())
			if err != nil || said != "one two three" || end == nil {
				t.Errorf("got %q, end %v, error %v", said, end, err)
			}
		})
	}
}

func TestErrorsAreNotTriedAgainHere(t *testing.T) {
	s := troupetest.NewServer(t,
		troupetest.ServeStatus(http.StatusTooManyRequests, `{"error":{"message":"slow down"}}`).Header("Retry-After", "7"),
		troupetest.ServeStatus(http.StatusServiceUnavailable, "busy"),
		troupetest.ServeText("well").FailWith(`{"message":"overloaded","code":529}`),
		troupetest.ServeStatus(http.StatusBadGateway, "cut off in the middle").CutAfterBytes(7))
	m := modelOn(t, s)
	for i, want := range []troupe.ModelError{
		{Status: 429, Reason: "rate", Message: "slow down", Temporary: true, RetryAfter: 7 * time.Second},
		{Status: 503, Reason: "overloaded", Message: "busy", Temporary: true},
		{Status: 529, Reason: "overloaded", Code: "529", Message: "overloaded", Temporary: true},
		{Status: 502, Reason: "overloaded", Message: "cut off", Temporary: true},
	} {
		_, _, _, err := ask(t.Context(), m, request())
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || *e != want {
			t.Errorf("error %d: %#v, want %#v", i, err, want)
		}
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests for 4 questions", n)
	}
}

func TestNoServerAtAll(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{}}
	m, err := openai.New(openai.Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = ask(t.Context(), m, request())
	if e, ok := errors.AsType[*troupe.ModelError](err); !ok || !e.Temporary || e.Status != 0 {
		t.Errorf("got %v", err)
	}
}

func TestBreakEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := troupetest.NewPipeServer(t, troupetest.ServeText("one two three").StallAfterChunks(3))
		for chunk, err := range modelOn(t, s).Generate(t.Context(), request()) {
			if err != nil || chunk.Text != "one " {
				t.Errorf("got %+v, %v", chunk, err)
			}
			break
		}
		synctest.Wait() // the server notices that the client has left, or the bubble never ends
	})
}

func TestCancelEndsTheRequest(t *testing.T) {
	for name, exchange := range map[string]troupetest.Exchange{
		"before the answer": troupetest.ServeNothing(),
		"in the answer":     troupetest.ServeText("one two").StallAfterChunks(2),
		"behind the finish": troupetest.ServeText("one two").StallAfterChunks(4),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := troupetest.NewPipeServer(t, exchange)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				_, _, end, err := ask(ctx, modelOn(t, s), request())
				if err != context.DeadlineExceeded || end != nil || time.Since(start) != 10*time.Second {
					t.Errorf("after %v: end %v, error %v", time.Since(start), end, err)
				}
			})
		})
	}
}

func TestSilenceEnds(t *testing.T) {
	text := troupetest.ServeText("one two three")
	tests := map[string]struct {
		exchange   troupetest.Exchange
		after      time.Duration
		incomplete bool
	}{
		"no answer":                   {troupetest.ServeNothing(), 5 * time.Minute, false},
		"a status and no more":        {text.StallAfterChunks(0), 5 * time.Minute, true},
		"a role and no more":          {text.StallAfterChunks(1), 5 * time.Minute, true},
		"in the midst of it":          {text.StallAfterChunks(2), time.Minute, true},
		"keep-alives only":            {text.KeepAlives(1000).Delay(30 * time.Second), 5 * time.Minute, true},
		"keep-alives, but too seldom": {text.KeepAlives(1000).Delay(10 * time.Minute), 5 * time.Minute, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := modelOn(t, troupetest.NewPipeServer(t, test.exchange))
				start := time.Now()
				_, _, end, err := ask(t.Context(), m, request())
				e, ok := errors.AsType[*troupe.ModelError](err)
				if !ok || !e.Temporary || isIncomplete(err) != test.incomplete || end != nil || !strings.Contains(err.Error(), "nothing came for "+test.after.String()) {
					t.Errorf("end %v, error %v", end, err)
				}
				if took := time.Since(start); took != test.after {
					t.Errorf("it took %v, want %v", took, test.after)
				}
			})
		})
	}
}

func TestIdleTimeoutIsConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := troupetest.NewPipeServer(t, troupetest.ServeNothing(), troupetest.ServeText("one two").StallAfterChunks(2))
		m, err := openai.New(openai.Config{BaseURL: s.URL, Model: "m", HTTPClient: s.Client(), IdleTimeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []time.Duration{10 * time.Second, 2 * time.Second} {
			start := time.Now()
			if _, _, _, err := ask(t.Context(), m, request()); err == nil || time.Since(start) != want {
				t.Errorf("after %v, want %v: %v", time.Since(start), want, err)
			}
		}
	})
}

// A server may be slow, and so may the caller: only silence is an error.
func TestSlownessIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := troupetest.NewPipeServer(t,
			troupetest.ServeText("one two three four five six seven eight").Delay(59*time.Second),
			troupetest.ServeText("one two three four"))
		m := modelOn(t, s)
		if text, _, end, err := ask(t.Context(), m, request()); err != nil || end == nil || !strings.HasSuffix(text, "eight") {
			t.Errorf("a slow server: %q, %v, %v", text, end, err)
		}
		var end *troupe.End
		for chunk, err := range m.Generate(t.Context(), request()) {
			if err != nil {
				t.Errorf("a slow caller: %v", err)
			}
			time.Sleep(time.Hour)
			end = chunk.End
		}
		if end == nil {
			t.Error("a slow caller misses the end")
		}
	})
}

// A finished answer does not wait for a server that keeps the connection open.
func TestTheEndIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := troupetest.NewPipeServer(t, troupetest.ServeText("one").StallAfterChunks(5))
		start := time.Now()
		_, _, end, err := ask(t.Context(), modelOn(t, s), request())
		if err != nil || end == nil || time.Since(start) > time.Second {
			t.Errorf("after %v: %v, %v", time.Since(start), end, err)
		}
	})
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	s := troupetest.NewServer(t, troupetest.ServeText("one two").Forever())
	m := modelOn(t, s)
	reused := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			reused++
		}
	}})
	for range 5 {
		if _, _, _, err := ask(ctx, m, request()); err != nil {
			t.Fatal(err)
		}
	}
	if reused != 4 {
		t.Errorf("of 5 requests, %d used a connection again", reused)
	}
}
