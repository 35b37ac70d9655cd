package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe/project"
)

// serversOf are the MCP servers of the editor that can be used, and what is to be said of
// the others.
func serversOf(given []acp.McpServer) (servers []project.ExtraServer, err error) {
	var errs []error
	for _, s := range given {
		switch {
		case s.Stdio != nil:
			one := project.ExtraServer{Name: s.Stdio.Name, Command: s.Stdio.Command, Args: s.Stdio.Args, Env: map[string]string{}}
			for _, v := range s.Stdio.Env {
				one.Env[v.Name] = v.Value
			}
			servers = append(servers, one)
		case s.Http != nil:
			one := project.ExtraServer{Name: s.Http.Name, URL: s.Http.Url, Headers: map[string]string{}}
			for _, h := range s.Http.Headers {
				one.Headers[h.Name] = h.Value
			}
			servers = append(servers, one)
		case s.Sse != nil:
			errs = append(errs, fmt.Errorf("mcp server %.64q: server-sent events are not supported; streamable HTTP is", s.Sse.Name))
		default:
			errs = append(errs, errors.New("an MCP server that is neither a command nor an address"))
		}
	}
	return servers, errors.Join(errs...)
}

// bring gives the session what the editor has: its open files, and its MCP servers. A
// server that cannot be used is reported, and done without.
func (s *session) bring(ctx context.Context, given []acp.McpServer) error {
	servers, refused := serversOf(given)
	files := &buffers{editor: s.agent.editor, session: acp.SessionId(s.conversation.Session), can: s.agent.capabilities().Fs}
	extras, err := s.project.NewExtras(ctx, files, servers...)
	if err = errors.Join(refused, err); err != nil {
		s.agent.config.Log.Warn("the editor's MCP servers are not all there", "err", err)
		s.complaint = "Tools of your editor are missing: " + err.Error()
	}
	s.extras = extras
	return s.conversation.Use(ctx, s.conversation.Agent, s.model, s.extras)
}

// leave gives up what the editor brought along.
func (s *session) leave() {
	if s.extras != nil {
		_ = s.extras.Close() // of servers that are killed if need be, and a directory of temporary files
	}
}
