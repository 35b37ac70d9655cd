// Package responses speaks OpenAI's Responses API, at OpenAI, Azure, xAI and every
// server that speaks it too.
//
// Nothing is stored at the server: a conversation is sent whole each time, with the
// reasoning that the server sent in encrypted form, in its place. A request is sent
// once: the engine retries, and nothing here does. The one exception is a request
// whose reasoning is refused, which is sent again without it.
package responses

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/catalog"
)

// A Secret is text that does not show itself: see [wire.Secret].
type Secret = wire.Secret

// Config says which model to speak to, and how. Only Model is required.
type Config struct {
	// BaseURL is where the API is, such as "https://api.openai.com/v1", which is also
	// what empty means. A slash or /responses at its end does no harm, and a query is
	// kept.
	BaseURL string
	// Key is sent as a bearer token, or in KeyHeader as it is.
	Key       Secret
	KeyHeader string
	// Model is the model's name as the server knows it.
	Model string
	// Headers are sent with every request. Their values are kept out of errors.
	Headers map[string]string
	// HTTPClient sends the requests; nil means net/http's shared connections. Only
	// redirects that keep host and method are followed.
	HTTPClient *http.Client
	// IdleTimeout, BeginTimeout and AnswerTimeout are how long an answer may be
	// silent (0: a minute), take to begin (0: five times that), and take in all
	// (0: no limit).
	IdleTimeout, BeginTimeout, AnswerTimeout time.Duration
	// Known is what is known of the model; nil means what package catalog knows.
	Known *catalog.Info
	// Log is told once of everything odd about the server; nil means that nobody is.
	Log *slog.Logger
	// MaxAnswer bounds an answer, in bytes of text, thoughts and calls; 0 means 4 MiB.
	MaxAnswer int
	// MaxLine bounds one event of a stream, in bytes; 0 means enough for an answer.
	MaxLine int
}

// A Model is a model that is spoken to with the Responses API. It implements
// [github.com/troupe-dev/troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	client  *wire.Client
	host    string
	name    string
	known   catalog.Info
	lessons wire.Lessons
}

// New checks the configuration. It sends nothing.
func New(c Config) (*Model, error) {
	if c.Model == "" {
		return nil, errors.New("responses: the model has no name")
	}
	at, err := endpoint(c.BaseURL)
	if err != nil {
		return nil, err
	}
	header := c.KeyHeader
	if strings.EqualFold(header, "Authorization") {
		header = ""
	}
	client, err := wire.New(wire.Config{
		Package:    "responses",
		URL:        at,
		Key:        c.Key,
		KeyHeader:  header,
		Headers:    c.Headers,
		HTTPClient: c.HTTPClient,
		Patience:   wire.Patience{Begin: c.BeginTimeout, Silence: c.IdleTimeout, Whole: c.AnswerTimeout},
		MaxAnswer:  c.MaxAnswer,
		MaxLine:    c.MaxLine,
		Log:        c.Log,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{client: client, host: at.Hostname(), name: c.Model}
	if c.Known != nil {
		m.known = *c.Known
	} else {
		m.known, _ = catalog.FindAnywhere(c.Model)
	}
	return m, nil
}

// String names the model and its host, and shows nothing of its key.
func (m *Model) String() string { return m.name + " at " + m.host }

// GoString is the same.
func (m *Model) GoString() string { return m.String() }

// endpoint is the URL that requests go to.
func endpoint(base string) (*url.URL, error) {
	if base == "" {
		base = "https://api.openai.com/v1"
	}
	at, err := wire.ParseURL("responses", base)
	if err != nil {
		return nil, err
	}
	for _, path := range []*string{&at.Path, &at.RawPath} {
		*path = strings.TrimSuffix(strings.TrimSuffix(*path, "/responses"), "/chat/completions")
	}
	return at.JoinPath("responses"), nil
}
