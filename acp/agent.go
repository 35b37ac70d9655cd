// Package acp offers the agents of a project to editors, by the Agent Client Protocol:
// Zed, JetBrains, Neovim and others start the program and talk with it on its standard
// streams.
//
// The directory that the editor has open is the project. Its agents and flows are the
// session's modes, an agent's commands are slash commands, approvals are permission
// requests, and a session is one of the project's store: it can be listed, loaded and
// gone on with, in the editor or anywhere else.
package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
)

// Config says which projects editors get, and how.
type Config struct {
	// Open opens the project of a directory that an editor works in. It is called once
	// for each directory; the project is closed when the editor is gone.
	Open func(dir string) (*project.Project, error)
	// Agent is the agent or flow that a session begins with. Empty means the one that a
	// user would begin with.
	Agent string
	// Version is that of the program, for editors to show.
	Version string
	// Log is told of trouble with the connection. Nil means nobody is.
	Log *slog.Logger
}

// Serve offers agents to the editor at the other end of two streams, as a rule the
// standard ones, until the editor is gone or ctx is done.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	a := &agent{config: c, projects: map[string]*project.Project{}, sessions: map[string]*session{}}
	a.out = newAnnouncer(out)
	ready := make(chan struct{})
	a.editor = acp.NewAgentSideConnection(a, a.out, heldReader{in, ready})
	a.editor.SetLogger(c.Log)
	close(ready)
	select {
	case <-a.editor.Done():
	case <-ctx.Done():
	}
	return a.close()
}

// A heldReader yields nothing before it is ready: the connection reads as soon as it is
// made, and what it is asked needs the connection.
type heldReader struct {
	io.Reader
	ready <-chan struct{}
}

// Read implements [io.Reader].
func (r heldReader) Read(p []byte) (int, error) {
	<-r.ready
	return r.Reader.Read(p)
}

// An agent is what the editor talks with.
type agent struct {
	config Config
	editor *acp.AgentSideConnection
	out    *announcer

	mu       sync.Mutex
	can      acp.ClientCapabilities
	projects map[string]*project.Project // by directory
	sessions map[string]*session
}

// close ends every prompt and gives up the projects.
func (a *agent) close() error {
	a.mu.Lock()
	sessions := a.sessions
	a.sessions = map[string]*session{}
	a.mu.Unlock()
	for _, s := range sessions {
		s.stop()
	}
	a.out.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, p := range a.projects {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// projectOf opens the project of a directory, once.
func (a *agent) projectOf(dir string) (*project.Project, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.projects[dir]; p != nil {
		return p, nil
	}
	p, err := a.config.Open(dir)
	if err != nil {
		return nil, err
	}
	a.projects[dir] = p
	return p, nil
}

// find returns a session that was begun or loaded.
func (a *agent) find(id acp.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[string(id)]; s != nil {
		return s, nil
	}
	return nil, acp.NewInvalidParams(map[string]any{"error": fmt.Sprintf("there is no session %.64q; begin or load it first", string(id))})
}

// Initialize implements [acp.Agent].
func (a *agent) Initialize(_ context.Context, r acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.mu.Lock()
	a.can = r.ClientCapabilities
	a.mu.Unlock()
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "troupe", Title: acp.Ptr("Troupe"), Version: a.config.Version},
		AuthMethods:     []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    acp.McpCapabilities{Http: true},
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: acp.SessionCapabilities{
				Close: &acp.SessionCloseCapabilities{}, List: &acp.SessionListCapabilities{}, Resume: &acp.SessionResumeCapabilities{},
			},
		},
	}, nil
}

// capabilities are what the editor can do.
func (a *agent) capabilities() acp.ClientCapabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.can
}

// Authenticate implements [acp.Agent]. Whoever starts the program may use it.
func (*agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// NewSession implements [acp.Agent]. Nothing is stored before the first message.
func (a *agent) NewSession(ctx context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	p, err := a.projectOf(r.Cwd)
	if err != nil {
		return acp.NewSessionResponse{}, failure(err)
	}
	name, err := a.first(p)
	if err != nil {
		return acp.NewSessionResponse{}, failure(err)
	}
	c, err := converse.Begin(ctx, p, name, "")
	if err != nil {
		return acp.NewSessionResponse{}, failure(err)
	}
	c.Session = newSessionID()
	s, err := a.add(ctx, p, c, r.McpServers)
	if err != nil {
		return acp.NewSessionResponse{}, failure(err)
	}
	a.out.after(c.Session, func() { s.announce(context.WithoutCancel(ctx)) })
	return acp.NewSessionResponse{SessionId: acp.SessionId(c.Session), Modes: s.modes(), Models: s.models(), ConfigOptions: s.options()}, nil
}

// first is the agent or flow that a session begins with.
func (a *agent) first(p *project.Project) (string, error) {
	if a.config.Agent != "" {
		return p.Find(a.config.Agent)
	}
	agents := p.Agents()
	for _, one := range agents {
		if one.EntryPoint {
			return one.ID, nil
		}
	}
	if len(agents) > 0 {
		return agents[0].ID, nil
	}
	return "", fmt.Errorf("there are no agents in %s; 'troupe init' writes some to begin with", p.Dir())
}

// add makes a conversation one of the editor's, with what the editor brings along.
func (a *agent) add(ctx context.Context, p *project.Project, c *converse.Conversation, servers []acp.McpServer) (*session, error) {
	s := &session{agent: a, project: p, conversation: c, plan: newPlan(p, c.Agent), allowed: map[string]bool{}}
	if err := s.bring(ctx, servers); err != nil {
		s.leave()
		return nil, err
	}
	s.lookForModels(ctx)
	a.mu.Lock()
	before := a.sessions[c.Session]
	a.sessions[c.Session] = s
	a.mu.Unlock()
	if before != nil { // the editor has loaded it once more
		before.stop()
	}
	return s, nil
}

// reopen makes a session of the store one of the editor's.
func (a *agent) reopen(ctx context.Context, cwd string, id acp.SessionId, servers []acp.McpServer) (*session, error) {
	p, err := a.projectOf(cwd)
	if err != nil {
		return nil, failure(err)
	}
	c, err := converse.Continue(ctx, p, string(id), "")
	if err != nil {
		return nil, failure(err)
	}
	s, err := a.add(ctx, p, c, servers)
	if err != nil {
		return nil, failure(err)
	}
	return s, nil
}

// LoadSession implements [acp.AgentLoader]: the editor is shown the conversation so far.
func (a *agent) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	s, err := a.reopen(ctx, r.Cwd, r.SessionId, r.McpServers)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	if err := s.replay(ctx); err != nil {
		return acp.LoadSessionResponse{}, failure(err)
	}
	s.announce(ctx)
	return acp.LoadSessionResponse{Modes: s.modes(), Models: s.models(), ConfigOptions: s.options()}, nil
}

// ResumeSession implements [acp.Agent]: as LoadSession, with nothing shown.
func (a *agent) ResumeSession(ctx context.Context, r acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	s, err := a.reopen(ctx, r.Cwd, r.SessionId, r.McpServers)
	if err != nil {
		return acp.ResumeSessionResponse{}, err
	}
	s.announce(ctx)
	return acp.ResumeSessionResponse{Modes: s.modes(), Models: s.models(), ConfigOptions: s.options()}, nil
}

// CloseSession implements [acp.Agent].
func (a *agent) CloseSession(_ context.Context, r acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	s, err := a.find(r.SessionId)
	if err != nil {
		return acp.CloseSessionResponse{}, err
	}
	s.stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, string(r.SessionId))
	return acp.CloseSessionResponse{}, nil
}

// maxListed is how many sessions an editor is shown.
const maxListed = 100

// ListSessions implements [acp.Agent]: the sessions of a directory, or of all that are
// open.
func (a *agent) ListSessions(ctx context.Context, r acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	var dirs []string
	if r.Cwd != nil {
		if _, err := a.projectOf(*r.Cwd); err != nil {
			return acp.ListSessionsResponse{}, failure(err)
		}
		dirs = []string{*r.Cwd}
	} else {
		a.mu.Lock()
		for dir := range a.projects {
			dirs = append(dirs, dir)
		}
		a.mu.Unlock()
		slices.Sort(dirs)
	}
	list := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	for _, dir := range dirs {
		p, err := a.projectOf(dir)
		if err != nil {
			return list, failure(err)
		}
		engine, err := p.Engine(ctx)
		if err != nil {
			return list, failure(err)
		}
		for info, err := range engine.Sessions(ctx, troupe.SessionFilter{Limit: maxListed}) {
			if err != nil {
				return list, failure(err)
			}
			list.Sessions = append(list.Sessions, acp.SessionInfo{
				Cwd: dir, SessionId: acp.SessionId(info.ID), Title: acp.Ptr(titleOf(info)), UpdatedAt: acp.Ptr(info.Updated.UTC().Format("2006-01-02T15:04:05Z")),
			})
		}
	}
	return list, nil
}

func titleOf(info troupe.SessionInfo) string {
	if title := strings.TrimSpace(info.Title); title != "" {
		return title
	}
	return info.Agent
}

// Cancel implements [acp.Agent].
func (a *agent) Cancel(_ context.Context, r acp.CancelNotification) error {
	s, err := a.find(r.SessionId)
	if err != nil {
		return err
	}
	s.cancel()
	return nil
}
