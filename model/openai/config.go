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

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A Secret is text that does not show itself: printed, logged or encoded, in
// whatever way, it says "[redacted]". Convert it to string to get at the text.
type Secret = wire.Secret

// Config says which model to speak to, and how. Only Model is required.
type Config struct {
	// BaseURL is where the API is, such as "http://127.0.0.1:8080/v1". A slash or
	// /chat/completions at its end does no harm, and a query is kept. Empty means
	// OpenAI itself. [Provider] knows some others.
	BaseURL string
	// Key is sent as a bearer token. Empty sends none, as local servers like it.
	Key Secret
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
	// MaxTokensField is how the server calls the limit of an answer's tokens. Empty
	// means "max_completion_tokens" for the models of OpenAI that insist on it and
	// "max_tokens" for all others.
	MaxTokensField string
	// NoStreamUsage leaves out the wish for token counts, for servers that refuse
	// requests with a field they do not know.
	NoStreamUsage bool
	// OneSystem sends the system messages that a conversation begins with as one,
	// for servers whose chat templates take no more.
	OneSystem bool
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
// [troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	client *wire.Client
	host   string
	name   string

	maxTokensField string
	seedField      string
	streamUsage    bool
	oneSystem      bool
	textCalls      TextCalls

	// encoder names the encoding of messages, and encode makes it. Both depend on
	// the host only, so models of one host share what is encoded.
	encoder any
	encode  func(*troupe.Message) []byte
}

// messageEncoder and toolsEncoder are what encodings are kept under.
type (
	messageEncoder struct{ host string }
	toolsEncoder   struct{}
)

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
		client:         client,
		host:           host,
		name:           c.Model,
		maxTokensField: c.MaxTokensField,
		seedField:      seedField(host),
		oneSystem:      c.OneSystem,
		textCalls:      c.TextCalls,
		streamUsage:    !c.NoStreamUsage && takesStreamOptions(host),
		encoder:        messageEncoder{host},
		encode:         func(msg *troupe.Message) []byte { return encodeMessage(msg, host) },
	}
	if m.maxTokensField == "" {
		m.maxTokensField = maxTokensField(c.Model)
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
		base, _, _ = Provider("openai")
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
