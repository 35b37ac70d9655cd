package wire

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow answers with pieces, each after a wait.
type slow struct {
	status int
	header http.Header
	pieces []piece
}

type piece struct {
	after time.Duration
	text  string
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	pieces := s.pieces
	if s.status == 0 {
		s.status = http.StatusOK
	}
	if s.header == nil {
		s.header = http.Header{}
	}
	if err := pause(r.Context(), pieces[0].after); err != nil {
		return nil, err
	}
	go func() {
		for i, p := range pieces {
			if i > 0 {
				if err := pause(r.Context(), p.after); err != nil {
					in.CloseWithError(err)
					return
				}
			}
			if _, err := io.WriteString(in, p.text); err != nil {
				return
			}
		}
		in.Close()
	}()
	return &http.Response{StatusCode: s.status, Header: s.header, Body: out, Request: r}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func client(t *testing.T, transport http.RoundTripper, p Patience) *Client {
	t.Helper()
	at, err := ParseURL("test", "http://user:pass-canary@model.test/v1/?v=query-canary")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Package: "test", URL: at, Key: "key-canary", HTTPClient: &http.Client{Transport: transport}, Patience: p})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// read reads an answer in which every piece is progress.
func read(ctx context.Context, c *Client, x *Exchange) (string, error) {
	a, err := c.Send(ctx, x)
	if err != nil {
		return "", err
	}
	defer a.Close()
	var text strings.Builder
	buffer := make([]byte, 64)
	for {
		n, err := a.Read(buffer)
		text.Write(buffer[:n])
		if n > 0 {
			a.Progressed()
		}
		if err == io.EOF {
			return text.String(), nil
		}
		if err != nil {
			return text.String(), a.Incomplete(err)
		}
	}
}

func TestPatience(t *testing.T) {
	p := Patience{Begin: 50 * time.Second, Silence: 10 * time.Second, Whole: 200 * time.Second}
	tests := map[string]struct {
		pieces  []piece
		mayCall bool
		want    string
		after   time.Duration
	}{
		"in time":            {[]piece{{49 * time.Second, "a"}, {9 * time.Second, "b"}}, false, "", 58 * time.Second},
		"never begins":       {[]piece{{time.Hour, "a"}}, false, "nothing came for 50s", 50 * time.Second},
		"silent":             {[]piece{{0, "a"}, {time.Hour, "b"}}, false, "nothing came for 10s", 10 * time.Second},
		"collects a call":    {[]piece{{0, "a"}, {49 * time.Second, "b"}}, true, "", 49 * time.Second},
		"silent with tools":  {[]piece{{0, "a"}, {51 * time.Second, "b"}}, true, "nothing came for 50s", 50 * time.Second},
		"takes for ever":     {slowly(100, 5*time.Second), false, "longer than 3m20s", 200 * time.Second},
		"long, but in time":  {slowly(39, 5*time.Second), false, "", 195 * time.Second},
		"headers, then none": {[]piece{{0, ""}, {time.Hour, "b"}}, false, "nothing came for 50s", 50 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := read(t.Context(), client(t, slow{pieces: test.pieces}, p), &Exchange{Parts: [][]byte{[]byte("{}")}, MayCall: test.mayCall})
				if took := time.Since(began); took != test.after {
					t.Errorf("took %v, want %v", took, test.after)
				}
				if test.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e, ok := errors.AsType[*troupe.ModelError](err)
				if !ok || e.Reason != "timeout" || !e.Temporary || !errors.Is(err, ErrSilence) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %#v", err)
				}
			})
		})
	}
}

func slowly(n int, each time.Duration) []piece {
	list := make([]piece, n)
	for i := range list {
		list[i] = piece{each, "x"}
	}
	return list
}

func TestTheKeyGoesToOneHostOnly(t *testing.T) {
	c := client(t, slow{pieces: []piece{{0, "x"}}}, Patience{})
	for _, other := range []string{"http://evil.test/v1", "https://model.test/v1", "http://model.test:81/v1"} {
		at, _ := url.Parse(other)
		if _, err := c.Send(t.Context(), &Exchange{URL: at}); err == nil {
			t.Errorf("%s was sent a request", other)
		}
	}
}

func TestForms(t *testing.T) {
	for body, want := range map[string]Form{
		"data: {}\n\n": Stream, "\ufeffdata: {}": Stream, ": ping\n\n": Stream, "event: x\n": Stream, "error: {}\n": Stream, "id: 1\n": Stream, "retry: 5": Stream,
		"{}": Whole, "\n \n[{}]": Whole, "\ufeff{}": Whole, "": Neither, "<html>": Neither, "pong": Neither,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
		at, _ := ParseURL("test", server.URL)
		c, err := New(Config{URL: at})
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Send(t.Context(), &Exchange{})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Form(); got != want {
			t.Errorf("%q is %v, want %v", body, got, want)
		}
		a.Close()
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	}
}

func TestReasonsOfRefusals(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		reason string
	}{
		{401, `{"error":{"message":"no"}}`, "key"},
		{400, `{"error":{"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, "key"},
		{402, `{"error":{"message":"Insufficient credits"}}`, "money"},
		{429, `{"error":{"code":"insufficient_quota","message":"x"}}`, "money"},
		{404, `{"error":{"message":"The model 'x' does not exist or you do not have access to it.","code":"model_not_found"}}`, "model"},
		{404, `{"error":"model \"x\" not found, try pulling it first"}`, "model"},
		{413, ``, "too_large"},
		{404, "404 page not found\n", "address"},
		{404, ``, "address"},
		{400, "Client sent an HTTP request to an HTTPS server.\n", "address"},
		{400, `<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>`, "address"},
		{404, `{"detail":"Not Found"}`, "address"},
		{405, `<html><title>405 Not Allowed</title></html>`, "address"},
		{404, `{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error","param":null,"code":null}}`, "address"},
		{404, `{"error":{"message":"Unknown request URL: POST /chat/completions.","type":"invalid_request_error","code":"unknown_url"}}`, "address"},
		{400, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`, "address"},
		{404, `{"error":{"message":"Nothing here for you","code":404}}`, "request"},
		{400, `{"error":{"message":"registry.ollama.ai/library/gemma:latest does not support tools","type":"api_error"}}`, "tools"},
		{400, `{"error":"gemma:latest does not support tools"}`, "tools"},
		{404, `{"error":{"message":"No endpoints found that support tool use. To learn more, visit the docs","code":404}}`, "tools"},
		{400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}`, "tools"},
		{400, `{"error":{"code":"context_length_exceeded","message":"x"}}`, "context"},
		{429, `{"error":{"message":"slow down"}}`, "rate"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "overloaded"},
		{503, ``, "overloaded"},
		{504, ``, "timeout"},
		{403, `{"error":{"message":"Your input was flagged"}}`, "refused"},
		{403, `{"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory"}}`, "country"},
		{400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, "country"},
		{403, `<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>`, "address"},
		{403, `{"error":{"message":"You are not allowed to do this"}}`, "key"},
		{400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, "refused"},
		{400, `{"error":{"message":"This model does not support response_format json_schema"}}`, "schema"},
		{400, `{"error":{"message":"messages: field required"}}`, "request"},
		{400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, "request"},
		{400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","type":"invalid_request_error","code":"unsupported_value"}}`, "request"},
		{400, `{"error":{"message":"logprobs is not supported by this model"}}`, "request"},
		{400, `{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model.","code":"unsupported_parameter"}}`, "tools"},
		{400, `{"error":{"message":"The model x is not supported"}}`, "model"},
		{500, `{"error":"model requires more system memory (9.9 GiB) than is available (4.1 GiB)"}`, "memory"},
		{500, `{"error":{"message":"llama runner process has terminated: CUDA error: out of memory"}}`, "memory"},
		{500, `{"error":{"code":500,"message":"CUDA out of memory. Tried to allocate 2.00 GiB.","type":"server_error"}}`, "memory"},
		{500, `{"error":"llama runner process has terminated: cudaMalloc failed"}`, "memory"},
		{500, `{"error":{"message":"unable to allocate CUDA0 buffer"}}`, "memory"},
		{200, `{"error":"model requires more system memory (9.9 GiB) than is available"}`, "memory"},
	} {
		answer, err := client(t, slow{status: test.status, pieces: []piece{{0, test.body}}}, Patience{}).Send(t.Context(), &Exchange{Parts: [][]byte{}})
		if err == nil { // what is said in the midst of an answer
			err = answer.Failed([]byte(test.body))
			answer.Close()
		}
		e, ok := errors.AsType[*troupe.ModelError](err)
		if ok && e.Temporary && test.reason == "memory" {
			t.Errorf("%d %s: is tried again", test.status, test.body)
		}
		if !ok || e.Reason != test.reason {
			t.Errorf("%d %s: %v, reason %q, want %q", test.status, test.body, err, e.Reason, test.reason)
		}
	}
}

func TestTheWaitIsKnownFromWhatIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			header map[string]string
			want   time.Duration
		}{
			{map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "1h"}, 6 * time.Minute},
			{map[string]string{"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": time.Now().Add(30 * time.Second).Format(time.RFC3339)}, 30 * time.Second},
			{map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "946684860000"}, time.Minute},
			{map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s", "retry-after": "2"}, 2 * time.Second},
			{map[string]string{"x-ratelimit-remaining-tokens": "0"}, 0},
		} {
			header := http.Header{}
			for name, value := range test.header {
				header.Set(name, value)
			}
			if got := RetryAfter(header); got != test.want {
				t.Errorf("%v: %v, want %v", test.header, got, test.want)
			}
		}
	})
}

func TestWhatServersSayAboutTryingAgain(t *testing.T) {
	for name, test := range map[string]struct {
		answer    slow
		temporary bool
		wait      time.Duration
	}{
		"in words":          {slow{status: 429, pieces: []piece{{0, `{"error":{"message":"Rate limit reached. Please try again in 1m2.5s. Visit us."}}`}}}, true, 62500 * time.Millisecond},
		"Google":            {slow{status: 429, pieces: []piece{{0, `[{"error":{"message":"quota","details":[{"@type":"x"},{"retryDelay":"34s"}]}}]`}}}, true, 34 * time.Second},
		"no":                {slow{status: 503, header: http.Header{"X-Should-Retry": {"false"}}, pieces: []piece{{0, "{}"}}}, false, 0},
		"yes":               {slow{status: 400, header: http.Header{"X-Should-Retry": {"true"}}, pieces: []piece{{0, "{}"}}}, true, 0},
		"money comes again": {slow{status: 402, header: http.Header{"Retry-After": {"5"}}, pieces: []piece{{0, "{}"}}}, true, 5 * time.Second},
		"no money":          {slow{status: 402, pieces: []piece{{0, "{}"}}}, false, 0},
	} {
		_, err := client(t, test.answer, Patience{}).Send(t.Context(), &Exchange{Parts: [][]byte{}})
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || e.Temporary != test.temporary || e.RetryAfter != test.wait {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

func TestServersThatAreNotTrustedOrNotThere(t *testing.T) {
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer untrusted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for address, want := range map[string]string{
		untrusted.URL: "certificate", strings.Replace(plain.URL, "http:", "https:", 1): "address", gone.URL: "unreachable",
		strings.Replace(untrusted.URL, "https:", "http:", 1): "address",
	} {
		at, err := ParseURL("test", address)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		c, err := New(Config{URL: at, HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Send(t.Context(), &Exchange{})
		transport.CloseIdleConnections()
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || e.Reason != want || e.Temporary != (want == "unreachable") {
			t.Errorf("%s: %#v, want %s", address, err, want)
		}
	}
}
