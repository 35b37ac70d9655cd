// Package a2a offers the agents, flows and deliveries of a project to agents of others, by
// the Agent2Agent protocol: each has a card and takes tasks, which stream, ask back, survive
// a restart and are pushed to whoever wants to hear of them.
//
// A task belongs to a context, and a context is a session: its id is the session's.
package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// Path is where the agents are mounted: each at Path/NAME.
const Path = "/a2a"

// cardSuffix is where the card of an agent is, as the protocol says.
const cardSuffix = a2asrv.WellKnownAgentCardPath

// A Config is what a server is made of.
type Config struct {
	Project *project.Project
	// Version is that of the program, for the cards.
	Version string
	// URL is where others reach the server. Default: as the request for the card did.
	URL string
	// Enter makes room for a run of a user: see [server.Server.Enter]. Default: there is room.
	Enter func(ctx context.Context, user string) (run context.Context, leave func(), err error)
	// Push sends what is pushed. Default: nothing is pushed.
	Push *http.Client
	// Log defaults to nothing.
	Log *slog.Logger
}

// A Server offers a project. It may be used concurrently.
type Server struct {
	config  Config
	engine  *troupe.Engine
	folders *outputs.Folders
	shelf   server.Shelf

	mu    sync.Mutex
	desks map[deskKey]*desk
}

// A desk is an agent as one user sees it.
type desk struct {
	current, older http.Handler // of the protocol's versions 1.0 and 0.3
}

type deskKey struct{ agent, user string }

// New returns a server for a project, which must outlive it.
func New(ctx context.Context, c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Enter == nil {
		c.Enter = func(ctx context.Context, _ string) (context.Context, func(), error) { return ctx, func() {}, nil }
	}
	engine, err := c.Project.Engine(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := c.Project.Store(ctx)
	if err != nil {
		return nil, err
	}
	shelf, err := c.Project.Shelf(ctx)
	if err != nil {
		return nil, err
	}
	return &Server{config: c, engine: engine, folders: folders, shelf: shelf, desks: map[deskKey]*desk{}}, nil
}

// Handler serves everything below [Path]: the list of agents, their cards, and the
// agents. Whoever mounts it says whose a request is.
func (s *Server) Handler(userOf func(*http.Request) string) http.Handler {
	isOffered := func(name string) bool {
		_, ok := s.find(name)
		return ok
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest := strings.TrimPrefix(r.URL.Path, Path)
		name, place, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		switch {
		case name == "" && r.Method == http.MethodGet:
			s.listAgents(w, r)
		case "/"+place == cardSuffix && r.Method == http.MethodGet:
			s.sendCard(w, r, name)
		case place == "" && r.Method == http.MethodPost && isOffered(name):
			s.serve(s.deskOf(name, userOf(r)), w, r)
		default:
			http.Error(w, `{"error":"there is no such agent, and nothing else here: GET `+Path+` lists the agents"}`, http.StatusNotFound)
		}
	})
}

// deskOf returns the agent as a user sees it.
func (s *Server) deskOf(agent, user string) *desk {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := deskKey{agent, user}
	if d := s.desks[key]; d != nil {
		return d
	}
	tasks := &tasks{server: s, agent: agent, user: user, live: map[string]*liveTask{}}
	options := []a2asrv.RequestHandlerOption{a2asrv.WithTaskStore(tasks), a2asrv.WithLogger(s.config.Log)}
	if s.config.Push != nil {
		options = append(options, a2asrv.WithPushNotifications(&pushConfigs{s.shelf, user}, &pusher{s.config.Push, s.config.Log}))
	}
	handler := a2asrv.NewHandler(&worker{server: s, agent: agent, user: user}, options...)
	d := &desk{current: a2asrv.NewJSONRPCHandler(handler), older: a2av0.NewJSONRPCHandler(handler)}
	s.desks[key] = d
	return d
}

// serve has a request answered in the version of the protocol that it speaks: methods of
// the older one have a slash in their names.
func (s *Server) serve(d *desk, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, `{"error":"the request did not arrive"}`, http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(asRead(body)))
	w = flushing{w, http.NewResponseController(w)}
	var asked struct {
		Method string `json:"method"`
	}
	// A request that is no JSON is refused by whoever is to answer it.
	if json.Unmarshal(body, &asked) == nil && strings.Contains(asked.Method, "/") {
		d.older.ServeHTTP(w, r)
		return
	}
	d.current.ServeHTTP(w, r)
}

// baseOf is where others reach the server.
func (s *Server) baseOf(r *http.Request) string {
	if s.config.URL != "" {
		return strings.TrimSuffix(s.config.URL, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	// Whoever asks is told where it has asked, and nobody else: a proxy says how it was reached.
	if said := r.Header.Get("X-Forwarded-Proto"); said == "http" || said == "https" {
		scheme = said
	}
	return scheme + "://" + r.Host + prefixOf(r)
}

// plainPath is what a proxy may have taken away of a path.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// prefixOf is the path below which a proxy serves all of this, empty for none.
func prefixOf(r *http.Request) string {
	if said := strings.TrimSuffix(r.Header.Get("X-Forwarded-Prefix"), "/"); plainPath.MatchString(said) {
		return said
	}
	return ""
}

// A flushing writer can be flushed by those who look for the method.
type flushing struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Flush implements [http.Flusher].
func (f flushing) Flush() { f.control.Flush() }

// Unwrap is for [http.ResponseController].
func (f flushing) Unwrap() http.ResponseWriter { return f.ResponseWriter }
