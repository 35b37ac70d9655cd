// Package a2a offers agents of others as tools, by the Agent2Agent protocol: a call sends
// a message, and its result is what the agent answers.
package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/troupe-dev/troupe"
)

// wellKnown is where the card of an agent is below its address.
const wellKnown = "/.well-known/agent-card.json"

// usualTimeout is how long an agent may take to answer where nobody says.
const usualTimeout = 5 * time.Minute

// maxCard is the largest card that is read, in bytes.
const maxCard = 1 << 20

// A Config says where an agent is.
type Config struct {
	// Name is what the tool is called.
	Name string
	// URL is the address of the agent, or of its card.
	URL string
	// Description says what the agent is good for. Default: what its card says.
	Description string
	// Headers are sent with every request.
	Headers map[string]string
	// Timeout bounds a call. Default: 5 minutes.
	Timeout time.Duration
	// HTTPClient is what requests are sent with.
	HTTPClient *http.Client
}

// An Agent is an agent somewhere else. It may be used concurrently.
type Agent struct {
	config Config
	http   *http.Client

	mu      sync.Mutex
	client  *a2aclient.Client
	about   string // what the card says
	isAsked bool   // for a description
}

// New returns an agent. Nobody is asked yet.
func New(c Config) *Agent {
	if c.Timeout == 0 {
		c.Timeout = usualTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	client := *c.HTTPClient
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	client.Transport = &headers{base, c.Headers}
	return &Agent{config: c, http: &client}
}

// headers adds headers to every request.
type headers struct {
	base  http.RoundTripper
	given map[string]string
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.given {
		r.Header.Set(name, value)
	}
	return h.base.RoundTrip(r)
}

// connect reads the agent's card, once it could be.
func (a *Agent) connect(ctx context.Context) (*a2aclient.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client != nil {
		return a.client, nil
	}
	card, err := a.readCard(ctx)
	if err != nil {
		return nil, err
	}
	older := a2aclient.TransportFactoryFn(func(_ context.Context, _ *sdk.AgentCard, at *sdk.AgentInterface) (a2aclient.Transport, error) {
		return a2av0.NewJSONRPCTransport(a2av0.JSONRPCTransportConfig{URL: at.URL, Client: a.http}), nil
	})
	client, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(a.http), a2aclient.WithRESTTransport(a.http),
		a2aclient.WithCompatTransport(a2av0.Version, sdk.TransportProtocolJSONRPC, older))
	if err != nil {
		return nil, fmt.Errorf("agent %s speaks none of the protocols that are known here: %w", a.config.Name, err)
	}
	a.about, a.client = oneLine(card.Name+": "+card.Description), client
	return client, nil
}

// readCard reads the card, which is where the address says or below it.
func (a *Agent) readCard(ctx context.Context) (*sdk.AgentCard, error) {
	address := strings.TrimSuffix(a.config.URL, "/")
	if !strings.HasSuffix(address, ".json") {
		address += wellKnown
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the answer was %s", address, answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxCard))
	if err != nil {
		return nil, err
	}
	card, err := a2av0.NewAgentCardParser()(data)
	if err != nil {
		return nil, fmt.Errorf("%s: this is no agent card: %w", address, err)
	}
	if card.Name == "" || len(card.SupportedInterfaces) == 0 {
		return nil, fmt.Errorf("%s: this is no agent card: it has no name, or says not where the agent is", address)
	}
	return card, nil
}

// input is the schema of a call.
const input = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
"message":{"type":"string","description":"what to say to the agent; it knows nothing of this conversation"},
"conversation":{"type":"string","description":"the conversation of an earlier result, to go on with it or to answer what was asked there"}}}`

// Tool returns the tool that asks the agent. Its description is that of the card, where
// the agent can be reached now and the configuration has none.
func (a *Agent) Tool(ctx context.Context) (troupe.Tool, error) {
	return troupe.NewRawTool(troupe.ToolSpec{
		Name: a.config.Name, Description: "Asks an agent elsewhere. " + a.describe(ctx), Input: json.RawMessage(input), Timeout: a.config.Timeout,
	}, a.call)
}

// describeTimeout is how long is waited for a description.
const describeTimeout = 3 * time.Second

// describe says what the agent is good for. An agent that is not there is waited for once.
func (a *Agent) describe(ctx context.Context) string {
	if a.config.Description != "" {
		return a.config.Description
	}
	a.mu.Lock()
	first := !a.isAsked
	a.isAsked = true
	a.mu.Unlock()
	if first {
		ctx, cancel := context.WithTimeout(ctx, describeTimeout)
		defer cancel()
		_, _ = a.connect(ctx) // a call says what is wrong
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.about != "" {
		return a.about
	}
	return a.config.Name
}

// maxDescription is how much of a card's description a model is told, in runes: cards
// are what others write.
const maxDescription = 1000

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxDescription {
		return string(runes[:maxDescription]) + "…"
	}
	return text
}

func (a *Agent) call(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
	var asked struct{ Message, Conversation string }
	if err := json.Unmarshal(in.Arguments, &asked); err != nil {
		return troupe.Result{}, err
	}
	client, err := a.connect(ctx)
	if err != nil {
		return troupe.Result{}, a.failure(ctx, err)
	}
	text, err := ask(ctx, client, in.ID, asked.Message, asked.Conversation, func(text string) error { return in.Progress(ctx, text) })
	if refused, ok := errors.AsType[*troupe.ToolError](err); ok {
		return troupe.Result{}, refused
	}
	if err != nil {
		return troupe.Result{}, a.failure(ctx, err)
	}
	return troupe.Result{Content: text}, nil
}

// failure says what became of a call that has no result.
func (a *Agent) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &troupe.ToolError{Class: "failed", Err: err, Message: fmt.Sprintf("the agent %s could not be asked: %v", a.config.Name, err)}
}
