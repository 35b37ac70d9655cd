// Package wire carries requests to model servers and their answers back: what all
// providers share below their own protocol.
//
// A [Client] sends a request once, with the key, to the one server it was made for,
// and follows no redirect to another. It watches the answer, so that a silent server
// does not hold up a run for ever, reads the server's complaints in whatever form
// they come, and keeps secrets out of every error.
package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/internal/sse"
)

// Config says where a server is and how it is spoken to. Only URL is required.
type Config struct {
	// Package begins the errors of New, such as "openai".
	Package string
	// URL is where requests go. Passwords and query values in it are secrets.
	URL *url.URL
	// Key is sent as a bearer token, or in KeyHeader as it is. Empty sends none.
	Key       Secret
	KeyHeader string
	// Headers are sent with every request, in place of the client's own where the
	// names are the same. Their values are secrets.
	Headers map[string]string
	// HTTPClient sends the requests; nil means net/http's shared connections. Its
	// redirect policy is not used.
	HTTPClient *http.Client
	// Patience is how long the server is waited for.
	Patience Patience
	// MaxAnswer bounds an answer, in bytes of text, thoughts and calls; 0 means 4 MiB.
	MaxAnswer int
	// MaxLine bounds one event of a stream, in bytes; 0 means four times MaxAnswer,
	// as JSON may take several bytes for one.
	MaxLine int
	// Log is told once of every side field of an answer that has another type than
	// it should and is ignored; nil means that nobody is.
	Log *slog.Logger
}

// A Client speaks to one server. It does not change after [New] and may be used
// concurrently.
type Client struct {
	url       *url.URL
	header    http.Header
	http      *http.Client
	secrets   []string
	patience  Patience
	maxAnswer int
	maxLine   int
	log       *slog.Logger
	noted     sync.Map // what Note was told of before
}

// New checks the configuration. It sends nothing.
func New(c Config) (*Client, error) {
	header, err := headers(&c)
	if err != nil {
		return nil, err
	}
	client := &Client{
		url:       c.URL,
		header:    header,
		http:      clientWithoutDetours(c.HTTPClient),
		secrets:   secretsOf(&c),
		patience:  c.Patience.withDefaults(),
		maxAnswer: c.MaxAnswer,
		maxLine:   c.MaxLine,
		log:       c.Log,
	}
	if client.maxAnswer <= 0 {
		client.maxAnswer = 4 << 20
	}
	if client.maxLine <= 0 {
		client.maxLine = max(4*client.maxAnswer, sse.DefaultMaxLine)
	}
	return client, nil
}

// ParseURL reads a base URL. Its errors do not repeat it, because it may hold a
// password. A fragment and slashes at the end of the path are dropped.
func ParseURL(pkg, base string) (*url.URL, error) {
	at, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return nil, errors.New(pkg + ": the base URL is not a URL")
	}
	if at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" {
		return nil, errors.New(pkg + ": the base URL must begin with http:// or https:// and a host")
	}
	at.Fragment, at.RawFragment = "", ""
	at.Path, at.RawPath = strings.TrimRight(at.Path, "/"), strings.TrimRight(at.RawPath, "/")
	return at, nil
}

// Host is the server's name, without its port.
func (c *Client) Host() string { return c.url.Hostname() }

// MaxAnswer is the largest answer, in bytes of text, thoughts and calls.
func (c *Client) MaxAnswer() int { return c.maxAnswer }

// MaxLine is the largest event of a stream, in bytes.
func (c *Client) MaxLine() int { return c.maxLine }

// Note logs something odd about the server's answers, the first time it is seen.
func (c *Client) Note(what string) {
	if c.log == nil || what == "" {
		return
	}
	if _, seen := c.noted.LoadOrStore(what, true); !seen {
		c.log.Warn("odd answer of a model server", "host", c.Host(), "what", what)
	}
}

func headers(c *Config) (http.Header, error) {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream, application/json")
	header.Set("User-Agent", "troupe")
	if key := strings.TrimSpace(string(c.Key)); key != "" {
		if !isHeaderValue(key) {
			return nil, errors.New(c.Package + ": the key holds characters that no header may hold")
		}
		if c.KeyHeader == "" {
			header.Set("Authorization", "Bearer "+key)
		} else {
			header.Set(c.KeyHeader, key)
		}
	}
	for name, value := range c.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || !isHeaderValue(value) {
			return nil, fmt.Errorf("%s: header %q: neither name nor value may hold control characters, nor the name spaces or colons", c.Package, name)
		}
		header.Set(name, value)
	}
	return header, nil
}

func isHeaderValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// clientWithoutDetours copies a client and makes it follow only redirects that
// keep scheme, host and method: another host would be given the key.
func clientWithoutDetours(client *http.Client) *http.Client {
	own := &http.Client{}
	if client != nil {
		*own = *client
	}
	own.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > 3 || next.Method != first.Method || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return own
}
