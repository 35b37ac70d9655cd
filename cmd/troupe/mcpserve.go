package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/mcpserver"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// mcpPath is where MCP clients find the server over HTTP.
const mcpPath = "/mcp"

func (p *program) mcpServeCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer agents, flows, deliveries, skills and the knowledge base to an MCP client",
		Long: "Offers the project to an MCP client on standard input and output, or over HTTP with --addr. A client is told how to\n" +
			"start it: for Claude Code, 'claude mcp add troupe -- troupe -C DIR mcp serve'.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inProject(func(project *project.Project) error { return p.serveMCP(c.Context(), project, address) })
		},
	}
	c.Flags().StringVar(&address, "addr", "", "serve over HTTP at this address, at the path "+mcpPath)
	return c
}

func (p *program) serveMCP(ctx context.Context, opened *project.Project, address string) (err error) {
	if address != "" {
		return p.serveMCPOverHTTP(ctx, opened, address)
	}
	clients, err := mcpserver.New(ctx, mcpserver.Config{Project: opened, Version: buildVersion().Version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clients.Close()) }()
	return clients.Serve(ctx, p.in, output{p.out})
}

func (p *program) serveMCPOverHTTP(ctx context.Context, opened *project.Project, address string) error {
	return p.serveHTTP(ctx, opened, address, "mcp serve", func(base, token string) {
		fmt.Fprintln(p.out, base+mcpPath)
		if token != "" {
			p.tell("Clients send this header:")
			fmt.Fprintln(p.out, "Authorization: Bearer "+token)
		} else {
			p.tell("Clients send the token of a user of %s as 'Authorization: Bearer TOKEN'.", project.Name)
		}
	})
}

// mountMCP offers the project to MCP clients beside the page, to the same users.
func mountMCP(ctx context.Context, opened *project.Project, web *server.Server) (*mcpserver.Server, error) {
	clients, err := mcpserver.New(ctx, mcpserver.Config{Project: opened, Version: buildVersion().Version, Enter: web.Enter})
	if err != nil {
		return nil, err
	}
	web.Mount(mcpPath, clients.Handler(func(r *http.Request) string { return server.VisitOf(r).User }))
	return clients, nil
}
