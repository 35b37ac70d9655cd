package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// call has the server carry out a tool.
func (s *Server) call(ctx context.Context, tool string, arguments json.RawMessage) (troupe.Result, error) {
	l, err := s.admit(tool)
	if err != nil {
		return troupe.Result{}, err
	}
	// The request ends with the call, and with the link.
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	answer, err := l.session.CallTool(request, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	switch {
	case err == nil:
		return resultOf(answer)
	case ctx.Err() != nil:
		return troupe.Result{}, ctx.Err()
	default:
		return troupe.Result{}, s.failure(ctx, l, err)
	}
}

// admit returns the link for a call, unless that cannot be made now.
func (s *Server) admit(tool string) (*link, error) {
	s.mu.Lock()
	l, due, o := s.link, s.due, s.offers[tool]
	s.mu.Unlock()
	if l == nil || l.isLost.Load() {
		return nil, s.absent(time.Until(due))
	}
	if o == nil {
		return nil, &troupe.ToolError{Class: "not_found", Message: fmt.Sprintf("the MCP server %s no longer has this tool", s.config.Name)}
	}
	if why := s.objection(o); why != "" {
		return nil, &troupe.ToolError{Class: "unauthorized", Message: fmt.Sprintf(
			"this tool of the MCP server %s is withheld: %s. The operator can look at it and accept it as %s", s.config.Name, why, o.hash)}
	}
	return l, nil
}

// absent says that the server was not there to be called.
func (s *Server) absent(wait time.Duration) error {
	return &troupe.ToolError{Class: "failed", Message: fmt.Sprintf(
		"the MCP server %s is not running; it is tried again in %s", s.config.Name, max(wait, time.Second).Round(time.Second))}
}

// failure says what became of a call that has no result.
func (s *Server) failure(ctx context.Context, l *link, err error) error {
	if errors.Is(err, sdk.ErrConnectionClosed) { // and was so before the call
		return s.absent(firstWait)
	}
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	if _, unreachable := errors.AsType[*url.Error](err); !ok || unreachable {
		l.lose(err)
		return &troupe.ToolError{Class: "interrupted", Err: err, Message: fmt.Sprintf(
			"the MCP server %s did not answer; whether the call took effect is unknown", s.config.Name)}
	}
	// A server that was started anew does not know the session and refuses everything.
	if l.session.ID() != "" {
		if err := l.session.Ping(ctx, nil); err != nil {
			l.lose(err)
		}
	}
	class := "failed"
	if refusal.Code == jsonrpc.CodeInvalidParams {
		class = "invalid_arguments"
	}
	return &troupe.ToolError{Class: class, Message: strings.TrimPrefix(err.Error(), `calling "tools/call": `)}
}
