// Package openai speaks the chat-completions API of OpenAI and of every server
// compatible with it.
//
// A request is sent once. Nothing here retries, because the engine does: a second
// layer of retries would multiply the first one and hide what happened. An error
// says whether trying again may help: see [troupe.ModelError].
package openai

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// A Secret is text that does not show itself: printed, logged or encoded, in
// whatever way, it says "[redacted]". Convert it to string to get at the text.
type Secret = wire.Secret

// Config says which model to speak to, and how. Only Model is required.
type Config struct {
	// BaseURL is where the API is, such as "http://127.0.0.1:8080/v1". A slash or
	// /chat/completions at its end does no harm, and a query is kept. Empty means
	// OpenAI itself. Package provider knows others.
	BaseURL string
	// Key is sent as a bearer token, or in KeyHeader as it is. Empty sends none, as
	// local servers like it.
	Key       Secret
	KeyHeader string
	// Model is the model's name as the server knows it.
	Model string
	// Headers are sent with every request, in place of the client's own where the
	// names are the same. Their values are kept out of errors, like the key.
	Headers map[string]string
	// HTTPClient sends the requests; nil means net/http's shared connections. Its
	// redirect policy is not used: a redirect to another host would carry the key
	// there, so only those that keep host and method are followed.
	HTTPClient *http.Client
	// IdleTimeout is the longest silence in the midst of an answer; 0 means a
	// minute. BeginTimeout is the longest wait for the answer to begin, because
	// models think and local servers read long prompts without a word; 0 means five
	// times IdleTimeout. As long may a server send nothing but keep-alives, and be
	// silent where it may be collecting a tool call. AnswerTimeout is the longest
	// time for a whole answer; 0 means no limit. Time in which the caller does not
	// ask for more is not counted.
	IdleTimeout, BeginTimeout, AnswerTimeout time.Duration
	// Quirks are in what the server differs from the book. Nil means those of the
	// provider whose host the base URL has; some that are not known here are learned
	// from the server's refusals.
	Quirks *provider.Quirks
	// Efforts are the words that the model takes for [troupe.Params] Effort, from the
	// least to the most. Another word is sent as the nearest of these; none means
	// that all are sent as they are.
	Efforts []string
	// TextCalls says what becomes of calls that the model writes into its text.
	TextCalls TextCalls
	// Log is told once of every side field of an answer that has another type than
	// it should and is ignored; nil means that nobody is.
	Log *slog.Logger
	// MaxAnswer bounds an answer, in bytes of text, thoughts and calls; 0 means 4 MiB.
	MaxAnswer int
	// MaxLine bounds one event of a stream, in bytes; 0 means enough for an answer.
	MaxLine int
}

// A Model is a chat-completions model on some server. It implements
// [github.com/troupe-dev/troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	client *wire.Client
	host   string
	name   string

	quirks    provider.Quirks
	efforts   []string
	textCalls TextCalls
	learned   lessons
}

// New checks the configuration. It sends nothing.
func New(c Config) (*Model, error) {
	if c.Model == "" {
		return nil, errors.New("openai: the model has no name")
	}
	at, err := endpoint(c.BaseURL)
	if err != nil {
		return nil, err
	}
	client, err := wire.New(wire.Config{
		Package:    "openai",
		URL:        at,
		Key:        c.Key,
		KeyHeader:  c.KeyHeader,
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
	host := at.Hostname()
	m := &Model{
		client:    client,
		host:      host,
		name:      c.Model,
		efforts:   c.Efforts,
		textCalls: c.TextCalls,
	}
	if c.Quirks != nil {
		m.quirks = *c.Quirks
	} else if known, ok := provider.OfHost(host); ok {
		m.quirks = known.Quirks
	}
	return m, nil
}

// String names the model and its host, and shows nothing of its key.
func (m *Model) String() string { return m.name + " at " + m.host }

// GoString is the same.
func (m *Model) GoString() string { return m.String() }

// endpoint is the URL that requests go to. Its errors do not repeat the base URL,
// which may hold a password.
func endpoint(base string) (*url.URL, error) {
	if base == "" {
		base = "https://api.openai.com/v1"
	}
	at, err := wire.ParseURL("openai", base)
	if err != nil {
		return nil, err
	}
	for _, path := range []*string{&at.Path, &at.RawPath} {
		*path = strings.TrimSuffix(strings.TrimRight(*path, "/"), "/chat/completions")
	}
	at = at.JoinPath("chat", "completions")
	return at, nil
}
