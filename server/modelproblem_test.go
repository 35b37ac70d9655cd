package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/openai"
)

// once is a model whose failures are not tried again, so that nobody waits for them.
type once struct{ troupe.Model }

func (o once) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		for chunk, err := range o.Model.Generate(ctx, req) {
			if failure, ok := errors.AsType[*troupe.ModelError](err); ok {
				failed := *failure
				failed.Temporary, err = false, &failed
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// What a provider of models may do wrong, seen from outside: the OpenAI endpoint, the
// chat of the original application and the event on record say the same of it.
func TestModelFailuresAreExplainedToEveryClient(t *testing.T) {
	answers := func(status int, body string, headers ...string) func(t *testing.T) openai.Config {
		return func(t *testing.T) openai.Config {
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for i := 0; i < len(headers); i += 2 {
					w.Header().Set(headers[i], headers[i+1])
				}
				w.WriteHeader(status)
				w.Write([]byte(body))
			}))
			t.Cleanup(provider.Close)
			return openai.Config{BaseURL: provider.URL + "/v1"}
		}
	}
	dials := func(err error) func(*testing.T) openai.Config {
		return func(*testing.T) openai.Config {
			dial := func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
			}
			return openai.Config{BaseURL: "http://models.test/v1", HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}}
		}
	}
	refusing := func(t *testing.T) openai.Config {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
		return openai.Config{BaseURL: "http://" + listener.Addr().String() + "/v1"}
	}
	untrusted := func(t *testing.T) openai.Config {
		provider := httptest.NewUnstartedServer(http.NotFoundHandler())
		provider.Config.ErrorLog = log.New(io.Discard, "", 0)
		provider.StartTLS()
		t.Cleanup(provider.Close)
		return openai.Config{BaseURL: provider.URL + "/v1"}
	}
	for name, c := range map[string]struct {
		provider      func(*testing.T) openai.Config
		status        int
		code, page    string // as OpenAI's clients and the page know it
		sentence, do  string
		hasRetryAfter bool
	}{
		"401": {answers(401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`), 502, "key", "key_refused", "does not accept the key", "troupe doctor", false},
		"402": {answers(402, `{"error":{"message":"Insufficient credits"}}`), 502, "money", "quota_spent", "empty or at its limit", "Add credit", false},
		"403": {answers(403, `{"error":{"message":"Forbidden"}}`), 502, "key", "key_refused", "does not accept the key", "Check the key", false},
		"404": {answers(404, `{"error":{"message":"The model 'm' does not exist","code":"model_not_found"}}`), 502, "model", "model_unknown", "does not have this model", "troupe models", false},
		"413": {answers(413, `{"error":{"message":"Request too large"}}`), 413, "too_large", "request_too_large", "larger than the provider takes", "Attach less", false},
		"429 with a date": {answers(429, `{"error":{"message":"Slow down"}}`, "Retry-After", time.Now().Add(90*time.Minute).UTC().Format(http.TimeFormat)),
			429, "rate_limit_exceeded", "rate_limited", "wants fewer requests", "again in 90 minutes", true},
		"529":                {answers(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 503, "overloaded", "provider_down", "trouble of its own", "Try again", false},
		"context full":       {answers(400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`), 400, "context_length_exceeded", "context_full", "does not fit the model's window", "larger window", false},
		"refused content":    {answers(400, `{"error":{"message":"The response was filtered due to the prompt triggering content management policy","code":"content_filter"}}`), 400, "content_filter", "declined", "refuses this request", "other words", false},
		"certificate":        {untrusted, 502, "certificate", "provider_down", "certificate is not trusted", "install its certificate", false},
		"refused connection": {refusing, 502, "unreachable", "provider_down", "cannot be reached", "Start the server", false},
		"unknown name":       {dials(&net.DNSError{Name: "models.test", Err: "no such host", IsNotFound: true}), 502, "unreachable", "provider_down", "cannot be reached", "offline", false},
	} {
		t.Run(name, func(t *testing.T) {
			config := c.provider(t)
			config.Model = "m"
			client, err := openai.New(config)
			if err != nil {
				t.Fatal(err)
			}
			w := open(t, clerk(t, once{client}))

			response := w.send(t.Context(), "POST", "/v1/chat/completions", object{"model": "clerk", "messages": turns("hi")})
			var got openaiError
			if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != c.status || got.Error.Code == nil || *got.Error.Code != c.code || !strings.Contains(got.Error.Message, c.sentence) || !strings.Contains(got.Error.Message, c.do) {
				t.Errorf("OpenAI's clients are told: %d %+v", response.StatusCode, got.Error)
			}
			if (response.Header.Get("Retry-After") != "") != c.hasRetryAfter || response.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("headers %v", response.Header)
			}

			_, text := w.do("POST", "/api/chat", object{"message": "hi", "agentId": "clerk"})
			if !strings.Contains(text, `"type":"error"`) || !strings.Contains(text, c.sentence) || !strings.Contains(text, `"code":"`+c.page+`"`) {
				t.Errorf("the chat is told: %s", text)
			}

			session := w.session()
			w.talk(session, "hi")
			var feed struct{ Events []json.RawMessage }
			w.want(http.StatusOK, &feed, "GET", "/api/sessions/"+session+"/events?before=&limit=50", nil)
			for _, kind := range []string{"run_failed", "model_failed"} {
				why := causeIn(t, feed.Events, kind)
				if name == "413" && kind == "model_failed" { // the engine makes room and tries again, as for a full window
					continue
				}
				if why.Code != c.page || why.Problem == nil || !strings.Contains(why.Problem.Sentence, c.sentence) || why.Problem.Next == "" || why.Problem.Details != "" {
					t.Errorf("%s says: %+v %+v", kind, why, why.Problem)
				}
			}
		})
	}
}

// causeIn returns the cause in the event of a kind.
func causeIn(t *testing.T, events []json.RawMessage, kind string) cause {
	t.Helper()
	for _, data := range events {
		var e struct {
			Kind string
			Body struct{ Cause cause }
		}
		if json.Unmarshal(data, &e) == nil && e.Kind == kind {
			return e.Body.Cause
		}
	}
	t.Fatalf("no %s in %s", kind, events)
	return cause{}
}

func TestPassingFailuresMayBeTriedAgain(t *testing.T) {
	p := modelProblem(&troupe.ModelError{Status: 503, Reason: "overloaded", Temporary: true, RetryAfter: 1500 * time.Millisecond})
	if p.Status != 503 || p.headers["X-Should-Retry"] != "true" || p.headers["Retry-After"] != "2" {
		t.Errorf("%+v", p)
	}
	if p := modelProblem(errors.New("a file is gone")); p != nil {
		t.Errorf("%+v", p)
	}
}

// Every code of the catalogue has a status.
func TestEveryModelProblemHasAStatus(t *testing.T) {
	for _, reason := range []string{"key", "money", "model", "too_large", "context", "rate", "overloaded", "refused", "unreachable", "certificate", "timeout", "incomplete", "schema", "request"} {
		if p := modelProblem(&troupe.ModelError{Reason: reason}); p == nil || p.Status < 400 || p.code == "" || p.Code == "" || p.Next == "" {
			t.Errorf("%s: %+v", reason, p)
		}
	}
	if p := modelProblem(&troupe.OutputError{Agent: "a", Problem: "no JSON"}); p == nil || p.code != "output" {
		t.Errorf("%+v", p)
	}
}
