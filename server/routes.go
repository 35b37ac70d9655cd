package server

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// A route is a row of the table of all routes.
type route struct {
	method, path string
	// summary says what it is for, query which parameters it takes.
	summary string
	query   []parameter
	// open routes need no token: they show nothing and change nothing.
	open bool
	endpoint
}

// A parameter is one of a route's query.
type parameter struct{ name, description string }

// routes returns the table, but for the page.
func routes() []route {
	after := []parameter{{"after", "the number of the last event that is known already; Last-Event-ID takes precedence"}}
	asFile := []parameter{{"raw", "as plain text"}, {"html", "markdown as a fragment of HTML"}}
	chosen := []parameter{
		{"agent", "only of this agent"}, {"since", "since then: 2h, 2026-01-31, or a time as in 2026-01-31T12:00:00Z"}, {"limit", "at most so many"},
	}
	sessions := append([]parameter{{"q", "only those in which these words are"}, {"status", "only those that stand so"}}, chosen...)
	logs := append([]parameter{
		{"q", "only what has these words"}, {"session", "only in this session"}, {"tool", "only calls of this tool"},
		{"level", "debug, info, warn or error, and what is more serious"}, {"errors", "only what failed"},
		{"until", "before then"}, {"before", "only hits of a smaller number than this one's"},
	}, chosen...)
	return []route{
		{"GET", "/healthz", "Says that the server is alive.", nil, true, reply(http.StatusOK, (*Server).health)},
		{"GET", "/readyz", "Says whether the server can do its work.", nil, false, reply(http.StatusOK, (*Server).ready)},
		{"GET", "/metrics", "Shows metrics in Prometheus' text format.", nil, false, send("text/plain", (*Server).showMetrics)},
		{"POST", "/api/login", "Exchanges a token for a cookie.", nil, true, accept(http.StatusNoContent, (*Server).logIn)},
		{"GET", "/api/openapi.json", "Describes the routes.", nil, false, send("application/json", (*Server).showOpenAPI)},

		{"GET", "/api/agents", "Lists the agents.", nil, false, reply(http.StatusOK, (*Server).listAgents)},
		{"GET", "/api/flows", "Lists the flows.", nil, false, reply(http.StatusOK, (*Server).listFlows)},
		{"POST", "/api/flows/{name}/runs", "Runs a flow in a session of its own.", nil, false, accept(http.StatusAccepted, (*Server).runFlow).large()},
		{"POST", "/api/deliveries", "Takes a request through the phases of the pipeline.", nil, false, accept(http.StatusAccepted, (*Server).deliver)},

		{"GET", "/api/sessions", "Lists sessions, the latest first.", sessions, false, reply(http.StatusOK, (*Server).listSessions)},
		{"POST", "/api/sessions", "Makes a session, which begins with its first message.", nil, false, accept(http.StatusCreated, (*Server).createSession)},
		{"GET", "/api/sessions/{id}", "Shows a session at a glance.", nil, false, reply(http.StatusOK, (*Server).showSession)},
		{"PATCH", "/api/sessions/{id}", "Gives a session another title.", nil, false, accept(http.StatusOK, (*Server).renameSession)},
		{"DELETE", "/api/sessions/{id}", "Deletes a session with its files.", nil, false, reply(http.StatusNoContent, (*Server).deleteSession)},
		{"POST", "/api/sessions/{id}/messages", "Says something, which begins a run. Idempotency-Key is respected.", nil, false, accept(http.StatusAccepted, (*Server).postMessage).large()},
		{"GET", "/api/sessions/{id}/events", "Follows the session's events, without an end.", after, false, send("text/event-stream", (*Server).followEvents)},
		{"POST", "/api/sessions/{id}/cancel", "Stops the session's run.", nil, false, reply(http.StatusNoContent, (*Server).cancelRun)},
		{"POST", "/api/sessions/{id}/resume", "Goes on with a run that was stopped, failed or interrupted.", nil, false, reply(http.StatusAccepted, (*Server).resumeRun)},
		{"POST", "/api/sessions/{id}/fork", "Begins a new session with the events of this one up to a number.", nil, false, accept(http.StatusCreated, (*Server).forkSession)},
		{"GET", "/api/sessions/{id}/files", "Lists the session's files.", nil, false, reply(http.StatusOK, (*Server).listFiles)},
		{"GET", "/api/sessions/{id}/files/{path...}", "Sends one of the session's files.", asFile, false, send("application/octet-stream", (*Server).sendFile)},

		{"GET", "/api/logs", "Finds events of all sessions, the latest first.", logs, false, reply(http.StatusOK, (*Server).findLogs)},
		{"POST", "/api/chat", "Says something and streams the answer.", nil, false, stream((*Server).chat).large()},
		{"GET", "/v1/models", "Lists agents and flows as OpenAI lists models.", nil, false, reply(http.StatusOK, (*Server).listModels)},
		{"GET", "/v1/models/{model}", "Shows an agent or a flow as OpenAI shows a model.", nil, false, reply(http.StatusOK, (*Server).showModel)},
		{"POST", "/v1/chat/completions", "Answers as OpenAI's API does, in pieces or at once.", nil, false, stream((*Server).complete).large().lenient().or(typeOf[completion]())},
	}
}

// pageRoute is the route of the page's files.
var pageRoute = route{"GET", "/{path...}", "Sends a file of the page.", nil, true, send("text/html", (*Server).sendPage)}

// An endpoint is what a route does, with the types that its JSON is of: nil for
// none.
type endpoint struct {
	in, out reflect.Type
	status  int
	media   string // of what is sent
	// big requests may have attachments, loose ones fields that nobody reads.
	big, loose bool
	do         func(*Server, *call) error
	check      *argcheck.Schema // of the body, where there is one
}

// none is the answer that has no body.
type none struct{}

// reply is the endpoint of requests without a body.
func reply[Out any](status int, f func(*Server, *call) (Out, error)) endpoint {
	return endpoint{out: typeOf[Out](), status: status, media: "application/json", do: func(s *Server, c *call) error {
		out, err := f(s, c)
		return c.answer(status, out, err)
	}}
}

// accept is the endpoint of requests with a body.
func accept[In, Out any](status int, f func(*Server, *call, In) (Out, error)) endpoint {
	e := stream(func(s *Server, c *call, in In) error {
		out, err := f(s, c, in)
		return c.answer(status, out, err)
	})
	e.out, e.status, e.media = typeOf[Out](), status, "application/json"
	return e
}

// send is the endpoint that writes its answer itself.
func send(media string, f func(*Server, *call) error) endpoint {
	return endpoint{status: http.StatusOK, media: media, do: f}
}

// stream is send for requests with a body, and as a rule for events.
func stream[In any](f func(*Server, *call, In) error) endpoint {
	e := endpoint{in: typeOf[In](), status: http.StatusOK, media: "text/event-stream"}
	e.do = func(s *Server, c *call) error {
		var in In
		if err := s.decode(c, &in); err != nil {
			return err
		}
		return f(s, c, in)
	}
	return e
}

func (e endpoint) large() endpoint   { e.big = true; return e }
func (e endpoint) lenient() endpoint { e.loose = true; return e }

// or says that the answer may also be JSON.
func (e endpoint) or(out reflect.Type) endpoint { e.out = out; return e }

func typeOf[T any]() reflect.Type {
	if t := reflect.TypeFor[T](); t != reflect.TypeFor[none]() {
		return t
	}
	return nil
}

// serving returns the handler of a route.
func (s *Server) serving(r *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithCancel(request.Context())
		defer cancel() // which tells runs that nobody reads what they say
		c := &call{w: w.(*response), r: request.WithContext(ctx), route: r}
		if err := s.admit(c, r); err != nil {
			s.fail(c, err)
		} else if err := r.do(s, c); err != nil {
			s.fail(c, err)
		}
	})
}

// lost answers requests that no route is for.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"GET", "POST", "PATCH", "DELETE"} {
		other := *r
		other.Method = method
		if _, pattern := s.mux.Handler(&other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	p := refuse(http.StatusNotFound, "there is nothing at this address")
	if allowed != nil {
		p = refuse(http.StatusMethodNotAllowed, "this address does not know that method")
		p.headers = map[string]string{"Allow": strings.Join(allowed, ", ")}
	}
	p.write(w, r)
}
