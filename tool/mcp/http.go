package mcp

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport reaches a server by its address, through the client that was given.
func httpTransport(c *Config) sdk.Transport {
	place, _ := url.Parse(c.URL) // was checked
	client := *c.HTTPClient
	client.Transport = &guard{
		next: cmp.Or(c.HTTPClient.Transport, http.DefaultTransport), server: place, headers: c.Headers,
	}
	shown := url.URL{Scheme: place.Scheme, Host: place.Host}
	return &sdk.StreamableClientTransport{Endpoint: shown.String(), HTTPClient: &client, MaxEventSize: maxFrame}
}

// A guard adds to requests what only their server may see, so that it is in no
// error, and caps answers that are not streams; events have a cap of their own.
type guard struct {
	next    http.RoundTripper
	server  *url.URL
	headers map[string]string
}

// RoundTrip leaves requests alone that a redirect has led to another host.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == g.server.Scheme && req.URL.Host == g.server.Host {
		req = req.Clone(req.Context())
		if req.URL.Path == "" { // as all requests are before a redirect
			*req.URL = *g.server
		}
		for name, value := range g.headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &capped{ReadCloser: resp.Body, left: maxFrame}
	}
	return resp, nil
}

var errFrame = errors.New("the server's answer is longer than 4 MiB")

// A capped is a body that fails where it gets too long.
type capped struct {
	io.ReadCloser
	left int
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errFrame
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
