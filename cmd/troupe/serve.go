package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/project"
)

func (p *program) serveCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer the agents over HTTP, with a page and an OpenAI-compatible endpoint",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inProject(func(project *project.Project) error { return p.serve(c.Context(), project, address) })
		},
	}
	c.Flags().StringVar(&address, "addr", "", "the address to listen on (default 127.0.0.1:7717)")
	return c
}

func (p *program) serve(ctx context.Context, opened *project.Project, address string) (err error) {
	web, err := opened.Server(ctx)
	if err != nil {
		return err
	}
	clients, err := mountMCP(ctx, opened, web)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clients.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(address, opened.Addr()))
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	link := "http://" + listener.Addr().String() + "/"
	if token := web.Token(); token != "" {
		link += "#token=" + token
	}
	p.tell("Open this link; it lets in whoever has it:")
	fmt.Fprintln(p.out, link)
	return web.Serve(ctx, listener)
}
