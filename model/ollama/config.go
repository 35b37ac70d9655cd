// Package ollama speaks Ollama's own API. Unlike its endpoint for chat completions
// it lets the context length be set, sends calls whole and counts tokens for certain.
//
// A request is sent once. Nothing here retries, because the engine does.
package ollama

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// A Secret is text that does not show itself: see [wire.Secret].
type Secret = wire.Secret

// Config says which model to speak to, and how. Only Model is required.
type Config struct {
	// BaseURL is where the server is, in any form that OLLAMA_HOST may have: a host,
	// a port or both, with or without http://. Empty means this machine.
	BaseURL string
	// Key is sent as a bearer token, as ollama.com wants it; KeyHeader is another
	// header for it.
	Key       Secret
	KeyHeader string
	// Model is the model's name, such as "qwen3:8b".
	Model string
	// ContextLength is how many tokens the server is to hold for the model, input
	// and output together; 0 leaves it to the server, which cuts off the beginning of
	// longer conversations without a word.
	ContextLength int
	// Headers are sent with every request. Their values are kept out of errors.
	Headers map[string]string
	// HTTPClient sends the requests; nil means net/http's shared connections.
	HTTPClient *http.Client
	// IdleTimeout, BeginTimeout and AnswerTimeout are how long an answer may be
	// silent (0: 10 minutes), take to begin (0: 30 minutes, as the server may have to
	// load the model), and take in all (0: no limit).
	IdleTimeout, BeginTimeout, AnswerTimeout time.Duration
	// Log is told once of everything odd about the server; nil means that nobody is.
	Log *slog.Logger
	// MaxAnswer bounds an answer, in bytes of text, thoughts and calls; 0 means 4 MiB.
	MaxAnswer int
	// MaxLine bounds one line of a stream, in bytes; 0 means enough for an answer.
	MaxLine int
}

// A Model is a model of an Ollama server. It implements
// [github.com/troupe-dev/troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	client        *wire.Client
	host          string
	name          string
	contextLength int
	lessons       wire.Lessons
}

// New checks the configuration. It sends nothing.
func New(c Config) (*Model, error) {
	if c.Model == "" {
		return nil, errors.New("ollama: the model has no name")
	}
	if c.ContextLength < 0 {
		return nil, errors.New("ollama: the context length is less than nothing")
	}
	base, err := provider.OllamaURL(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("ollama: the base URL: %w", err)
	}
	at, err := wire.ParseURL("ollama", base)
	if err != nil {
		return nil, err
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = 10 * time.Minute
	}
	if c.BeginTimeout <= 0 {
		c.BeginTimeout = max(30*time.Minute, c.IdleTimeout)
	}
	client, err := wire.New(wire.Config{
		Package:    "ollama",
		URL:        at.JoinPath("api", "chat"),
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
	return &Model{client: client, host: at.Hostname(), name: c.Model, contextLength: c.ContextLength}, nil
}

// String names the model and its host, and shows nothing of its key.
func (m *Model) String() string { return m.name + " at " + m.host }

// GoString is the same.
func (m *Model) GoString() string { return m.String() }
