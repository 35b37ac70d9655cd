// Package openai speaks the chat-completions API of OpenAI and of every server
// compatible with it.
//
// A request is sent once. Nothing here retries, because the engine does: a second
// layer of retries would multiply the first one and hide what happened. An error
// says whether trying again may help: see [troupe.ModelError].
package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
)

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
	// minute. Five times as long may pass before the answer begins, because models
	// think and local servers read long prompts without a word, and as long may a
	// server send nothing but keep-alives. Time in which the caller does not ask for
	// more is not counted.
	IdleTimeout time.Duration
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
	// MaxAnswer bounds an answer, in bytes of text, thoughts and calls; 0 means 4 MiB.
	MaxAnswer int
	// MaxLine bounds one event of a stream, in bytes; 0 means 1 MiB.
	MaxLine int
}

// A Model is a chat-completions model on some server. It implements
// [troupe.Model], does not change after [New] and may be used concurrently.
type Model struct {
	url       string
	host      string
	name      string
	header    http.Header
	client    *http.Client
	secrets   []string
	idle      time.Duration
	maxAnswer int
	maxLine   int

	maxTokensField string
	seedField      string
	streamUsage    bool
	oneSystem      bool

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
	header, err := headers(c)
	if err != nil {
		return nil, err
	}
	host := at.Hostname()
	m := &Model{
		url:            at.String(),
		host:           host,
		name:           c.Model,
		header:         header,
		client:         clientWithoutDetours(c.HTTPClient),
		secrets:        secretsOf(c, at),
		idle:           orDefault(c.IdleTimeout, time.Minute),
		maxAnswer:      orDefault(c.MaxAnswer, 4<<20),
		maxLine:        orDefault(c.MaxLine, sse.DefaultMaxLine),
		maxTokensField: c.MaxTokensField,
		seedField:      seedField(host),
		oneSystem:      c.OneSystem,
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

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// endpoint is the URL that requests go to. Its errors do not repeat the base URL,
// which may hold a password.
func endpoint(base string) (*url.URL, error) {
	if base == "" {
		base, _, _ = Provider("openai")
	}
	at, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return nil, errors.New("openai: the base URL is not a URL")
	}
	if at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" {
		return nil, errors.New("openai: the base URL must begin with http:// or https:// and a host")
	}
	at.Fragment, at.RawFragment = "", ""
	for _, path := range []*string{&at.Path, &at.RawPath} {
		*path = strings.TrimSuffix(strings.TrimRight(*path, "/"), "/chat/completions")
	}
	at = at.JoinPath("chat", "completions")
	return at, nil
}

func headers(c Config) (http.Header, error) {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream, application/json")
	header.Set("User-Agent", "troupe")
	if key := strings.TrimSpace(string(c.Key)); key != "" {
		if !isHeaderValue(key) {
			return nil, errors.New("openai: the key holds characters that no header may hold")
		}
		header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range c.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || !isHeaderValue(value) {
			return nil, fmt.Errorf("openai: header %q: neither name nor value may hold control characters, nor the name spaces or colons", name)
		}
		header.Set(name, value)
	}
	return header, nil
}

func isHeaderValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// clientWithoutDetours copies a client and makes it follow only redirects that
// keep scheme, host and method.
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
