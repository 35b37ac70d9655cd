package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
)

// An Exchange is one request and the answer to it.
type Exchange struct {
	// Parts are the pieces of the body, in order; they are not copied. Without any
	// the request is a GET.
	Parts [][]byte
	// URL is where it goes, in place of the client's own. It must be of the same host.
	URL *url.URL
	// MayCall says that the answer may hold tool calls: see [Patience].
	MayCall bool
	// Header is sent beside the client's own.
	Header http.Header
}

// An Answer is what a server sends. Reading it is watched: it ends in an error when
// nothing comes for too long, or when more comes than any answer needs.
type Answer struct {
	Status int
	Header http.Header

	client *Client
	watch  *watch
	body   io.Closer
	cancel func()
	src    *bufio.Reader
}

// send is [Client.Send], once.
func (c *Client) send(ctx context.Context, x *Exchange) (*Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := c.request(ctx, x)
	if err != nil {
		cancel()
		return nil, err
	}
	w := &watch{patience: c.patience, left: int64(c.maxAnswer) * streamFactor, cancel: cancel}
	if x.MayCall {
		w.patience.Silence = max(w.patience.Silence, w.patience.Begin)
	}
	w.start()
	resp, err := c.http.Do(r)
	if err = w.stop(err); err != nil {
		cancel()
		return nil, c.unreachable(err)
	}
	w.src = resp.Body
	a := &Answer{
		Status: resp.StatusCode, Header: resp.Header,
		client: c, watch: w, body: resp.Body, cancel: cancel, src: bufio.NewReaderSize(w, 512),
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer a.Close()
		return nil, a.refused()
	}
	return a, nil
}

func (c *Client) request(ctx context.Context, x *Exchange) (*http.Request, error) {
	at, method := x.URL, http.MethodPost
	if at == nil {
		at = c.url
	}
	if at.Host != c.url.Host || at.Scheme != c.url.Scheme {
		return nil, errors.New("wire: a request is not for the host that the client was made for")
	}
	if x.Parts == nil {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, at.String(), nil)
	if err != nil {
		return nil, errors.New("wire: " + c.Scrub(err.Error()))
	}
	r.Header = c.header.Clone()
	for name, values := range x.Header {
		r.Header[name] = values
	}
	if x.Parts != nil {
		r.ContentLength = size(x.Parts)
		r.GetBody = func() (io.ReadCloser, error) { return &body{parts: x.Parts}, nil }
		r.Body, _ = r.GetBody()
	}
	return r, nil
}

// Read reads the answer.
func (a *Answer) Read(p []byte) (int, error) { return a.src.Read(p) }

// Progressed notes that a piece of the answer has come. Until then the server is
// taken to be thinking, and what it sends to be keep-alives.
func (a *Answer) Progressed() { a.watch.progressed() }

// Drain reads the rest of a connection, if it comes at once, so that the connection
// serves the next request.
func (a *Answer) Drain() { a.watch.drain() }

// Close ends the exchange.
func (a *Answer) Close() {
	a.cancel()
	a.body.Close()
}

// A Form is how a server puts an answer.
type Form int

// The forms of answers.
const (
	Neither Form = iota // no JSON and no stream: a page, a text, or nothing
	Stream              // server-sent events
	Whole               // one JSON document, or several, one on a line
)

// Form finds out how the answer is put. It believes no header, because servers
// mislabel both forms: it looks at the answer itself, behind a byte order mark and
// the white space that some servers send to keep a connection alive.
func (a *Answer) Form() Form {
	if bom, _ := a.src.Peek(3); bytes.Equal(bom, []byte("\ufeff")) {
		a.src.Discard(3)
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	for {
		c, err := a.src.ReadByte()
		switch {
		case err != nil && kind == "text/event-stream":
			return Stream
		case err != nil:
			return Neither
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			continue
		}
		a.src.UnreadByte()
		if c == '{' || c == '[' {
			return Whole
		}
		begin, _ := a.src.Peek(len("event:"))
		if kind == "text/event-stream" || c == ':' || fieldName.Match(begin) {
			return Stream
		}
		return Neither
	}
}

// fieldName is what a line of an event stream begins with.
var fieldName = regexp.MustCompile(`^(data|event|error|id|retry):`)

// unreachable is the error of a request that got no answer. The URL, which may
// hold a secret, is not part of it.
func (c *Client) unreachable(err error) error {
	if wrapper, ok := errors.AsType[*url.Error](err); ok {
		err = wrapper.Err
	}
	e := &troupe.ModelError{Reason: "unreachable", Temporary: true}
	switch {
	case errors.Is(err, ErrSilence):
		e.Reason = "timeout"
	case isUntrusted(err):
		e.Reason, e.Temporary = "certificate", false
	case strings.Contains(err.Error(), lockedProxy): // net/http has the words alone
		e.Temporary = false
	case IsPlain(err), c.url.Scheme == "http" && IsTLS(err):
		e.Reason, e.Temporary = "address", false
	}
	hungUp := c.url.Scheme == "http" && HungUp(err)
	err = c.Clean(err)
	e.Message = "no answer from " + c.Host() + ": " + Shorten(err.Error())
	switch {
	case e.Reason == "address" && c.url.Scheme == "http":
		e.Message = c.Host() + " speaks https, not http: " + Shorten(err.Error())
	case e.Reason == "address":
		e.Message = c.Host() + " speaks http, not https: " + Shorten(err.Error())
	case hungUp:
		e.Message += "; it may speak https, and was asked by http"
	}
	e.Err = err
	return e
}

// lockedProxy is what a proxy says that wants a password.
const lockedProxy = "Proxy Authentication Required"

// IsTLS reports whether a server that was asked by http answers in TLS.
func IsTLS(err error) bool {
	return strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`) // an alert
}

// HungUp reports whether a server has closed the connection without a word, as many do
// that speak TLS alone and are asked by http.
func HungUp(err error) bool {
	for _, is := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// IsPlain reports whether a server that was asked by https does not speak TLS at all.
func IsPlain(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok || errors.Is(err, http.ErrSchemeMismatch)
}

// isUntrusted reports whether a server could not show who it is.
func isUntrusted(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}
