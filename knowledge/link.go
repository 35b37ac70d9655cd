package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// closeGrace is how long a server's process may take to end by itself.
const closeGrace = 2 * time.Second

// A link is one connection to a server.
type link struct {
	session *mcp.ClientSession
	tools   map[string]*mcp.Tool
	process *process // nil where the server is not ours to start
	timeout time.Duration
}

// dial starts or reaches the server and learns what it can do.
func dial(ctx context.Context, c *ClientConfig) (*link, error) {
	if c.URL != "" {
		client := *c.HTTPClient
		client.Transport = capped{cmp.Or(c.HTTPClient.Transport, http.DefaultTransport)}
		return newLink(ctx, nil, &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: &client, DisableStandaloneSSE: true, MaxRetries: -1})
	}
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	return newLink(ctx, p, &mcp.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: maxFrame})
}

// newLink greets a server. It can ask nothing of us.
func newLink(ctx context.Context, p *process, t mcp.Transport) (*link, error) {
	l := &link{process: p, tools: map[string]*mcp.Tool{}}
	defer l.guard(ctx)()
	client := mcp.NewClient(&mcp.Implementation{Name: "troupe", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	var err error
	if l.session, err = client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: lastWithSessions}); err != nil {
		if p != nil {
			p.end(0)
		}
		return nil, err
	}
	for tool, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			l.close(0)
			return nil, fmt.Errorf("list tools: %w", err)
		}
		l.tools[tool.Name] = tool
	}
	return l, nil
}

// guard ends the server's process when ctx is done, until the function that it
// returns is called. A server that does not read keeps a call from returning.
func (l *link) guard(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() {
		if l.process != nil {
			l.process.end(0)
		}
	})
}

func (l *link) close(grace time.Duration) {
	if l.process != nil {
		l.process.end(grace)
	}
	_ = l.session.Close() // whatever it says, the session is over
}

// offers reports whether the server has a tool that takes the arguments.
func (l *link) offers(tool string, arguments ...string) bool {
	t := l.tools[tool]
	if t == nil {
		return false
	}
	schema, _ := t.InputSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	return !slices.ContainsFunc(arguments, func(name string) bool { return properties[name] == nil })
}

// errLost reports a server that did not answer.
var errLost = errors.New("the server did not answer")

// An answer is what a tool says, and the data beside it.
type answer struct {
	text string
	data json.RawMessage
}

// call has the server carry out a tool. What a server calls a failure is one.
func (l *link) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	defer l.guard(ctx)()
	result, err := l.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w: %w", tool, errLost, cmp.Or(ctx.Err(), err))
	}
	var a answer
	for _, part := range result.Content {
		if text, ok := part.(*mcp.TextContent); ok {
			a.text += text.Text
		}
	}
	if result.StructuredContent != nil {
		if a.data, err = json.Marshal(result.StructuredContent); err != nil {
			return answer{}, fmt.Errorf("%s: %w", tool, err)
		}
	}
	complaint := complaintIn(firstLine(a.text))
	if result.IsError {
		complaint = cmp.Or(firstLine(a.text), "it does not say why")
	}
	if complaint != "" {
		return answer{}, refusal(tool, complaint)
	}
	return a, nil
}

// refusal is the error of a server that says what went wrong.
func refusal(tool, complaint string) error {
	kind := ErrRefused
	if low := strings.ToLower(complaint); strings.Contains(low, "session expired") || strings.Contains(low, "no user selected") {
		kind = errSignedOut
	}
	return fmt.Errorf("%s: %w: %s", tool, kind, preview(complaint))
}

// complaintIn returns the line of a text that says, as GKChatty does, what went
// wrong, or nothing.
func complaintIn(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "Error"); ok && (rest == "" || rest[0] == ':' || rest[0] == ' ') || strings.HasPrefix(line, "❌") {
			return line
		}
	}
	return ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// A capped limits what is read of one answer.
type capped struct{ next http.RoundTripper }

func (c capped) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxFrame)
	return resp, nil
}
