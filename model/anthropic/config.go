// Package anthropic speaks Anthropic's Messages API, at Anthropic itself, at Amazon
// Bedrock and Google Vertex, and at every server that speaks it too.
//
// A request is sent once: the engine retries, and nothing here does. The one
// exception is a request whose thoughts are refused for their signature, which is
// sent again without them. Thoughts go back to the server and the model that had
// them, signed as they came and in their place; other models do not see them.
package anthropic

import (
	"errors"
	"log/slog"
	"maps"
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
	// BaseURL is where the API is, with or without /v1 or /v1/messages at its end.
	// Empty means Anthropic itself. A host bedrock-runtime... is spoken to as Bedrock
	// wants it, and one that has aiplatform in it as Vertex does.
	BaseURL string
	// Key is sent in KeyHeader, which is x-api-key where nothing else is said;
	// "Authorization" sends it as a bearer token, as Bedrock and Vertex always get it.
	Key       Secret
	KeyHeader string
	// Model is the model's name as the server knows it.
	Model string
	// Headers are sent with every request, in place of the client's own where the
	// names are the same; anthropic-beta is one. Their values are kept out of errors.
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
	// MaxTokens is the longest answer where a request does not say, because the API
	// insists on a limit; 0 means what the model can write, at most 32,000.
	MaxTokens int
	// Log is told once of everything odd about the server; nil means that nobody is.
	Log *slog.Logger
	// MaxAnswer bounds an answer, in bytes of text, thoughts and calls; 0 means 4 MiB.
	MaxAnswer int
	// MaxLine bounds one event of a stream, in bytes; 0 means enough for an answer.
	MaxLine int
}

// A Model is a model that is spoken to with the Messages API. It implements
// [github.com/troupe-dev/troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	client    *wire.Client
	host      string
	name      string
	place     place
	known     catalog.Info
	maxTokens int
	lessons   wire.Lessons
}

// A place is a kind of server, by what it wants around the same messages.
type place int

const (
	direct  place = iota // Anthropic, and all who do as it does
	bedrock              // the model is in the path, answers come in Amazon's frames
	vertex               // the model is in the path
)

// New checks the configuration. It sends nothing.
func New(c Config) (*Model, error) {
	if c.Model == "" {
		return nil, errors.New("anthropic: the model has no name")
	}
	at, where, err := endpoint(c.BaseURL, c.Model)
	if err != nil {
		return nil, err
	}
	client, err := wire.New(wire.Config{
		Package:    "anthropic",
		URL:        at,
		Key:        c.Key,
		KeyHeader:  keyHeader(c.KeyHeader, where),
		Headers:    headers(c.Headers, where),
		HTTPClient: c.HTTPClient,
		Patience:   wire.Patience{Begin: c.BeginTimeout, Silence: c.IdleTimeout, Whole: c.AnswerTimeout},
		MaxAnswer:  c.MaxAnswer,
		MaxLine:    c.MaxLine,
		Log:        c.Log,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{client: client, host: at.Hostname(), name: c.Model, place: where, maxTokens: c.MaxTokens}
	if c.Known != nil {
		m.known = *c.Known
	} else {
		m.known, _ = catalog.FindAnywhere(c.Model)
	}
	if m.maxTokens <= 0 {
		m.maxTokens = usualMaxTokens(m.known.Output)
	}
	return m, nil
}

// usualMaxTokens is a limit for answers of a model that can write so much. More would
// take room from the window, which some models count the limit against.
func usualMaxTokens(output int) int {
	const most, unknown = 32_000, 8192
	if output <= 0 {
		return unknown
	}
	return min(output, most)
}

// String names the model and its host, and shows nothing of its key.
func (m *Model) String() string { return m.name + " at " + m.host }

// GoString is the same.
func (m *Model) GoString() string { return m.String() }

// endpoint is the URL that requests go to, and what kind of server is there.
func endpoint(base, model string) (*url.URL, place, error) {
	if base == "" {
		base = "https://api.anthropic.com"
	}
	at, err := wire.ParseURL("anthropic", base)
	if err != nil {
		return nil, direct, err
	}
	switch host := at.Hostname(); {
	case strings.HasPrefix(host, "bedrock-runtime."):
		return at.JoinPath("model", url.PathEscape(model), "invoke-with-response-stream"), bedrock, nil
	case strings.Contains(host, "aiplatform") || strings.Contains(at.Path, "/publishers/anthropic"):
		if !strings.Contains(at.Path, "/publishers/") {
			at = at.JoinPath("publishers", "anthropic")
		}
		return at.JoinPath("models", url.PathEscape(model)+":streamRawPredict"), vertex, nil
	}
	for _, path := range []*string{&at.Path, &at.RawPath} {
		*path = strings.TrimSuffix(strings.TrimSuffix(*path, "/messages"), "/v1")
	}
	return at.JoinPath("v1", "messages"), direct, nil
}

// keyHeader is the header for the key, empty for a bearer token.
func keyHeader(configured string, where place) string {
	switch {
	case strings.EqualFold(configured, "Authorization") || where != direct && strings.EqualFold(configured, "x-api-key"):
		return ""
	case configured == "" && where == direct:
		return "x-api-key"
	}
	return configured
}

// headers are those configured, and the version of the API where it goes into one.
func headers(configured map[string]string, where place) map[string]string {
	all := maps.Clone(configured)
	if where != direct {
		return all
	}
	for name := range all {
		if strings.EqualFold(name, "anthropic-version") {
			return all
		}
	}
	if all == nil {
		all = map[string]string{}
	}
	all["anthropic-version"] = "2023-06-01"
	return all
}
