// Package wiretest has what the tests of model clients share: recorded traffic with
// the facts about it, transports that give canned answers, and a listener.
package wiretest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Heard is all that came of one request.
type Heard struct {
	Text, Thought, Refusal string
	Calls                  []troupe.ToolCall
	End                    *troupe.End
	Err                    error
	// Order has one letter for each chunk: h a thought, t text, r a refusal, c a
	// call, p progress, e the end, x an error, and w before one that says that the text
	// so far was thought.
	Order string
}

// Listen asks a model and hears its answer to the end.
func Listen(ctx context.Context, m troupe.Model, req *troupe.Request) Heard {
	var h Heard
	for chunk, err := range m.Generate(ctx, req) {
		letter := "r"
		switch {
		case err != nil:
			h.Err, letter = err, "x"
		case chunk.Growing != "":
			letter = "p"
		case chunk.Call != nil:
			h.Calls = append(h.Calls, *chunk.Call)
			letter = "c"
		case chunk.End != nil:
			h.End, letter = chunk.End, "e"
		case chunk.Thought != "":
			letter = "h"
		case chunk.Text != "":
			letter = "t"
		}
		if chunk.WasThought {
			h.Order += "w"
			h.Thought, h.Text = h.Thought+strings.TrimRight(h.Text, " \t\r\n"), ""
		}
		h.Order += letter
		h.Text += chunk.Text
		h.Thought += chunk.Thought
		h.Refusal += chunk.Refusal
	}
	return h
}

// Message is the answer as the conversation has it from then on.
func (h *Heard) Message() *troupe.Message {
	m := &troupe.Message{Role: troupe.RoleAssistant, Text: h.Text, Thought: h.Thought, Refusal: h.Refusal, Calls: h.Calls}
	if h.End != nil {
		m.ThoughtField, m.Opaque = h.End.ThoughtField, h.End.Opaque
	}
	return m
}

// Hello is a request that asks for next to nothing.
func Hello() *troupe.Request {
	return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hello"}}}
}

// Canned is a transport that gives the same answer to every request, or the answers
// of Then after it, one each.
type Canned struct {
	Status int
	Header http.Header
	Body   string
	Then   []*Canned

	mu   sync.Mutex
	sent []Sent
}

// Sent is a request as it was sent.
type Sent struct {
	URL, Body string
	Header    http.Header
}

// Stream is a good answer with events.
func Stream(body string) *Canned {
	return &Canned{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}
}

// RoundTrip gives the answer.
func (c *Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c
	if n := len(c.sent); n > 0 && len(c.Then) > 0 {
		answer = c.Then[min(n, len(c.Then))-1]
	}
	c.sent = append(c.sent, Sent{r.URL.String(), string(body), r.Header})
	return &http.Response{
		StatusCode: answer.Status, Header: answer.Header.Clone(), Request: r,
		Body: io.NopCloser(strings.NewReader(answer.Body)), ContentLength: -1,
	}, nil
}

// Client is a client with the transport.
func (c *Canned) Client() *http.Client { return &http.Client{Transport: c} }

// Sent returns the requests so far.
func (c *Canned) Sent() []Sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// An Ending is what a server does after its last piece.
type Ending int

// The endings.
const (
	Close Ending = iota // the answer ends properly
	Stall               // nothing more comes
)

// Serve starts a server that gives every request the same answer, piece by piece.
func Serve(t testing.TB, status int, contentType string, ending Ending, pieces ...string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		for _, piece := range pieces {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
		if ending == Stall {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	return s
}
