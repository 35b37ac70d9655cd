package mcp

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxFrame is the longest message that a server may send.
const maxFrame = 4 << 20

// A link is one connection to a server, from its start to its end.
type link struct {
	session *sdk.ClientSession
	process *process        // nil where the server is not ours to start
	life    context.Context // of calls: ends when the link is closed
	end     context.CancelFunc
	changed chan struct{} // has a value when the server's tools have changed
	lost    chan error    // has a value when the server did not answer
	isLost  atomic.Bool   // it does not answer any more: no call is made
	broken  chan struct{} // closed when the session is over
	err     error         // why it is over
}

// widelySpoken is the version of MCP that a server is greeted in first. Later ones begin
// with another request, to which some servers say nothing at all.
const widelySpoken = "2025-11-25"

// dial starts or reaches the server and greets it. Nothing that a server can ask
// of its client is on: not sampling, roots or elicitation.
func dial(ctx context.Context, c *Config) (*link, error) {
	l, err := greet(ctx, c, &sdk.ClientSessionOptions{ProtocolVersion: widelySpoken})
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused {
		return greet(ctx, c, nil) // it may speak later versions alone
	}
	return l, err
}

func greet(ctx context.Context, c *Config, o *sdk.ClientSessionOptions) (*link, error) {
	if c.URL != "" {
		return newLink(ctx, nil, httpTransport(c), o)
	}
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	l, err := newLink(ctx, p, p, o)
	if err != nil {
		p.stop()
		return nil, p.explain(err)
	}
	return l, nil
}

func newLink(ctx context.Context, p *process, t sdk.Transport, o *sdk.ClientSessionOptions) (*link, error) {
	l := &link{process: p, changed: make(chan struct{}, 1), lost: make(chan error, 1), broken: make(chan struct{})}
	client := sdk.NewClient(&sdk.Implementation{Name: "troupe", Version: "1"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case l.changed <- struct{}{}:
			default: // it will be looked at anyway
			}
		},
	})
	var err error
	if l.session, err = client.Connect(ctx, t, o); err != nil {
		return nil, err
	}
	l.life, l.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.broken)
		l.err = l.session.Wait()
	}()
	return l, nil
}

// lose says that the link is of no use any more.
func (l *link) lose(err error) {
	l.isLost.Store(true)
	select {
	case l.lost <- err:
	default: // somebody else said so
	}
}

// explain adds to the end of a link what the server said last.
func (l *link) explain(err error) error {
	if l.process != nil {
		return l.process.explain(err)
	}
	return err
}

// close ends the link, with the calls that are under way and the server's process.
func (l *link) close() {
	l.end()
	if l.process != nil {
		l.process.stop()
	}
	_ = l.session.Close() // whatever it says, the session is over
	<-l.broken
}
