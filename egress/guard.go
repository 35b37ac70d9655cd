package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A guard is the transport of a client: it checks every request and every
// address, and bounds every response.
type guard struct {
	transport *http.Transport
	grants    []grant
	maxBytes  int64
	userAgent string
	lookup    func(ctx context.Context, network, host string) ([]netip.Addr, error)
	connect   func(ctx context.Context, network, address string) (net.Conn, error)
}

// RoundTrip makes one request, of which a redirect is another.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if reason := refusedURL(req.URL); reason != "" {
		if req.Body != nil {
			_ = req.Body.Close() // it was not sent
		}
		return nil, refuse(req.URL, "", reason)
	}
	if req.Header.Get("User-Agent") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("User-Agent", g.userAgent)
	}
	resp, err := g.transport.RoundTrip(req)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return nil, refuse(req.URL, refused.Address, refused.Reason)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: g.maxBytes}
	return resp, nil
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (g *guard) CloseIdleConnections() { g.transport.CloseIdleConnections() }

func refusedURL(u *url.URL) string {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "only http and https are allowed"
	case u.User != nil:
		return "a URL with credentials"
	case u.Hostname() == "":
		return "a URL without a host"
	}
	return ""
}

// dial connects to the first address of a name that answers. A name is refused as
// a whole if one of its addresses is, so that the outcome does not depend on the
// order in which a name server gives them.
func (g *guard) dial(ctx context.Context, network, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	host = canonicalHost(host)
	addrs, err := g.addresses(ctx, host, port)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if reason := g.refused(host, addr, port); reason != "" {
			return nil, &RefusedError{Address: net.JoinHostPort(addr.String(), port), Reason: reason}
		}
	}
	var failure error
	for _, addr := range addrs {
		conn, err := g.connect(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		if failure == nil {
			failure = err
		}
	}
	return nil, failure
}

// addresses returns what a host stands for, at least one address. A name that
// can only mean something of the local network, or that other programs would read
// as a number, is not even looked up.
func (g *guard) addresses(ctx context.Context, host, port string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	if !g.grantsName(host, port) {
		if reason := refusedName(host); reason != "" {
			return nil, &RefusedError{Reason: reason}
		}
	}
	addrs, err := g.lookup(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("look up %s: it has no address", host)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

func refusedName(host string) string {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" {
		return "a number that is not an address"
	}
	if last == host {
		return "a name of the local network"
	}
	return ""
}

// refused says why an address may not be connected to, "" if it may.
func (g *guard) refused(host string, addr netip.Addr, port string) string {
	if g.grantsName(host, port) || g.grantsAddress(addr, port) {
		return ""
	}
	if reason := unreachable(addr); reason != "" {
		return reason
	}
	// Below 1024 there are no web servers but those of the web's own ports.
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n < 1024 && n != 80 && n != 443 {
		return "a port of another service than the web"
	}
	return ""
}

// ErrTooLarge is what reading a response's body gives, in place of io.EOF, where
// the body is longer than the client takes. What was read before is good: it is
// the beginning of the body, as much of it as is allowed.
var ErrTooLarge = errors.New("the response is larger than allowed")

// A boundedBody gives at most left bytes. It is below zero when there were more.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, b.left = int(b.left), -1
		return n, ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}
