package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// fails asks a model that answers with a status, and returns its error.
func fails(t *testing.T, status int, body string, header http.Header) *troupe.ModelError {
	t.Helper()
	if header == nil {
		header = http.Header{}
	}
	got := listen(t.Context(), newModel(t, &canned{Status: status, Header: header, Body: body}), hello())
	e, ok := errors.AsType[*troupe.ModelError](got.Err)
	if !ok || got.Order != "x" {
		t.Fatalf("got %+v, want a *ModelError and nothing else", got)
	}
	return e
}

func TestErrorsAreReadInEveryForm(t *testing.T) {
	tests := map[string]struct {
		body, code, message string
	}{
		"OpenAI":            {`{"error":{"message":"bad","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, "model_not_found", "bad"},
		"no code":           {`{"error":{"message":"bad","type":"invalid_request_error","code":null}}`, "invalid_request_error", "bad"},
		"integer code":      {`{"error":{"message":"bad","code":400}}`, "400", "bad"},
		"code and type":     {`{"error":{"code":400,"message":"bad","type":"exceed"}}`, "exceed", "bad"},
		"a string":          {`{"error":"bad"}`, "", "bad"},
		"a message":         {`{"message":"bad"}`, "", "bad"},
		"a detail":          {`{"detail":"bad"}`, "", "bad"},
		"details":           {`{"detail":[{"loc":["body","messages",0],"msg":"bad","type":"missing"}]}`, "missing", "body.messages.0: bad"},
		"vLLM":              {`{"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400}`, "BadRequestError", "bad"},
		"Mistral":           {`{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","n"],"msg":"bad"}]},"type":"invalid_request_error","code":null}`, "invalid_request_error", "body.n: bad"},
		"Mistral, quoted":   {`{"object":"error","message":"{\"detail\":[{\"loc\":[\"body\",\"n\"],\"msg\":\"bad\"}]}","type":"proxy","code":"1000"}`, "proxy", "body.n: bad"},
		"Google":            {`[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, "INVALID_ARGUMENT", "bad"},
		"OpenRouter":        {`{"error":{"code":400,"message":"Provider returned error","metadata":{"provider_name":"Google","raw":"too hot"}},"user_id":"u"}`, "400", "Provider returned error: too hot"},
		"errors":            {`{"errors":[{"message":"bad"}]}`, "", "bad"},
		"text":              {"bad \n request", "", "bad request"},
		"a page":            {"<!DOCTYPE html><html><head><title>400 &amp; bad</title></head><body>...", "", "400 & bad"},
		"a page, no title":  {"<html><body>bad</body>", "", "<html><body>bad</body>"},
		"nothing":           {"", "", "Bad Request"},
		"null":              {"null", "", "null"},
		"an unknown object": {`{"oops": true}`, "", `{"oops": true}`},
		"deep":              {strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat("}", 50), "", strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat("}", 50)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := fails(t, 400, test.body, nil)
			if e.Status != 400 || e.Code != test.code || e.Message != test.message || e.Temporary || e.Err != nil {
				t.Errorf("got %#v, want code %q, message %q", e, test.code, test.message)
			}
		})
	}
}

func TestWhatIsTemporary(t *testing.T) {
	for status, want := range map[int]bool{
		301: false, 400: false, 401: false, 402: false, 403: false, 404: false, 405: false, 408: true, 409: true, 413: false, 422: false,
		425: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true,
	} {
		if e := fails(t, status, `{"error":{"message":"no"}}`, nil); e.Temporary != want || e.Status != status {
			t.Errorf("status %d: temporary %v, want %v", e.Status, e.Temporary, want)
		}
	}
	for _, body := range []string{
		`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`,
		`{"error":{"message":"limit","code":"enforced_spend_limit_reached"}}`,
		`{"error":{"message":"limit","type":"billing_hard_limit_reached"}}`,
		`{"error":"Your credit balance is too low"}`,
	} {
		if e := fails(t, 429, body, nil); e.Temporary {
			t.Errorf("%s is temporary", body)
		}
	}
	// Google says this of limits that pass in a minute.
	if e := fails(t, 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]`, nil); !e.Temporary {
		t.Error("a rate limit that speaks of quota is not temporary")
	}
}

func TestErrorsInsideAGoodAnswer(t *testing.T) {
	tests := map[string]struct {
		stream    string
		status    int
		code      string
		temporary bool
	}{
		"a status as code":       {events(said(`"content":"a"`), `{"error":{"code":502,"message":"upstream"}}`), 502, "502", true},
		"beside choices":         {events(said(`"content":"a"`), because("length"), `{"error":{"code":400,"message":"no"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`), 400, "400", false},
		"a named event":          {"event: error\ndata: {\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"status_code\":400}}\n\n", 400, "tool_use_failed", true},
		"a named event of text":  {"event: error\ndata: overloaded\n\n", 200, "", true},
		"a type only":            {events(`{"error":{"message":"no","type":"overloaded_error"}}`), 200, "overloaded_error", true},
		"an invalid request":     {events(`{"error":{"message":"no","type":"invalid_request_error"}}`), 200, "invalid_request_error", false},
		"text":                   {events(`{"error":"no"}`), 200, "", true},
		"money":                  {events(`{"error":{"message":"no","code":"insufficient_quota"}}`), 200, "insufficient_quota", false},
		"a status 200 with JSON": {`{"error":{"message":"no","code":503}}`, 503, "503", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := stream200(test.stream)
			if strings.HasPrefix(test.stream, "{") {
				c.Header.Set("Content-Type", "application/json")
			}
			got := listen(t.Context(), newModel(t, c), hello())
			e, ok := errors.AsType[*troupe.ModelError](got.Err)
			if !ok || got.End != nil {
				t.Fatalf("got %+v", got)
			}
			if e.Status != test.status || e.Code != test.code || e.Temporary != test.temporary || e.Message == "" {
				t.Errorf("got %#v", e)
			}
		})
	}
}

func TestRequestsThatAreTooLongAreKnown(t *testing.T) {
	for _, text := range []string{
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		`{"error":{"message":"x","code":"context_length_exceeded"}}`,
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`,
		`{"error":{"code":400,"message":"request (20243 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}`,
		`{"error":{"message":"This endpoint's maximum context length is 16385 tokens. However, you requested about 118874 tokens","code":400}}`,
		`{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","code":"3051"}`,
		`{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error"}}`,
		`{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`,
		`{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
	} {
		if e := fails(t, 400, text, nil); !errors.Is(e, troupe.ErrContextFull) || e.Temporary {
			t.Errorf("%s is not taken for a full context: %v", text, e)
		}
	}
	if e := fails(t, 413, "", nil); !errors.Is(e, troupe.ErrContextFull) {
		t.Error("status 413 is not taken for a full context")
	}
	if e := fails(t, 429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."}}`, nil); !errors.Is(e, troupe.ErrContextFull) || e.Temporary {
		t.Error("a request beyond the limit per minute is tried again")
	}
	for status, text := range map[int]string{
		429: `{"error":{"message":"too many tokens, please wait"}}`,
		404: `{"error":{"message":"model maximum context length does not exist"}}`,
		400: `{"error":{"message":"context is missing"}}`,
	} {
		if e := fails(t, status, text, nil); errors.Is(e, troupe.ErrContextFull) {
			t.Errorf("%d %s is taken for a full context", status, text)
		}
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
		for value, want := range map[string]time.Duration{
			"2": 2 * time.Second, "0.5": 500 * time.Millisecond, date: 90 * time.Second, "": 0, "soon": 0, "-3": 0, "NaN": 0,
			"1e300": 366 * 24 * time.Hour, "190000": 190000 * time.Second, "Mon, 01 Jan 1990 00:00:00 GMT": 0,
		} {
			if e := fails(t, 429, "{}", http.Header{"Retry-After": {value}}); e.RetryAfter != want {
				t.Errorf("Retry-After %q: %v, want %v", value, e.RetryAfter, want)
			}
		}
		if e := fails(t, 429, "{}", http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"1500"}}); e.RetryAfter != 1500*time.Millisecond {
			t.Errorf("Retry-After-Ms: %v", e.RetryAfter)
		}
	})
}

func TestLongErrorsAreShortened(t *testing.T) {
	for _, body := range []string{strings.Repeat("\u00e9", 1<<20), `{"error":{"message":"` + strings.Repeat("\u00e9", 10000) + `"}}`} {
		e := fails(t, 500, body, nil)
		if len(e.Message) > 2<<10+len("…") || !utf8.ValidString(e.Message) {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	}
}

// An error must not show a secret, however the server repeats it.
func TestErrorsShowNoSecrets(t *testing.T) {
	const key, value, token, password, query = "sk-canary-key-1234567890", "canary header value", "canary-token", "canary-password", "canary-query"
	secrets := []string{key, value, token, password, query}
	echo := strings.Join(secrets, " and ")
	quoted, _ := json.Marshal(echo)
	for name, c := range map[string]*canned{
		"status":    {Status: 401, Body: `{"error":{"message":` + string(quoted) + `,"code":` + string(quoted) + `}}`},
		"text":      {Status: 500, Body: echo},
		"a page":    {Status: 502, Body: "<title>" + echo + "</title>"},
		"redirect":  {Status: 307, Header: http.Header{"Location": {"https://evil.test/?x=" + key}}},
		"stream":    stream200(events(`{"error":{"message":` + string(quoted) + `}}`)),
		"not ours":  {Status: 200, Body: echo},
		"a reason":  stream200(events(said(`"reasoning":"a"`), because(key))),
		"garbage":   stream200("data: {" + key + "\n\n"),
		"no answer": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var transport http.RoundTripper = unreachable{errors.New("dial " + echo)}
			if c != nil {
				transport = c
			}
			m, err := New(Config{
				BaseURL: "http://user:" + password + "@model.test/v1?k=" + query, Key: key + "\n", Model: "m", HTTPClient: &http.Client{Transport: transport},
				Headers: map[string]string{"X-Auth": value, "Proxy-Authorization": "Bearer " + token},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := listen(t.Context(), m, hello())
			if got.Err == nil {
				t.Fatal("no error")
			}
			shown := fmt.Sprintf("%v %s", got.Err, got.Err)
			if e, ok := errors.AsType[*troupe.ModelError](got.Err); ok {
				shown += fmt.Sprint(e.Code, e.Message, e.Err)
			}
			for _, secret := range secrets {
				if strings.Contains(shown, secret) {
					t.Errorf("%q is in %s", secret, shown)
				}
			}
		})
	}
}

// unreachable is a transport that gets no answer.
type unreachable struct{ err error }

func (u unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, u.err }

func TestNoAnswerIsTemporary(t *testing.T) {
	broken := errors.New("connection refused")
	got := listen(t.Context(), newModel(t, unreachable{broken}), hello())
	e, ok := errors.AsType[*troupe.ModelError](got.Err)
	if !ok || !e.Temporary || e.Status != 0 || !errors.Is(e, broken) || e.Message != "no answer from model.test: connection refused" {
		t.Errorf("got %#v", got.Err)
	}
}

func TestAnswersToOtherQuestionsAreNotTriedAgain(t *testing.T) {
	for _, body := range []string{"<html><title>Welcome</title>", `{"status":"ok"}`, "pong", `["x"]`, `{"choices":5}`} {
		e := fails(t, 200, body, http.Header{"Content-Type": {"application/json"}})
		if e.Temporary || !strings.Contains(e.Message, "not a chat completion") {
			t.Errorf("%s: %v", body, e)
		}
	}
}
