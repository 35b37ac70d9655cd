package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A ClientConfig says which MCP server keeps the documents.
type ClientConfig struct {
	// Command is the program to start, looked up in the PATH of this process.
	Command string
	Args    []string
	// Env is the program's whole environment: it inherits none, not even PATH.
	Env map[string]string
	// Dir is the directory it runs in. Default: that of this process.
	Dir string
	// Stderr gets what the program prints to it. Default: nobody.
	Stderr io.Writer

	// URL is the address of a server that speaks streamable HTTP, in place of a
	// Command. It has no credentials: HTTPClient, which must be there, can add them.
	URL        string
	HTTPClient *http.Client

	// Username and Password sign in, if there is a Username. They are sent to the
	// server and shown to nobody else.
	Username string
	Password Secret

	// Mapping is how the server is talked to. Default: what its tools look like.
	Mapping Mapping
	// Timeout bounds one call of the server. Default: 30 s.
	Timeout time.Duration
}

func (c *ClientConfig) check() error {
	if (c.Command == "") == (c.URL == "") {
		return errors.New("it needs either a command or a url")
	}
	if c.URL == "" {
		return nil
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("its url is not one of http or https")
	case u.User != nil || u.RawQuery != "":
		return errors.New("its url has a user or a query; let the HTTP client add credentials")
	case c.HTTPClient == nil:
		return errors.New("there is no HTTPClient for its URL; egress.NewClient makes one")
	}
	return nil
}

// A Mapping says how a kind of server keeps documents: [GKChatty] or [Memory].
type Mapping interface {
	// fits reports whether a server has the tools.
	fits(*link) bool
	// signIn makes the session a user's.
	signIn(ctx context.Context, l *link, username string, password Secret) error
	// keep has a document kept; has reports whether it is.
	keep(ctx context.Context, l *link, d Document, hash string) error
	has(ctx context.Context, l *link, d Document, hash string) (bool, error)
	// ask returns the passages nearest to a question.
	ask(ctx context.Context, l *link, question string, limit int) ([]Passage, error)
}

var (
	// ErrUnverified reports a server that says it keeps a document, but does not
	// find it.
	ErrUnverified = errors.New("the server does not find the document that it was given")
	// ErrRefused reports what the server says went wrong.
	ErrRefused = errors.New("the server refused")
	// errSignedOut reports a server that does not know any more who this is.
	errSignedOut = errors.New("the server wants somebody to sign in")
)

// A Client keeps documents in an MCP server, as one user. It may be used
// concurrently; the server is asked one thing at a time. A server that ends or does
// not answer in time is started or reached anew for the next call.
type Client struct {
	config ClientConfig
	dial   func(context.Context) (*link, error)
	turn   chan struct{} // holds a value while somebody uses the link
	link   *link         // nil while there is none
}

// Connect starts or reaches a server and signs in.
func Connect(ctx context.Context, config ClientConfig) (*Client, error) {
	if err := config.check(); err != nil {
		return nil, fmt.Errorf("knowledge server: %w", err)
	}
	return connect(ctx, config, func(ctx context.Context) (*link, error) { return dial(ctx, &config) })
}

func connect(ctx context.Context, config ClientConfig, dial func(context.Context) (*link, error)) (*Client, error) {
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	c := &Client{config: config, dial: dial, turn: make(chan struct{}, 1)}
	err := c.use(ctx, func(*link, Mapping) error { return nil })
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close waits for the call that is under way, ends the server if it was started, and
// returns when its process is gone.
func (c *Client) Close() {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.drop(closeGrace)
	c.dial = func(context.Context) (*link, error) { return nil, errors.New("it is closed") }
}

// Upload keeps a document, unless the server has it, and returns when the server
// finds it by the hash of its content. After an error, nobody knows whether it is
// kept: uploading it again does no harm.
func (c *Client) Upload(ctx context.Context, d Document) error {
	if err := d.check(); err != nil {
		return err
	}
	sum := hash(d.Content)
	err := c.use(ctx, func(l *link, m Mapping) error {
		if has, err := m.has(ctx, l, d, sum); has || err != nil {
			return err
		}
		if err := m.keep(ctx, l, d, sum); err != nil {
			return err
		}
		return verify(ctx, func() (bool, error) { return m.has(ctx, l, d, sum) })
	})
	if err != nil {
		return fmt.Errorf("upload %s: %w", d.Name, err)
	}
	return nil
}

// verify asks again for a while: a server may take time to index what it keeps.
func verify(ctx context.Context, has func() (bool, error)) error {
	for wait := 250 * time.Millisecond; ; wait *= 2 {
		if ok, err := has(); ok || err != nil {
			return err
		}
		if wait > 2*time.Second {
			return ErrUnverified
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Query returns the passages nearest to a question, best first, at most limit of
// them, or 5 if it is not positive.
func (c *Client) Query(ctx context.Context, question string, limit int) (list []Passage, err error) {
	limit = bounded(limit)
	err = c.use(ctx, func(l *link, m Mapping) error {
		list, err = m.ask(ctx, l, question, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("query knowledge: %w", err)
	}
	list = list[:min(len(list), limit)]
	for i := range list {
		p := &list[i]
		p.Document, p.Heading, p.Text = c.scrub(p.Document), c.scrub(p.Heading), c.scrub(p.Text)
	}
	return list, nil
}

// use waits for its turn and does something with the server. It signs in again if
// that is what is missing.
func (c *Client) use(ctx context.Context, act func(*link, Mapping) error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m, err := c.reach(ctx)
	if err != nil {
		return c.clean(err)
	}
	err = act(c.link, m)
	if errors.Is(err, errSignedOut) && c.config.Username != "" {
		if err = m.signIn(ctx, c.link, c.config.Username, c.config.Password); err == nil {
			err = act(c.link, m)
		}
	}
	if errors.Is(err, errLost) {
		c.drop(0)
	}
	return c.clean(err)
}

// reach makes a link unless there is one, and signs in.
func (c *Client) reach(ctx context.Context) (Mapping, error) {
	if c.link != nil {
		return c.mapping()
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	l, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("knowledge server: %w", err)
	}
	l.timeout, c.link = c.config.Timeout, l
	m, err := c.mapping()
	if err == nil && c.config.Username != "" {
		err = m.signIn(ctx, l, c.config.Username, c.config.Password)
	}
	if err != nil {
		c.drop(closeGrace)
		return nil, err
	}
	return m, nil
}

// mapping returns the one that fits the server.
func (c *Client) mapping() (Mapping, error) {
	known := []Mapping{GKChatty{}, Memory{}}
	if c.config.Mapping != nil {
		known = []Mapping{c.config.Mapping}
	}
	for _, m := range known {
		if m.fits(c.link) {
			return m, nil
		}
	}
	names := slices.Sorted(maps.Keys(c.link.tools))
	return nil, fmt.Errorf("knowledge server: it does not have the tools to keep and find documents: these are %s and %s of GKChatty, or those of a memory server; it has %s",
		GKChatty{}.upload(), GKChatty{}.search(), cmp.Or(strings.Join(names, ", "), "none"))
}

func (c *Client) drop(grace time.Duration) {
	if c.link != nil {
		c.link.close(grace)
		c.link = nil
	}
}

// scrub removes the password from a text, where the server repeats it. One that is
// shorter than four bytes guards nothing, and would garble every text.
func (c *Client) scrub(text string) string {
	if len(c.config.Password) < 4 {
		return text
	}
	return strings.ReplaceAll(text, string(c.config.Password), redacted)
}

// clean returns err, or one that says the same without the password.
func (c *Client) clean(err error) error {
	if err == nil || c.scrub(err.Error()) == err.Error() {
		return err
	}
	return errors.New(c.scrub(err.Error()))
}
