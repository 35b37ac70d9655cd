// Package egress makes the one HTTP client that tools use, which refuses addresses that were not granted.
//
// What a tool is asked to fetch comes from a model, and so from whatever the model
// has read. The client of this package reaches the public web only: a name is
// looked up here, each of its addresses is checked, and what is dialled is the
// checked address itself, so no second answer of a name server can take its
// place. That holds for every hop of a redirect. What else an operator wants to
// be reached, such as a search engine in the same network, is granted by name or
// by address.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// A Config says what a client may reach and how much it takes. The zero value is
// a client for the public web.
type Config struct {
	// Allow grants what would be refused. An entry is a host name ("search.lan"),
	// an address ("10.0.0.7", "::1") or a range of them ("10.0.0.0/8"); a name or
	// an address may have a port ("localhost:8080"), without which all ports are
	// meant. A granted name may lead to any address: whoever grants it trusts
	// whoever answers for it.
	Allow []string
	// Timeout bounds one request from the first look-up to the last byte, over all
	// redirects: 30 s by default.
	Timeout time.Duration
	// MaxBytes bounds the body of a response after decompression: 4 MiB by
	// default. Reading on gives [ErrTooLarge] after that many bytes.
	MaxBytes int64
	// UserAgent is sent with requests that have none.
	UserAgent string

	// Lookup finds the addresses of a name; net.DefaultResolver by default.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked; a net.Dialer by default.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	maxRedirects = 5
	maxHeader    = 64 << 10
	dialTimeout  = 10 * time.Second // look-up and connecting together
)

// NewClient returns a client that keeps to the configuration. It uses no proxy,
// not even one that the environment names, because a proxy would hide the address
// that is connected to. It keeps no cookies.
func NewClient(c Config) (*http.Client, error) {
	if c.Timeout < 0 || c.MaxBytes < 0 {
		return nil, errors.New("egress: a limit is negative")
	}
	g := guard{
		maxBytes: c.MaxBytes, userAgent: c.UserAgent,
		lookup: c.Lookup, connect: c.Dial,
	}
	for _, entry := range c.Allow {
		granted, err := parseGrant(entry)
		if err != nil {
			return nil, err
		}
		g.grants = append(g.grants, granted)
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if g.maxBytes == 0 {
		g.maxBytes = 4 << 20
	}
	if g.userAgent == "" {
		g.userAgent = "troupe/1 (+https://github.com/troupe-dev/troupe)"
	}
	if g.lookup == nil {
		g.lookup = net.DefaultResolver.LookupNetIP
	}
	if g.connect == nil {
		g.connect = (&net.Dialer{Timeout: dialTimeout / 2}).DialContext
	}
	g.transport = &http.Transport{
		DialContext:            g.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
	}
	return &http.Client{Transport: &g, Timeout: c.Timeout, CheckRedirect: checkRedirect}, nil
}

// A RefusedError says that a request was not made. Its URL has no credentials.
type RefusedError struct {
	URL string
	// Address is what the URL led to, as address and port; it is empty where the
	// URL alone was reason enough.
	Address string
	Reason  string
}

// Error says what was refused and why.
func (e *RefusedError) Error() string {
	if e.Address == "" {
		return fmt.Sprintf("refuse %s: %s", e.URL, e.Reason)
	}
	return fmt.Sprintf("refuse %s at %s: %s", e.URL, e.Address, e.Reason)
}

// refuse makes the error for a URL.
func refuse(u *url.URL, address, reason string) error {
	bare := *u
	bare.User = nil
	return &RefusedError{URL: bare.String(), Address: address, Reason: reason}
}

// checkRedirect is asked before a redirect is followed. The client asks the guard
// again for each hop, which is what refuses its scheme, name and address.
func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return refuse(req.URL, "", fmt.Sprintf("more than %d redirects", maxRedirects))
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return refuse(req.URL, "", "redirect from https to "+req.URL.Scheme)
	}
	crossed := slices.ContainsFunc(via, func(r *http.Request) bool { return r.URL.Host != req.URL.Host })
	for name := range req.Header {
		// The standard library keeps back Authorization and cookies; keys of
		// services are sent under other names too.
		if crossed && !slices.Contains([]string{"Accept", "Accept-Language", "Content-Type", "Referer", "User-Agent"}, name) {
			req.Header.Del(name)
		}
	}
	return nil
}
