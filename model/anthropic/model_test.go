package anthropic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The events of answers.
var (
	start     = `{"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}`
	ping      = `{"type":"ping"}`
	textBegin = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	stop      = `{"type":"message_stop"}`
)

func textPiece(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
}

func ends(why string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + why + `"},"usage":{"output_tokens":9}}`
}

// thinkAndCall is an answer with a thought, a text and a call.
var thinkAndCall = wiretest.Events(start,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"let me "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"abc"}}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look it up."}}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"lookup","input":{}}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"city\""}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":": \"Oslo\"}"}}`,
	`{"type":"content_block_stop","index":3}`, ends("tool_use"), stop)

func modelOn(t testing.TB, c Config) *Model {
	t.Helper()
	if c.Model == "" {
		c.Model = "claude-sonnet-4-5"
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

func TestFaultsAreWhatTheyAre(t *testing.T) {
	troupetest.TestFaults(t, func(t *testing.T, s *troupetest.Server) troupe.Model {
		return modelOn(t, Config{BaseURL: s.URL, HTTPClient: s.Client()})
	})
}

func TestModelKeepsItsContract(t *testing.T) {
	troupetest.TestModel(t, func(t *testing.T, does troupetest.Behaviour) troupe.Model {
		status, ending := http.StatusOK, wiretest.Close
		pieces := []string{wiretest.Events(start, textBegin, ping), wiretest.Events(textPiece("a few ")), wiretest.Events(textPiece("words"))}
		switch does {
		case troupetest.Answering:
			pieces = append(pieces, wiretest.Events(ends("end_turn"), stop))
		case troupetest.Calling:
			pieces = []string{thinkAndCall}
		case troupetest.Failing:
			status, pieces = 400, []string{`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`}
		case troupetest.Stalling:
			ending = wiretest.Stall
		}
		s := wiretest.Serve(t, status, "text/event-stream", ending, pieces...)
		return modelOn(t, Config{BaseURL: s.URL, HTTPClient: s.Client()})
	})
}

func hear(t *testing.T, c *wiretest.Canned) wiretest.Heard {
	t.Helper()
	return wiretest.Listen(t.Context(), modelOn(t, Config{HTTPClient: c.Client()}), wiretest.Hello())
}

func TestThoughtsGoBackInTheirPlaceToWhoeverHadThem(t *testing.T) {
	h := hear(t, wiretest.Stream(thinkAndCall))
	if h.Err != nil || h.Thought != "let me see" || h.Text != "I look it up." || len(h.Calls) != 1 || h.Calls[0].Arguments != `{"city": "Oslo"}` {
		t.Fatalf("heard %+v", h)
	}
	if want := (troupe.Usage{Input: 8, CachedInput: 5, Output: 9}); h.End.Usage != want || h.End.Model != "claude-x" || h.End.Finish != troupe.FinishCalls {
		t.Errorf("end %+v", h.End)
	}
	if !strings.HasSuffix(h.Order, "ce") || !strings.Contains(h.Order, "p") {
		t.Errorf("order %s", h.Order)
	}
	const whole = `[{"type":"thinking","thinking":"let me see","signature":"c2ln"},{"type":"redacted_thinking","data":"abc"},` +
		`{"type":"text","text":"I look it up."},{"type":"tool_use","id":"toolu_1","name":"lookup","input":{"city":"Oslo"}}]`
	const plain = `[{"type":"text","text":"I look it up."},{"type":"tool_use","id":"toolu_1","name":"lookup","input":{"city":"Oslo"}}]`
	message := h.Message()
	changedText := *h.Message()
	changedText.Text += "!"
	for name, test := range map[string]struct {
		form    messageForm
		message *troupe.Message
		want    string
	}{
		"the same model":     {messageForm{host: "api.anthropic.com", model: "claude-sonnet-4-5"}, message, whole},
		"under another name": {messageForm{host: "api.anthropic.com", model: "anthropic.claude-sonnet-4-5-20250929-v1:0"}, message, whole},
		"another model":      {messageForm{host: "api.anthropic.com", model: "claude-opus-4-5"}, message, plain},
		"another host":       {messageForm{host: "proxy.test", model: "claude-sonnet-4-5"}, message, plain},
		"without thoughts":   {messageForm{host: "api.anthropic.com", model: "claude-sonnet-4-5", withoutThoughts: true}, message, plain},
		"changed since":      {messageForm{host: "api.anthropic.com", model: "claude-sonnet-4-5"}, &changedText, strings.Replace(plain, "up.", "up.!", 1)},
	} {
		var got, want any
		json.Unmarshal([]byte("["+string(test.form.encode(test.message)[1:])+"]"), &got)
		json.Unmarshal([]byte(test.want), &want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFaults(t *testing.T) {
	whole := wiretest.Events(start, textBegin, textPiece("half an"), ends("end_turn"), stop)
	cutAtStop := wiretest.Events(start, textBegin, textPiece("half an"), ends("end_turn"))
	overloaded := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for name, test := range map[string]struct {
		answer    *wiretest.Canned
		reason    string
		code      string
		temporary bool
		after     time.Duration
	}{
		"cut in an event":        {wiretest.Stream(whole[:len(whole)-90]), "incomplete", "", true, 0},
		"cut before the end":     {wiretest.Stream(cutAtStop), "incomplete", "", true, 0},
		"no stop reason":         {wiretest.Stream(wiretest.Events(start, textBegin, textPiece("x"), stop)), "incomplete", "", true, 0},
		"nothing":                {wiretest.Stream(""), "incomplete", "", true, 0},
		"nothing but pings":      {wiretest.Stream(wiretest.Events(ping, ping, ping)), "incomplete", "", true, 0},
		"overloaded in a stream": {wiretest.Stream(wiretest.Events(start, textBegin, textPiece("x"), overloaded)), "overloaded", "overloaded_error", true, 0},
		"refused in a stream":    {wiretest.Stream(wiretest.Events(start, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`)), "request", "invalid_request_error", false, 0},
		"529":                    {&wiretest.Canned{Status: 529, Body: overloaded}, "overloaded", "overloaded_error", true, 0},
		"429": {&wiretest.Canned{Status: 429, Header: http.Header{"Retry-After": {"7"}}, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`},
			"rate", "rate_limit_error", true, 7 * time.Second},
		"401":            {&wiretest.Canned{Status: 401, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-canary-1234"}}`}, "key", "authentication_error", false, 0},
		"413":            {&wiretest.Canned{Status: 413, Body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`}, "too_large", "request_too_large", false, 0},
		"too long":       {&wiretest.Canned{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}`}, "context", "invalid_request_error", false, 0},
		"no money":       {&wiretest.Canned{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`}, "money", "invalid_request_error", false, 0},
		"a page":         {&wiretest.Canned{Status: 200, Body: "<html><title>Welcome</title>"}, "request", "", false, 0},
		"another answer": {&wiretest.Canned{Status: 200, Body: `{"choices":[]}`}, "request", "", false, 0},
		"paused":         {wiretest.Stream(wiretest.Events(start, textBegin, textPiece("x"), ends("pause_turn"), stop)), "incomplete", "pause_turn", true, 0},
	} {
		h := hear(t, test.answer)
		e, ok := errors.AsType[*troupe.ModelError](h.Err)
		if !ok || e.Reason != test.reason || e.Code != test.code || e.Temporary != test.temporary || e.RetryAfter != test.after || h.End != nil || h.Calls != nil {
			t.Errorf("%s: %+v, error %#v", name, h, h.Err)
		}
		if ok && strings.Contains(e.Error(), "canary") {
			t.Errorf("%s: %v tells the key", name, e)
		}
	}
}

// What came to nothing is paid for where the server says what it took.
func TestAFailedAnswerSaysWhatItTook(t *testing.T) {
	e, ok := errors.AsType[*troupe.ModelError](hear(t, wiretest.Stream(wiretest.Events(start, textBegin, textPiece("x"), ends("pause_turn"), stop))).Err)
	if !ok || e.End == nil || e.End.Usage.Input != 8 || e.End.Usage.CachedInput != 5 || e.End.Model != "claude-x" {
		t.Errorf("%+v", e)
	}
}

// A window that fills up while the model answers is a full context: a larger max_tokens
// would not help, and making room does.
func TestAWindowThatFillsUpIsAFullContext(t *testing.T) {
	e, ok := errors.AsType[*troupe.ModelError](hear(t, wiretest.Stream(wiretest.Events(start, textBegin, textPiece("x"), ends("model_context_window_exceeded"), stop))).Err)
	if !ok || e.Reason != "context" || e.Temporary || !errors.Is(e, troupe.ErrContextFull) || e.End == nil || e.End.Usage.Input != 8 {
		t.Errorf("%#v", e)
	}
}

func TestEnds(t *testing.T) {
	for why, want := range map[string]troupe.Finish{
		"end_turn": troupe.FinishStop, "stop_sequence": troupe.FinishStop, "max_tokens": troupe.FinishLength,
		"refusal": troupe.FinishFiltered, "something_new": troupe.FinishStop,
	} {
		h := hear(t, wiretest.Stream(wiretest.Events(start, textBegin, textPiece("x"), ends(why), stop)))
		if h.Err != nil || h.End.Finish != want || h.Text != "x" {
			t.Errorf("%s: %+v", why, h)
		}
	}
	h := hear(t, wiretest.Stream(wiretest.Events(start, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"Not that."}}}`, stop)))
	if h.Err != nil || h.Refusal != "Not that." || h.End.Finish != troupe.FinishFiltered {
		t.Errorf("refusal: %+v", h)
	}
	// A cut call is part of what was said, and a server's own tools are not ours.
	h = hear(t, wiretest.Stream(wiretest.Events(start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		ends("max_tokens"), stop)))
	if h.Err != nil || len(h.Calls) != 1 || h.Calls[0].Arguments != `{"a":` || h.End.Finish != troupe.FinishLength || !strings.Contains(string(h.End.Opaque), `"query":"q"`) {
		t.Errorf("cut: %+v %s", h, h.End.Opaque)
	}
}

func TestAServerThatOnlyPingsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, in := io.Pipe()
		var pinging sync.WaitGroup
		pinging.Go(func() {
			for range 100 {
				time.Sleep(10 * time.Second)
				if _, err := io.WriteString(in, wiretest.Events(ping)); err != nil {
					return
				}
			}
		})
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			go func() { <-r.Context().Done(); out.CloseWithError(r.Context().Err()) }()
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, Request: r}, nil
		})}
		began := time.Now()
		h := wiretest.Listen(t.Context(), modelOn(t, Config{HTTPClient: client, IdleTimeout: 20 * time.Second}), wiretest.Hello())
		e, ok := errors.AsType[*troupe.ModelError](h.Err)
		if took := time.Since(began); !ok || e.Reason != "timeout" || took != 100*time.Second {
			t.Errorf("%v after %v", h.Err, took)
		}
		in.Close()
		pinging.Wait() // it may have gone to sleep at the moment of giving up
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestStreamsInAllPieces(t *testing.T) {
	wiretest.InPieces(t, func(t testing.TB, client *http.Client) troupe.Model { return modelOn(t, Config{HTTPClient: client}) }, wiretest.Stream(thinkAndCall))
}

func FuzzStream(f *testing.F) {
	f.Add(thinkAndCall)
	f.Add(wiretest.Events(start, textBegin, textPiece("x"), ends("refusal"), stop))
	f.Add(`{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`)
	f.Add(wiretest.Events(`{"type":"content_block_delta","index":7,"delta":{"type":"signature_delta","signature":"s"}}`, stop))
	f.Fuzz(func(t *testing.T, body string) {
		m := modelOn(t, Config{HTTPClient: wiretest.Stream(body).Client()})
		h := wiretest.Listen(t.Context(), m, wiretest.Hello())
		wiretest.Sound(t, h, messageForm{host: m.host, model: m.name}.encode)
	})
}
