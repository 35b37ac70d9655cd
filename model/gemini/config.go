// Package gemini speaks Google's generateContent API, of Gemini and of Vertex AI.
//
// A request is sent once: the engine retries, and nothing here does. The one
// exception is a request whose thoughts are refused for their signature, which is
// sent again without them. What Google signs, which may be any part of an answer,
// goes back to the server and the model that sent it, in its place.
package gemini

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/catalog"
)

// A Secret is text that does not show itself: see [wire.Secret].
type Secret = wire.Secret

// Config says which model to speak to, and how. Only Model is required.
type Config struct {
	// BaseURL is where the API is, such as
	// "https://generativelanguage.googleapis.com/v1beta", which is also what empty
	// means. An address of Vertex AI ends with the location or with publishers/google.
	BaseURL string
	// Key is sent in KeyHeader, which is x-goog-api-key where nothing else is said;
	// "Authorization" sends it as a bearer token, as Vertex AI always gets it.
	Key       Secret
	KeyHeader string
	// Model is the model's name, such as "gemini-3.5-flash".
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

// A Model is a model that is spoken to with generateContent. It implements
// [github.com/troupe-dev/troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	client     *wire.Client
	host       string
	name       string
	generation int
	known      catalog.Info
	lessons    wire.Lessons
}

// New checks the configuration. It sends nothing.
func New(c Config) (*Model, error) {
	name := strings.TrimPrefix(c.Model, "models/")
	if name == "" {
		return nil, errors.New("gemini: the model has no name")
	}
	at, err := endpoint(c.BaseURL, name)
	if err != nil {
		return nil, err
	}
	header := c.KeyHeader
	switch {
	case strings.EqualFold(header, "Authorization") || header == "" && isVertex(at):
		header = ""
	case header == "":
		header = "x-goog-api-key"
	}
	client, err := wire.New(wire.Config{
		Package:    "gemini",
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
	m := &Model{client: client, host: at.Hostname(), name: name, generation: generation(name)}
	if c.Known != nil {
		m.known = *c.Known
	} else {
		m.known, _ = catalog.FindAnywhere(name)
	}
	return m, nil
}

// String names the model and its host, and shows nothing of its key.
func (m *Model) String() string { return m.name + " at " + m.host }

// GoString is the same.
func (m *Model) GoString() string { return m.String() }

// endpoint is the URL that requests go to.
func endpoint(base, model string) (*url.URL, error) {
	if base == "" {
		base = "https://generativelanguage.googleapis.com/v1beta"
	}
	at, err := wire.ParseURL("gemini", base)
	if err != nil {
		return nil, err
	}
	if isVertex(at) && !strings.Contains(at.Path, "/publishers/") {
		at = at.JoinPath("publishers", "google")
	}
	at = at.JoinPath("models", url.PathEscape(model)+":streamGenerateContent")
	query := at.Query()
	query.Set("alt", "sse")
	at.RawQuery = query.Encode()
	return at, nil
}

func isVertex(at *url.URL) bool { return strings.Contains(at.Hostname(), "aiplatform") }

var generationOf = regexp.MustCompile(`gemini-(\d+)`)

// generation is the number of a model's generation: 3 of gemini-3.5-flash. Names
// without a number are taken for the newest, and other models than Gemini for old.
func generation(model string) int {
	m := generationOf.FindStringSubmatch(model)
	switch {
	case m != nil:
		n, _ := strconv.Atoi(m[1])
		return n
	case strings.HasPrefix(model, "gemini-") && strings.HasSuffix(model, "-latest"):
		return 99
	}
	return 0
}
