package troupetest

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxServedBody bounds the requests a Server takes.
const maxServedBody = 64 << 20

// A Server is a model server that answers by plan, and misbehaves by plan. It speaks
// the API that it is spoken to with: chat completions, Anthropic's Messages, OpenAI's
// Responses, Google's generateContent or Ollama's own; shapes and places of errors are
// of chat completions. It is as strict as the strictest provider: it fails the
// test, and answers with an error, when it gets a request that the plan does not
// have, or a conversation in which calls and results do not match. It also fails
// the test if some of the plan is left when the test ends.
type Server struct {
	// URL is the base URL for clients of all APIs. It ends in /v1.
	URL string

	tb       testing.TB
	client   *http.Client
	handlers sync.WaitGroup

	mu     sync.Mutex
	plan   []Exchange
	asked  []ServedRequest
	closed bool
}

// A ServedRequest is a request that a Server got.
type ServedRequest struct {
	Header http.Header
	Body   []byte
}

// NewServer starts a server on a loopback port. It ends with the test.
func NewServer(tb testing.TB, plan ...Exchange) *Server {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen on loopback: %v", err)
	}
	return newServer(tb, listener, listener.Addr().String(), &http.Transport{}, plan)
}

// NewPipeServer starts a server that is reached in memory, through [Server.Client]
// only. It has no sockets, so it also works in a bubble of [testing/synctest],
// where sockets would stop the fake clock.
func NewPipeServer(tb testing.TB, plan ...Exchange) *Server {
	tb.Helper()
	listener := newPipeListener()
	return newServer(tb, listener, "model.test", &http.Transport{DialContext: listener.dial}, plan)
}

func newServer(tb testing.TB, listener net.Listener, host string, transport *http.Transport, plan []Exchange) *Server {
	s := &Server{URL: "http://" + host + "/v1", tb: tb, client: &http.Client{Transport: transport}, plan: slices.Clone(plan)}
	web := &http.Server{Handler: http.HandlerFunc(s.handle), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { web.Serve(listener) })
	tb.Cleanup(func() {
		s.close()
		transport.CloseIdleConnections()
		web.Close()
		serving.Wait()
		s.handlers.Wait()
	})
	return s
}

// Client returns a client that reaches the server.
func (s *Server) Client() *http.Client { return s.client }

// Requests returns what the server has got so far, refused requests included.
func (s *Server) Requests() []ServedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// close takes no more requests and says what is left of the plan.
func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	left := slices.DeleteFunc(s.plan, func(e Exchange) bool { return e.forever })
	if len(left) > 0 && !s.tb.Failed() && !s.tb.Skipped() {
		s.tb.Errorf("model server: %d of the planned requests never came; the next was to get %s", len(left), left[0].name)
	}
}

// handle answers a request by plan.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxServedBody))
	if err != nil {
		return // the client is gone
	}
	if !s.begin() {
		return // the test is over
	}
	defer s.handlers.Done()
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"object":"list","data":[]}`)
		return // whoever asks what there is gets an answer, and it is no part of the plan
	}
	e, speaks, refusal := s.next(r, body)
	if refusal != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, encode(object{"error": object{"message": refusal, "type": "invalid_request_error", "code": nil}}))
		return
	}
	e.answer(w, r, speaks, body)
}

// begin counts a request in, unless the server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

// next records a request and takes its exchange from the plan, or says why it is refused.
func (s *Server) next(r *http.Request, body []byte) (e Exchange, speaks protocol, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, ServedRequest{r.Header.Clone(), body})
	speaks, served := protocolOf(r)
	switch {
	case !served:
		refusal = fmt.Sprintf("%s %s is not served here", r.Method, r.URL.Path)
	case len(s.plan) == 0:
		refusal = fmt.Sprintf("request %d is not in the plan", len(s.asked))
	default:
		refusal = speaks.refusal(body)
	}
	if refusal != "" {
		s.tb.Errorf("model server: %s; the request was %.2000s", refusal, body)
		return Exchange{}, speaks, refusal
	}
	e = s.plan[0]
	if !e.forever {
		s.plan = s.plan[1:]
	}
	return e, speaks, ""
}
