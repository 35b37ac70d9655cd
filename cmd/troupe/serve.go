package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/memory"
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

func (p *program) serve(ctx context.Context, opened *project.Project, address string) error {
	return p.serveHTTP(ctx, opened, address, "serve", func(base, token string) { p.tellLink(opened, base, token) })
}

// serveHTTP serves the project, to MCP clients and agents of others beside the page, once told has heard where
// that is and with which token, which is empty where users have their own. It goes on with another configuration
// when troupe.yaml changes.
func (p *program) serveHTTP(ctx context.Context, opened *project.Project, address, command string, told func(base, token string)) (err error) {
	defer memory.Govern()()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	first, err := newGeneration(ctx, opened, end)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	address = cmp.Or(address, opened.Addr())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %s is in use: another 'troupe serve' or another program listens there; end it, or choose another address with --addr or server.addr in %s", command, address, project.Name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if err := first.web.MayServe(listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	watching, stop := context.WithCancel(ctx)
	reloaded, asked := make(chan error, 1), p.hangups(watching, end)
	go func() { reloaded <- p.reload(watching, first, asked, end) }()
	defer func() {
		stop()
		err = errors.Join(err, <-reloaded)
		end(nil)
	}()
	base, own := opened.Reached(listener.Addr()), "http://"+listener.Addr().String()
	if at, ok := listener.Addr().(*net.TCPAddr); ok && base != own && !at.IP.IsUnspecified() {
		p.tell("It listens on %s.", own)
	}
	told(base, first.web.Token())
	err = first.web.Serve(ctx, listener)
	if stopped, ok := errors.AsType[*storeStopped](context.Cause(ctx)); ok {
		err = errors.Join(stopped, err)
	}
	return err
}

// A storeStopped ends a server whose store takes nothing more: whoever has started it starts
// it again, which opens the store again and checks it.
type storeStopped struct{ err error }

func (e *storeStopped) Error() string {
	return "the server ends, so that it is started again and the store is checked: " + e.err.Error()
}

func (e *storeStopped) Unwrap() error { return e.err }

// beside has functions run until stop is called, which waits for them.
func beside(ctx context.Context, functions ...func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(functions))
	for _, f := range functions {
		go func() { ended <- f(ctx) }()
	}
	return func() (err error) {
		cancel()
		for range functions {
			err = errors.Join(err, <-ended)
		}
		return err
	}
}

// tellLink says where the page is and who may open it.
func (p *program) tellLink(opened *project.Project, base, token string) {
	link := base + "/"
	if token != "" {
		link += "#token=" + token
	}
	users, entrance := opened.TokenVariables(), opened.Entrance()
	if entrance != "" {
		p.tell("%s", terminal.Clean(entrance))
	}
	switch {
	case entrance != "" && len(users) > 0:
		p.tell("Programs have tokens:")
	case entrance != "":
	case len(users) == 0:
		p.tell("Open this link; it lets in whoever has it:")
	default:
		p.tell("Open this address and sign in with your own token. There are:")
	}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		p.tell("  %s, whose token is in %s", terminal.Clean(name), terminal.Clean(users[name]))
	}
	fmt.Fprintln(p.out, link)
}
