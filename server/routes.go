package server

import (
	"context"
	"net/http"
	"reflect"
	"slices"
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
	// operator routes are for operators alone.
	operator bool
	endpoint
}

// A parameter is one of a route's query, or a header.
type parameter struct{ name, description string }

// routes returns the table, but for the page.
func routes() []route {
	after := []parameter{{"after", "the number of the last event that is known already; Last-Event-ID takes precedence"}}
	after = append(after, parameter{"before", "in place of a stream, a page of the events before this number, as JSON; empty for the last ones"}, parameter{"limit", "how many events a page has"}, parameter{"all", "tell how all sessions of the person stand, too, as /api/events does"})
	asFile := []parameter{{"raw", "as plain text"}, {"html", "markdown as a fragment of HTML"}, {"preview", "to be shown: pictures as they are, pages without any rights"}, {"version", "an earlier version, by its number"}}
	ofFile := []parameter{{"path", "the file's path"}}
	library := []parameter{{"q", "only those with these words in their name or text"}, {"kind", "document, data, code or image"}, {"agent", "only of conversations with this agent"}, {"by", "only those that this agent wrote last"}}
	ofDocuments := []parameter{library[0], library[1], {"agent", "only those that this agent wrote last or has read"}, library[3]}
	ofCall := []parameter{{"against", "the number of the model call to compare with; by default the one before"}, {"part", "the number of a part, from 0: its text alone, whole"}, {"as", "json: the messages as a request has them; curl: as a command, without the key"}}
	chosen := []parameter{
		{"agent", "only of this agent"}, {"since", "since then: 2h, 2026-01-31, or a time as in 2026-01-31T12:00:00Z"}, {"limit", "at most so many"},
	}
	sessions := append([]parameter{{"q", "only those in which these words are"}, {"status", "only those that stand so: running, waiting, completed, failed, cancelled, interrupted or empty"}, {"skip", "without so many of the latest"}, {"open", "and all that wait for somebody or run, however old they are"}}, chosen...)
	logs := append([]parameter{
		{"q", "only what has these words"}, {"session", "only in this session"}, {"tool", "only calls of this tool"},
		{"level", "debug, info, warn or error, and what is more serious"}, {"errors", "only what failed"},
		{"until", "before then"}, {"before", "only hits of a smaller number than this one's"},
	}, chosen...)
	return []route{
		{"GET", "/healthz", "Says that the server is alive.", nil, true, false, reply(http.StatusOK, (*Server).health)},
		{"GET", "/readyz", "Says whether the server can do its work.", nil, true, false, reply(http.StatusOK, (*Server).ready)},
		{"GET", "/metrics", "Shows metrics in Prometheus' text format, of everybody.", nil, false, true, send("text/plain", (*Server).showMetrics)},
		{"POST", "/api/login", "Exchanges a token for a cookie.", nil, true, false, accept(http.StatusNoContent, (*Server).logIn)},
		{"GET", "/api/ways", "Says how people come in.", nil, true, false, reply(http.StatusOK, (*Server).showWays)},
		{"POST", "/api/logout", "Takes the cookie away.", nil, true, false, reply(http.StatusNoContent, (*Server).logOut)},
		{"GET", "/api/openapi.json", "Describes the routes.", nil, false, false, send("application/json", (*Server).showOpenAPI)},

		{"GET", "/api/me", "Says who asks and what they may do.", nil, false, false, reply(http.StatusOK, (*Server).showMe)},
		{"GET", "/api/events", "Tells of all sessions of a person how they stand, whenever that changes: session, or gone with its id. It tells, too, when the configuration was changed (reconfigured), and when a document of the project was saved (documents).", nil, false, false, send("text/event-stream", (*Server).followPerson)},
		{"GET", "/api/search", "Finds conversations, files and tasks.", []parameter{{"q", "the words"}}, false, false, reply(http.StatusOK, (*Server).search)},
		{"GET", "/api/models", "Lists the models that a conversation may choose.", nil, false, false, reply(http.StatusOK, (*Server).listModelsOfSession)},
		{"GET", "/api/agents", "Lists the agents.", nil, false, false, reply(http.StatusOK, (*Server).listAgents)},
		{"GET", "/api/agents/{id}/instructions", "Shows what an agent's model is told before anybody speaks.", nil, false, true, reply(http.StatusOK, (*Server).showInstructions)},
		{"POST", "/api/agents/examples", "Writes the example agents into a project that has no agents.", nil, false, true, reply(http.StatusNoContent, (*Server).addExamples)},
		{"GET", "/api/flows", "Lists the flows.", nil, false, false, reply(http.StatusOK, (*Server).listFlows)},
		{"GET", "/api/flows/{name}", "Shows a flow as a graph.", nil, false, false, reply(http.StatusOK, (*Server).showFlow)},
		{"POST", "/api/flows/{name}/runs", "Runs a flow in a session of its own.", nil, false, false, accept(http.StatusAccepted, (*Server).runFlow).large().keyed()},
		{"GET", "/api/deliveries", "Lists deliveries, the latest first.", nil, false, false, reply(http.StatusOK, (*Server).listDeliveries)},
		{"POST", "/api/deliveries", "Takes a request through the phases of the pipeline.", nil, false, false, accept(http.StatusAccepted, (*Server).deliver).keyed()},
		{"GET", "/api/deliveries/usual", "Shows how requests are delivered where nobody says otherwise.", nil, false, false, reply(http.StatusOK, (*Server).showUsualDelivery)},
		{"GET", "/api/deliveries/{id}", "Shows a delivery: plan, change, checks as measured, findings and documents.", nil, false, false, reply(http.StatusOK, (*Server).showDelivery)},
		{"GET", "/api/deliveries/{id}/plan", "Shows the plan.", nil, false, false, reply(http.StatusOK, (*Server).showPlan)},
		{"PUT", "/api/deliveries/{id}/plan", "Replaces the plan, which is used from the next step on.", nil, false, false, accept(http.StatusOK, (*Server).changePlan).large()},
		{"GET", "/api/deliveries/{id}/diff", "Shows the change as a unified diff.", []parameter{{"step", "only of this step"}}, false, false, reply(http.StatusOK, (*Server).showDiff)},
		{"GET", "/api/deliveries/{id}/checks/{check}", "Shows the last output of a check, or that of one of its runs.", []parameter{{"file", "the file of a run"}}, false, false, reply(http.StatusOK, (*Server).showCheck)},
		{"POST", "/api/deliveries/{id}/continue", "Goes on with a delivery that has come to its end.", nil, false, false, accept(http.StatusAccepted, (*Server).continueDelivery).keyed()},
		{"POST", "/api/deliveries/{id}/act", "Takes a delivery's branch into the checkout, or takes that back.", nil, false, true, accept(http.StatusOK, (*Server).actOnDelivery)},
		{"DELETE", "/api/deliveries/{id}/result", "Removes for good what a delivery has built: its branch and its worktree. Its session and documents stay.", []parameter{{"written", "as the session was shown with when somebody decided to drop it; 409 if something was done since"}}, false, true, reply(http.StatusNoContent, (*Server).dropResult)},

		{"GET", "/api/sessions", "Lists sessions, the latest first.", sessions, false, false, reply(http.StatusOK, (*Server).listSessions)},
		{"POST", "/api/sessions", "Makes a session, which begins with its first message.", nil, false, false, accept(http.StatusCreated, (*Server).createSession).keyed()},
		{"GET", "/api/sessions/{id}", "Shows a session at a glance.", nil, false, false, reply(http.StatusOK, (*Server).showSession)},
		{"PATCH", "/api/sessions/{id}", "Changes a session's title, model, or what people noted of it.", nil, false, false, accept(http.StatusOK, (*Server).changeSession)},
		{"DELETE", "/api/sessions/{id}", "Deletes a session with its files.", []parameter{{"stop", "stop its run first, if there is one, in place of 409"}, {"written", "as the session was shown with when somebody decided to delete it: 409 (written) if somebody has written in it since"}}, false, false, reply(http.StatusNoContent, (*Server).deleteSession)},
		{"POST", "/api/sessions/{id}/messages", "Says something, which begins a run. Idempotency-Key is respected.", nil, false, false, accept(http.StatusAccepted, (*Server).postMessage).large().keyed()},
		{"GET", "/api/sessions/{id}/events", "Follows the session's events, without an end.", after, false, false, send("text/event-stream", (*Server).followEvents).header("Last-Event-ID", "the number of the last event that is known already, as browsers say it that come back")},
		{"POST", "/api/sessions/{id}/answers", "Answers the question that a run has ended with.", nil, false, false, accept(http.StatusAccepted, (*Server).postAnswer).keyed()},
		{"POST", "/api/sessions/{id}/seen", "Notes that what there is was seen.", nil, false, false, reply(http.StatusNoContent, (*Server).seeSession)},
		{"GET", "/api/sessions/{id}/queue", "Shows what is said once the run has ended.", nil, false, false, reply(http.StatusOK, (*Server).showQueue)},
		{"PATCH", "/api/sessions/{id}/queue/{n}", "Changes a message of the queue, or says it now.", nil, false, false, accept(http.StatusOK, (*Server).changeQueued)},
		{"DELETE", "/api/sessions/{id}/queue/{n}", "Takes a message out of the queue.", nil, false, false, reply(http.StatusNoContent, (*Server).removeQueued)},
		{"GET", "/api/sessions/{id}/explain", "Says what each model call of a session took and cost, and why its runs ended; of one turn, what was sent and where each part came from.", []parameter{{"turn", "the turn whose parts are wanted, from 1; -1 for the last"}}, false, false, reply(http.StatusOK, (*Server).explainSession)},
		{"GET", "/api/sessions/{id}/calls/{step}", "Shows what a model was sent, part by part, and what came back; or a tool call.", ofCall, false, false, send("application/json", (*Server).showCall).or(typeOf[callView]())},
		{"POST", "/api/sessions/{id}/cancel", "Stops the session's run.", nil, false, false, reply(http.StatusNoContent, (*Server).cancelRun)},
		{"POST", "/api/sessions/{id}/resume", "Goes on with a run that was stopped, failed or interrupted.", nil, false, false, reply(http.StatusAccepted, (*Server).resumeRun)},
		{"POST", "/api/sessions/{id}/fork", "Begins a new session with the events of this one up to a number, or up to a step of a flow that is to be done again, with what a person has changed of its input.", nil, false, false, accept(http.StatusCreated, (*Server).forkSession).large().keyed()},
		{"GET", "/api/sessions/{id}/files", "Lists the session's files: those in its folder, and those that its agents have saved in directories which they were granted ({docs}/a.md).", nil, false, false, reply(http.StatusOK, (*Server).listFiles)},
		{"GET", "/api/sessions/{id}/files/{path...}", "Sends one of the session's files.", asFile, false, false, send("application/octet-stream", (*Server).sendFile)},

		{"PUT", "/api/sessions/{id}/files", "Writes a version of a file by hand.", nil, false, false, accept(http.StatusOK, (*Server).editFile).large()},
		{"GET", "/api/sessions/{id}/versions", "Lists the versions of a file, the latest first.", ofFile, false, false, reply(http.StatusOK, (*Server).listVersions)},
		{"POST", "/api/sessions/{id}/restore", "Brings back a version of a file, as a new one.", nil, false, false, accept(http.StatusOK, (*Server).restoreFile)},
		{"GET", "/api/sessions/{id}/files.zip", "Sends all files of the session.", nil, false, false, send("application/zip", (*Server).zipSession)},

		{"GET", "/api/files", "Lists the files of all conversations.", library, false, false, reply(http.StatusOK, (*Server).listLibrary)},
		{"POST", "/api/files/zip", "Sends files of any conversations as an archive.", nil, false, false, archive((*Server).zipFiles)},
		{"POST", "/api/documents/zip", "Sends documents, and files of any conversations, as an archive.", nil, false, false, archive((*Server).zipFiles)},
		{"GET", "/api/documents", "Lists the project's documents.", ofDocuments, false, false, reply(http.StatusOK, (*Server).listDocuments)},
		{"PUT", "/api/documents", "Writes a version of a document by hand.", nil, false, false, accept(http.StatusOK, (*Server).editDocument).large()},
		{"POST", "/api/documents", "Puts a file among the project's documents.", nil, false, false, accept(http.StatusCreated, (*Server).addDocument).large()},
		{"GET", "/api/documents/versions", "Lists the versions of a document, the latest first.", ofFile, false, false, reply(http.StatusOK, (*Server).listDocumentVersions)},
		{"POST", "/api/documents/restore", "Brings back a version of a document, as a new one.", nil, false, false, accept(http.StatusOK, (*Server).restoreDocument)},
		{"GET", "/api/documents/files/{path...}", "Sends a document.", asFile, false, false, send("application/octet-stream", (*Server).sendDocument)},

		{"GET", "/api/settings", "Shows the settings and the providers.", nil, false, true, reply(http.StatusOK, (*Server).showSettings)},
		{"PATCH", "/api/settings", "Changes settings.", nil, false, true, accept(http.StatusOK, (*Server).changeSettings)},
		{"PUT", "/api/providers/{name}", "Adds a server with models by its address, or changes that, and tries it.", nil, false, true, accept(http.StatusOK, (*Server).setProvider)},
		{"PUT", "/api/providers/{name}/key", "Sets a provider's key, which is never shown again.", nil, false, true, accept(http.StatusNoContent, (*Server).setProviderKey)},
		{"DELETE", "/api/providers/{name}", "Removes a provider and its key, unless a setting names one of its models.", nil, false, true, reply(http.StatusNoContent, (*Server).removeProvider)},
		{"POST", "/api/providers/{name}/test", "Tries whether a provider answers.", nil, false, true, reply(http.StatusOK, (*Server).testProvider)},
		{"GET", "/api/mcp", "Lists the tool servers.", nil, false, true, reply(http.StatusOK, (*Server).listToolServers)},
		{"POST", "/api/mcp", "Adds a tool server that runs at an address, if it can be reached.", nil, false, true, accept(http.StatusNoContent, (*Server).addToolServer)},
		{"PATCH", "/api/mcp/{name}", "Switches a tool server off, or on again.", nil, false, true, accept(http.StatusNoContent, (*Server).switchToolServer)},
		{"DELETE", "/api/mcp/{name}", "Removes a tool server, unless a setting names it.", nil, false, true, reply(http.StatusNoContent, (*Server).removeToolServer)},
		{"POST", "/api/mcp/{name}/accept", "Takes the tools of a server as they are now.", nil, false, true, accept(http.StatusNoContent, (*Server).acceptTools)},
		{"POST", "/api/mcp/{name}/restart", "Starts a tool server anew.", nil, false, true, reply(http.StatusNoContent, (*Server).restartTools)},
		{"GET", "/api/skills", "Lists the skills.", nil, false, true, reply(http.StatusOK, (*Server).listSkills)},
		{"PATCH", "/api/skills/{name}", "Switches a skill on or off.", nil, false, true, accept(http.StatusNoContent, (*Server).switchSkill)},
		{"GET", "/api/store", "Says how much the store holds.", nil, false, true, reply(http.StatusOK, (*Server).showStore)},
		{"POST", "/api/check", "Looks at configuration, keys, providers and directories, and says what to do.", nil, false, true, reply(http.StatusOK, (*Server).check)},
		{"GET", "/api/spending", "Says what the last 31 days have cost.", nil, false, true, reply(http.StatusOK, (*Server).showSpending)},
		{"GET", "/api/people", "Lists who may come in.", nil, false, true, reply(http.StatusOK, (*Server).listPeople)},
		{"POST", "/api/people", "Lets somebody else in, with a token of their own.", nil, false, true, accept(http.StatusCreated, (*Server).addPerson)},
		{"DELETE", "/api/people/{name}", "Keeps somebody from coming in. What they have written stays.", nil, false, true, reply(http.StatusNoContent, (*Server).removePerson)},
		{"POST", "/api/people/{name}/link", "Makes a link that lets somebody in for a day.", nil, false, true, reply(http.StatusOK, (*Server).makeLink)},

		{"GET", "/api/logs", "Finds events of all sessions, the latest first.", logs, false, false, reply(http.StatusOK, (*Server).findLogs)},
		{"POST", "/api/chat", "Says something and streams the answer.", nil, false, false, stream((*Server).chat).large().keyed()},
		{"POST", "/api/agent/initialize", "Has an agent carry out its critical actions and greet, as the original application does.", nil, false, false, accept(http.StatusOK, (*Server).initialize)},
		{"GET", "/api/conversations", "Lists sessions as the original application does.", nil, false, false, reply(http.StatusOK, (*Server).listConversations)},
		{"GET", "/api/conversations/{id}/messages", "Shows what was said in a session, and its files.", nil, false, false, reply(http.StatusOK, (*Server).showConversation)},
		{"DELETE", "/api/conversations/{id}", "Deletes a session with its files.", nil, false, false, reply(http.StatusNoContent, (*Server).deleteSession)},
		{"GET", "/api/files/tree", "Shows the files of all sessions as a tree.", nil, false, false, reply(http.StatusOK, (*Server).showTree)},
		{"GET", "/api/files/content", "Sends a file by its path in the tree.", ofFile, false, false, reply(http.StatusOK, (*Server).showContent)},
		{"GET", "/api/health", "Says that the server is alive, as the original application does.", nil, true, false, reply(http.StatusOK, (*Server).showHealth)},
		{"GET", "/v1/models", "Lists agents and flows as OpenAI lists models.", nil, false, false, reply(http.StatusOK, (*Server).listModels)},
		{"GET", "/v1/models/{model}", "Shows an agent or a flow as OpenAI shows a model.", nil, false, false, reply(http.StatusOK, (*Server).showModel)},
		{"POST", "/v1/chat/completions", "Answers as OpenAI's API does, in pieces or at once.", nil, false, false, stream((*Server).complete).large().lenient().keyed().or(typeOf[completion]())},
	}
}

// pageRoute is the route of the page's files.
var pageRoute = route{"GET", "/{path...}", "Sends a file of the page.", nil, true, false, send("text/html", (*Server).sendPage)}

// An endpoint is what a route does, with the types that its JSON is of: nil for
// none.
type endpoint struct {
	in, out reflect.Type
	status  int
	media   string // of what is sent
	// big requests may have attachments, loose ones fields that nobody reads.
	big, loose bool
	headers    []parameter // which the request may have
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

// archive is stream for an answer that is a file.
func archive[In any](f func(*Server, *call, In) error) endpoint {
	e := stream(f)
	e.media = "application/zip"
	return e
}

func (e endpoint) large() endpoint   { e.big = true; return e }
func (e endpoint) lenient() endpoint { e.loose = true; return e }

// keyed says that a request is answered once, however often it is sent: see [call.key].
func (e endpoint) keyed() endpoint {
	return e.header("Idempotency-Key", "a name of at most 255 characters for the request: sent again under it, it is not done again, and 422 (other_request) if it asks for something else")
}

// header says that a request may have a header.
func (e endpoint) header(name, description string) endpoint {
	e.headers = append(slices.Clip(e.headers), parameter{name, description})
	return e
}

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
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
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
