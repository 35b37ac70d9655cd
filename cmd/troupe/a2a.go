package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/a2a"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

func (p *program) a2aCommand() *cobra.Command {
	c := &cobra.Command{Use: "a2a", Short: "Offer the agents to agents of others, by the Agent2Agent protocol", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usage("a2a: serve?") }}
	var address string
	serve := &cobra.Command{
		Use:   "serve",
		Short: "Serve the agents over HTTP, as 'troupe serve' does, and say where their cards are",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inProject(func(project *project.Project) error { return p.serveA2A(c.Context(), project, address) })
		},
	}
	serve.Flags().StringVar(&address, "addr", "", "the address to listen on (default 127.0.0.1:7717)")
	c.AddCommand(serve)
	return c
}

func (p *program) serveA2A(ctx context.Context, opened *project.Project, address string) error {
	return p.serveHTTP(ctx, opened, address, "a2a serve", func(base, token string) {
		var names []string
		for _, agent := range opened.Agents() {
			names = append(names, agent.ID)
		}
		for _, flow := range opened.Flows() {
			names = append(names, flow.Name)
		}
		for _, name := range names {
			fmt.Fprintln(p.out, base+a2a.Path+"/"+url.PathEscape(name))
		}
		if token != "" {
			p.tell("Clients send this header, for the cards, too:")
			fmt.Fprintln(p.out, "Authorization: Bearer "+token)
		} else {
			p.tell("Clients send the token of a user of %s as 'Authorization: Bearer TOKEN', for the cards, too.", project.Name)
		}
	})
}

// mountA2A offers the project to agents of others beside the page, to the same users.
func mountA2A(ctx context.Context, opened *project.Project, web *server.Server) error {
	push, err := opened.PushClient()
	if err != nil {
		return err
	}
	agents, err := a2a.New(ctx, a2a.Config{Project: opened, Version: buildVersion().Version, URL: opened.URL(), Enter: web.Enter, Push: push})
	if err != nil {
		return err
	}
	handler := agents.Handler(func(r *http.Request) string { return server.VisitOf(r).User })
	web.Mount(a2a.Path, handler)
	web.Mount(a2a.Path+"/{path...}", handler)
	return nil
}
