package openai

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is all that came of one request.
type heard struct {
	Text, Thought, Refusal string
	Calls                  []troupe.ToolCall
	End                    *troupe.End
	Err                    error
	order                  string // one letter for each chunk
}

func listen(ctx context.Context, m troupe.Model, req *troupe.Request) heard {
	var h heard
	for chunk, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			h.Err = err
			h.order += "x"
		case chunk.Growing != "":
		case chunk.Call != nil:
			h.Calls = append(h.Calls, *chunk.Call)
			h.order += "c"
		case chunk.End != nil:
			h.End = chunk.End
			h.order += "e"
		case chunk.Thought != "":
			h.order += "h"
		case chunk.Text != "":
			h.order += "t"
		default:
			h.order += "r"
		}
		h.Text += chunk.Text
		h.Thought += chunk.Thought
		h.Refusal += chunk.Refusal
	}
	return h
}

// canned is a transport that gives one answer to every request.
type canned struct {
	status int
	header http.Header
	body   string
	sent   []string
	url    string      // of the last request
	got    http.Header // of the last request
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.sent = append(c.sent, string(body))
	c.url, c.got = r.URL.String(), r.Header
	return &http.Response{
		StatusCode: c.status, Header: c.header, Request: r,
		Body: io.NopCloser(strings.NewReader(c.body)), ContentLength: -1,
	}, nil
}

func stream200(body string) *canned {
	return &canned{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: body}
}

func newModel(t testing.TB, transport http.RoundTripper) *Model {
	t.Helper()
	m, err := New(Config{BaseURL: "http://model.test/v1", Model: "m", Key: "sk-canary-1234", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() *troupe.Request {
	return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hello"}}}
}
