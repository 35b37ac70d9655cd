package models_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// A slowServer takes its time to begin an answer, and again in the middle of it.
type slowServer struct{ begin, silence time.Duration }

// RoundTrip implements [http.RoundTripper].
func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, answer := io.Pipe()
	go func() {
		write := func(text string) { fmt.Fprintf(answer, "data: %s\n\n", text) }
		wait := func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-r.Context().Done():
				answer.CloseWithError(r.Context().Err())
			}
		}
		wait(s.begin)
		write(`{"choices":[{"index":0,"delta":{"content":"one "}}]}`)
		wait(s.silence)
		write(`{"choices":[{"index":0,"delta":{"content":"two"},"finish_reason":"stop"}]}`)
		write("[DONE]")
		answer.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}, nil
}

// Servers of one's own are waited for longer, and every one for as long as troupe.yaml says.
func TestHowLongModelsAreWaitedFor(t *testing.T) {
	const here, far = "http://127.0.0.1:1/v1", "http://models.example/v1"
	for name, c := range map[string]struct {
		url, set string
		slow     slowServer
		answers  bool
	}{
		"here":               {here, "", slowServer{29 * time.Minute, 9 * time.Minute}, true},
		"here, no beginning": {here, "", slowServer{31 * time.Minute, 0}, false},
		"here, no end":       {here, "", slowServer{0, 11 * time.Minute}, false},
		"far":                {far, "", slowServer{4 * time.Minute, 50 * time.Second}, true},
		"far, no beginning":  {far, "", slowServer{6 * time.Minute, 0}, false},
		"far, no end":        {far, "", slowServer{0, 70 * time.Second}, false},
		"set":                {far, "begin_timeout: 1h, idle_timeout: 20m", slowServer{59 * time.Minute, 19 * time.Minute}, true},
		"set, no beginning":  {here, "begin_timeout: 1m, idle_timeout: 20s", slowServer{61 * time.Second, 0}, false},
		"set, no end":        {here, "begin_timeout: 1m, idle_timeout: 20s", slowServer{0, 21 * time.Second}, false},
		"set, too long":      {here, "answer_timeout: 2m", slowServer{time.Minute, 61 * time.Second}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			yaml := fmt.Sprintf("providers: {own: {base_url: %q, models: {m: {window: 9000}}, %s}}", c.url, c.set)
			chooser := chooser(t, "own/m", yaml, "")
			chooser.Client = &http.Client{Transport: c.slow}
			opened, err := chooser.Open(chooser.For(""))
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			var failure error
			for chunk, err := range opened.Model.Generate(t.Context(), &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hi"}}}) {
				text.WriteString(chunk.Text)
				failure = err
			}
			e, isLate := errors.AsType[*troupe.ModelError](failure)
			if c.answers && (failure != nil || text.String() != "one two") {
				t.Errorf("%s: %q, %v", name, &text, failure)
			}
			if !c.answers && (!isLate || e.Reason != "timeout") {
				t.Errorf("%s: %q, %v: it should have been given up", name, &text, failure)
			}
		})
	}
}
