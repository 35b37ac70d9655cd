// Package mcp offers the tools of MCP servers to agents.
//
// A server is a program that is started or an address that is connected to. It is
// not trusted: it gets the environment that is configured for it and no other, it
// cannot ask for anything back, what it sends is capped, and only those of its
// tools are offered that were accepted as they are.
//
// # Pins
//
// What a tool is (its name, description, input schema and hints) is hashed. The
// first time that a server is seen, all of its tools are accepted and their hashes
// are written to a file that belongs to the operator. From then on a tool that is
// new or is not as it was accepted is withheld, until it is accepted with
// [Accept]. To trust a server anew, its entry is deleted from the file.
//
// # Failure
//
// A server that ends or stops making sense is closed, and started again after a
// while: one second at first, at most a minute, and again a second once it has
// stayed up for a minute. Until then its tools fail at once.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// A Config says which server is meant and what it may do.
type Config struct {
	// Name is the server's own, and the first part of its tools' names: letters,
	// digits, hyphens and single underscores between them, at most 32.
	Name string

	// Command is the program to start, looked up in the PATH of this process.
	Command string
	Args    []string
	// Env is the program's whole environment: it inherits none, not even PATH.
	Env map[string]string
	// Dir is the directory it runs in. Default: that of this process.
	Dir string

	// URL is the address of a server that speaks streamable HTTP, in place of a
	// Command. Nothing of it after the host is part of any error, as keys may be
	// there. Headers are not sent to another host that the server redirects to.
	URL     string
	Headers map[string]string
	// HTTPClient makes all requests, and so decides which of them may be made. It
	// must be there if URL is. Streams stay open, so it should have no Timeout.
	HTTPClient *http.Client

	// Pins is the file that keeps what was accepted. It must be given; several
	// servers may share it.
	Pins string
	// TrustHints believes a server that calls a tool read-only or idempotent: a
	// call that was interrupted is then repeated. Default: no call is. Calls of
	// tools that are called read-only run at the same time either way.
	TrustHints bool

	// Timeout bounds starting the server, listing its tools, and handing it one
	// message. Default: 10 s.
	Timeout time.Duration
	// CallTimeout bounds one call of a tool. Default: the engine's.
	CallTimeout time.Duration

	// Logger gets what the server prints and what becomes of it. Default: nobody.
	Logger *slog.Logger
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)

// checked returns c with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	if len(c.Name) > 32 || !serverName.MatchString(c.Name) {
		return c, fmt.Errorf("mcp server %.32q: a name has 1 to 32 letters, digits, hyphens and single underscores between them", c.Name)
	}
	if err := c.checkPlace(); err != nil {
		return c, fmt.Errorf("mcp server %s: %w", c.Name, err)
	}
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler)).With("mcp", c.Name)
	return c, nil
}

func (c *Config) checkPlace() error {
	switch {
	case c.Pins == "":
		return errors.New("the field Pins names no file: it keeps what was accepted of the server's tools")
	case (c.Command == "") == (c.URL == ""):
		return errors.New("it needs either a command or a url")
	case c.URL == "":
		return nil
	case c.HTTPClient == nil:
		return errors.New("there is no HTTPClient for its URL; egress.NewClient makes one")
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("its url is not one of http or https")
	case u.User != nil:
		return errors.New("its url has a user; use a header for credentials")
	}
	return nil
}

// Connect starts or reaches a server, lists its tools and looks after it until
// Close. Its error names the server; a program can well go on without it.
func Connect(ctx context.Context, c Config) (*Server, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	return connect(ctx, c, func(ctx context.Context) (*link, error) { return dial(ctx, &c) })
}
