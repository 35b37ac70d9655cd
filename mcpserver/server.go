// Package mcpserver offers a project to MCP clients, such as Claude Code, Cursor or
// agents of others: its agents, flows, deliveries, skills and knowledge base as tools,
// prompts and resources.
//
// A call of a tool that runs an agent tells how far it has come as progress, ends when
// the client cancels it, and puts questions and approvals to the person at the client
// by elicitation. A client without elicitation gets the question as the result, and the
// tool answer passes on what the person said.
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
)

const (
	// maxFrame bounds a message of a client, in bytes.
	maxFrame = 32 << 20
	// idleSession is how long an HTTP client may be quiet before its session is closed.
	idleSession = 2 * time.Hour
)

// versions are those of MCP in which a server can ask its client something while a call
// is under way.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Config says what is offered, and to whom.
type Config struct {
	Project *project.Project
	// Version is that of the program, for clients to show.
	Version string
	// Enter, where set, is asked before a run begins, and refuses it where there are too
	// many. The run's context is what it returns, and leave is called at its end.
	Enter func(ctx context.Context, user string) (run context.Context, leave func(), err error)
	// Log is told of trouble with clients. Nil means nobody is.
	Log *slog.Logger
}

// A Server offers a project. It may be used concurrently.
type Server struct {
	config  Config
	engine  *troupe.Engine
	folders *outputs.Folders
	base    *knowledge.Base
}

// New returns a server for a project, which must outlive it. Whoever makes it closes it.
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
	base, err := c.Project.Knowledge(ctx)
	if err != nil {
		return nil, err
	}
	return &Server{config: c, engine: engine, folders: folders, base: base}, nil
}

// Close gives up the knowledge base.
func (s *Server) Close() error { return s.base.Close() }

// Serve offers the project to the one client at the other end of two streams, as a rule
// the standard ones, until the client is gone or ctx is done.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.For("").Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxFrame})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

// Handler offers the project over streamable HTTP. Whoever mounts it says whose a
// request is.
func (s *Server) Handler(userOf func(*http.Request) string) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return s.For(userOf(r)) },
		&mcp.StreamableHTTPOptions{SessionTimeout: idleSession, Logger: s.config.Log, DisableLocalhostProtection: true})
}

// For returns the MCP server as a user sees it: their sessions, and what the project has
// at this moment.
func (s *Server) For(user string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "troupe", Title: "Troupe", Version: s.config.Version}, &mcp.ServerOptions{
		Instructions: s.instructions(), Logger: s.config.Log, SupportedProtocolVersions: versions,
		// What one user sees is nobody else's to keep.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
	})
	v := &visitor{Server: s, user: user}
	v.addTools(server)
	v.addPrompts(server)
	v.addResources(server)
	return server
}

// A visitor is the server as one user sees it.
type visitor struct {
	*Server
	user string
}

// instructions tell a client's model what there is.
func (s *Server) instructions() string {
	var b strings.Builder
	b.WriteString("Troupe runs the agents of this project. ask_agent talks with one of them; pass the session of its last answer to go on with " +
		"a conversation. If a result has the status waiting, put its question to the user and pass the answer on with the tool answer.\n")
	if text := s.listAgents(); text != "" {
		b.WriteString("\nAgents:\n" + text)
	}
	if text := s.listFlows(); text != "" {
		b.WriteString("\nFlows:\n" + text)
	}
	return b.String()
}

func (s *Server) listAgents() string {
	var b strings.Builder
	for _, a := range s.config.Project.Agents() {
		fmt.Fprintf(&b, "- %s: %s\n", a.ID, firstOf(joined(a.Name, a.Title), a.Description))
	}
	return b.String()
}

func (s *Server) listFlows() string {
	var b strings.Builder
	for _, f := range s.config.Project.Flows() {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, oneLine(f.Description))
	}
	return b.String()
}

// joined is who an agent is: "Mira, Product Manager".
func joined(name, title string) string {
	switch {
	case name == "" || name == title:
		return title
	case title == "":
		return name
	}
	return name + ", " + title
}

// firstOf is what two texts say on one line, the second where it adds something.
func firstOf(text, more string) string {
	text, more = oneLine(text), oneLine(more)
	switch {
	case more == "" || more == text:
		return text
	case text == "":
		return more
	}
	return text + ". " + more
}

// maxLine is how much of a description is listed, in runes.
const maxLine = 200

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxLine {
		return string(runes[:maxLine]) + "…"
	}
	return text
}
