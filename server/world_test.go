package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/internal/sse"
	"github.com/troupe-dev/troupe/outputs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tokens of the tests' users.
const (
	tokenOfAnn = "token-of-ann-0123456789-0123456789"
	tokenOfBob = "token-of-bob-0123456789-0123456789"
)

// A world is a server with what it needs, reached as a client reaches it.
type world struct {
	t       testing.TB
	config  Config
	server  *Server
	store   *outputs.Folders
	log     *lockedBuffer
	url     string
	token   string
	client  *http.Client
	dir     string
	stopped chan error
	stop    context.CancelFunc
}

// cast is a Cast by hand: agents by name, and what making one does.
type cast map[string]func() (troupe.Step, error)

func (c cast) Agents() []Agent {
	return []Agent{{ID: "clerk", Name: "Clerk", EntryPoint: true, Commands: []Command{}}}
}
func (c cast) Flows() []Flow {
	return []Flow{{Name: "round", Description: "One after the other.", Tree: "round\n└─ clerk\n"}}
}
func (c cast) Step(_ context.Context, name string) (troupe.Step, error) {
	if c[name] == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrUnknown)
	}
	return c[name]()
}

// clerk is a cast of one agent that speaks with a model.
func clerk(t testing.TB, model troupe.Model, tools ...troupe.Tool) cast {
	t.Helper()
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: "You are a clerk.", Model: model, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	round := flow.Sequence("round", agent)
	return cast{
		"clerk":  func() (troupe.Step, error) { return agent, nil },
		"round":  func() (troupe.Step, error) { return round, nil },
		Pipeline: func() (troupe.Step, error) { return flow.Sequence(Pipeline, agent), nil },
	}
}

func echo() troupe.Model {
	return modelFunc(func(_ context.Context, req *troupe.Request, say func(string)) error {
		say("You said: ")
		say(req.Messages[len(req.Messages)-1].Text)
		return nil
	})
}

// A modelFunc is a model that says pieces of text.
type modelFunc func(ctx context.Context, req *troupe.Request, say func(text string)) error

func (f modelFunc) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		wanted := true
		err := f(ctx, req, func(text string) { wanted = wanted && yield(troupe.Chunk{Text: text}, nil) })
		switch {
		case !wanted:
		case err != nil:
			yield(troupe.Chunk{}, err)
		default:
			yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop, Usage: troupe.Usage{Input: 7, Output: 3}, Model: "stub"}}, nil)
		}
	}
}

// gated is a model whose every answer waits for a word on the channel, after it has
// said the beginning.
func gated(words <-chan string) troupe.Model {
	return modelFunc(func(ctx context.Context, _ *troupe.Request, say func(string)) error {
		say("Well: ")
		select {
		case word := <-words:
			say(word)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// An option changes a world's configuration.
type option func(*Config)

func withUsers(c *Config) { c.Users = map[string]string{"ann": tokenOfAnn, "bob": tokenOfBob} }

// open starts a server on a loopback port.
func open(t testing.TB, cast Cast, options ...option) *world {
	t.Helper()
	w := newWorld(t, cast, options...)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.serve(listener, &http.Transport{})
	return w
}

func newWorld(t testing.TB, cast Cast, options ...option) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), log: &lockedBuffer{}}
	var err error
	if w.store, err = outputs.Keep(troupe.NewMemoryStore(), w.dir, outputs.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	engine, err := troupe.New(troupe.Config{Store: w.store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	w.config = Config{
		Engine: engine, Store: w.store, Cast: cast, Folders: w.store, Logs: w.logs,
		Page: fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>Troupe</title>")}, "app.js": {Data: []byte("1")}},
		Log:  slog.New(slog.NewTextHandler(w.log, nil)),
	}
	for _, option := range options {
		option(&w.config)
	}
	w.renew()
	return w
}

// renew makes another server of the same parts, as a restart does.
func (w *world) renew() {
	w.t.Helper()
	var err error
	if w.server, err = New(w.config); err != nil {
		w.t.Fatal(err)
	}
	if w.token = w.server.Token(); w.token == "" {
		w.token = tokenOfAnn
	}
}

func (w *world) serve(listener net.Listener, transport *http.Transport) {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop, w.stopped = cancel, make(chan error, 1)
	w.url, w.client = "http://"+listener.Addr().String(), &http.Client{Transport: transport}
	server, stopped := w.server, w.stopped
	go func() { stopped <- server.Serve(ctx, listener) }()
	w.t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-stopped; err != nil {
			w.t.Error(err)
		}
	})
}

// logs searches the store as a full-text index does, only slower.
func (w *world) logs(ctx context.Context, q LogQuery) iter.Seq2[LogHit, error] {
	return func(yield func(LogHit, error) bool) {
		for info, err := range w.store.Sessions(ctx, troupe.SessionFilter{ID: q.Session}) {
			if err != nil {
				yield(LogHit{}, err)
				return
			}
			for e, err := range w.store.Events(ctx, info.ID, 0) {
				data, _ := json.Marshal(e)
				if strings.Contains(string(data), strings.TrimSuffix(q.Text, "*")) && !yield(LogHit{e.Seq, e}, err) {
					return
				}
			}
		}
	}
}

// A header changes a request.
type header func(*http.Request)

func as(token string) header { return with("Authorization", "Bearer "+token) }

func with(name, value string) header {
	return func(r *http.Request) {
		if name == "Host" {
			r.Host = value
		} else if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
}

// send sends a request. A body that is not a text is sent as JSON.
func (w *world) send(ctx context.Context, method, path string, body any, headers ...header) *http.Response {
	w.t.Helper()
	text, isText := body.(string)
	if body != nil && !isText {
		data, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		text = string(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	if text != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	as(w.token)(r)
	for _, set := range headers {
		set(r)
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return response
}

// do sends a request and returns the status and the body of the answer.
func (w *world) do(method, path string, body any, headers ...header) (int, string) {
	w.t.Helper()
	response := w.send(w.t.Context(), method, path, body, headers...)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// want sends a request that must be answered with a status, and decodes the answer.
func (w *world) want(status int, out any, method, path string, body any, headers ...header) {
	w.t.Helper()
	got, text := w.do(method, path, body, headers...)
	if got != status {
		w.t.Fatalf("%s %s: status %d, want %d: %s", method, path, got, status, text)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
}

// session makes a session.
func (w *world) session(headers ...header) string {
	w.t.Helper()
	var made troupe.SessionInfo
	w.want(http.StatusCreated, &made, "POST", "/api/sessions", newSession{Agent: "clerk"}, headers...)
	return made.ID
}

// say posts a message and returns its run.
func (w *world) say(session, text string, headers ...header) string {
	w.t.Helper()
	var started started
	w.want(http.StatusAccepted, &started, "POST", "/api/sessions/"+session+"/messages", message{Text: text}, headers...)
	return started.Run
}

// talk posts a message and waits until the run has ended.
func (w *world) talk(session, text string, headers ...header) []troupe.Event {
	w.t.Helper()
	before := int64(0) // the last event of what was said before
	for e, err := range w.store.Events(w.t.Context(), session, 0) {
		if err == nil {
			before = e.Seq
		}
	}
	w.say(session, text, headers...)
	return w.follow(session, 0, headers...).until(func(e *troupe.Event) bool { return e.Seq > before && ends(e) })
}

// A follower reads a session's events.
type follower struct {
	t      testing.TB
	body   io.ReadCloser
	reader *sse.Reader
	last   string // the id of the last event that had one
}

func (w *world) follow(session string, after int64, headers ...header) *follower {
	w.t.Helper()
	return w.stream("GET", "/api/sessions/"+session+"/events?after="+strconv.FormatInt(after, 10), nil, headers...)
}

func (w *world) stream(method, path string, body any, headers ...header) *follower {
	w.t.Helper()
	response := w.send(context.Background(), method, path, body, headers...)
	if media := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || media != "text/event-stream" {
		data, _ := io.ReadAll(response.Body)
		w.t.Fatalf("%s: status %d, %s: %s", path, response.StatusCode, media, data)
	}
	f := &follower{t: w.t, body: response.Body, reader: sse.NewReader(response.Body, 0)}
	w.t.Cleanup(f.leave)
	return f
}

func (f *follower) leave() { f.body.Close() }

// next returns the data of the next event.
func (f *follower) next() string {
	f.t.Helper()
	e, err := f.reader.Next()
	if err != nil {
		f.t.Fatalf("the stream ended: %v", err)
	}
	f.last = string(e.ID)
	return string(e.Data)
}

func (f *follower) event() troupe.Event {
	f.t.Helper()
	var e troupe.Event
	if err := json.Unmarshal([]byte(f.next()), &e); err != nil {
		f.t.Fatal(err)
	}
	return e
}

// until returns the events up to the first that is wanted, and leaves.
func (f *follower) until(wanted func(*troupe.Event) bool) []troupe.Event {
	f.t.Helper()
	defer f.leave()
	var events []troupe.Event
	for {
		e := f.event()
		if events = append(events, e); wanted(&e) {
			return events
		}
	}
}

func ends(e *troupe.Event) bool { return e.Parent == "" && isEnd(e.Body) }

func isKind(kind string) func(*troupe.Event) bool {
	return func(e *troupe.Event) bool { return e.Kind() == kind }
}

// stored are the kinds of the events that are on record.
func stored(events []troupe.Event) string {
	var kinds []string
	for i := range events {
		if events[i].Seq > 0 {
			kinds = append(kinds, string(events[i].Kind()))
		}
	}
	return strings.Join(kinds, " ")
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A pipe is a listener in memory, for bubbles of fake time.
type pipe struct {
	dialled chan net.Conn
	closed  chan struct{}
	close   func()
}

func newPipe() *pipe {
	p := &pipe{dialled: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipe) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.dialled <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error   { p.close(); return nil }
func (p *pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "localhost" }

// openInMemory is open without sockets, which would stop fake time.
func openInMemory(t testing.TB, cast Cast, options ...option) (*world, *pipe) {
	t.Helper()
	w, p := newWorld(t, cast, options...), newPipe()
	w.serve(p, &http.Transport{DialContext: p.dial})
	return w, p
}

// slow is a tool that takes a while.
func slow(d time.Duration) troupe.Tool {
	return troupe.NewTool("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-time.After(d):
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}, troupe.Timeout(-1))
}
