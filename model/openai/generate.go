package openai

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"

	"github.com/troupe-dev/troupe"
)

// errLeft says that the caller has heard enough.
var errLeft = errors.New("the caller left")

// Generate sends the request and yields the answer as it comes. Tool calls come
// last, when the server has said why the answer ended: one that stops before that
// is [troupe.ErrIncomplete] and yields no calls. An answer cut by its length does
// yield them, since they are part of what was said, but they are not to be run.
//
// A server's reason for ending that is none of the known ones counts as
// [troupe.FinishStop] if the model said something, and as an incomplete answer if
// not. An answer with calls always ends in [troupe.FinishCalls], unless it was
// cut or filtered.
func (m *Model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		err := m.ask(ctx, req, func(c troupe.Chunk) bool { return yield(c, nil) })
		switch {
		case err == nil || err == errLeft:
		case ctx.Err() != nil:
			yield(troupe.Chunk{}, ctx.Err())
		default:
			yield(troupe.Chunk{}, err)
		}
	}
}

func (m *Model) ask(ctx context.Context, req *troupe.Request, emit func(troupe.Chunk) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := m.request(ctx, req)
	if err != nil {
		return err
	}
	w := newWatch(m.idle, int64(m.maxAnswer)*streamFactor, cancel)
	w.start()
	resp, err := m.client.Do(r)
	if err = w.stop(err); err != nil {
		return m.unreachable(err)
	}
	defer resp.Body.Close()
	w.src = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return m.refused(resp, w)
	}
	a := &answer{model: m, emit: emit, watch: w, status: resp.StatusCode}
	src := bufio.NewReaderSize(w, 512)
	switch formOf(resp.Header, src) {
	case stream:
		return a.readStream(src)
	case whole:
		return a.readWhole(src)
	}
	data, err := io.ReadAll(io.LimitReader(src, maxErrorBody))
	switch {
	case err != nil:
		return a.incomplete(err)
	case len(data) == 0:
		return a.incomplete(io.ErrUnexpectedEOF)
	}
	return m.notACompletion(resp.StatusCode, data)
}

func (m *Model) request(ctx context.Context, req *troupe.Request) (*http.Request, error) {
	parts, err := m.parts(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, nil)
	if err != nil {
		return nil, errors.New("openai: " + m.scrub(err.Error()))
	}
	r.Header = m.header.Clone()
	r.ContentLength = size(parts)
	r.GetBody = func() (io.ReadCloser, error) { return &body{parts: parts}, nil }
	r.Body, _ = r.GetBody()
	return r, nil
}

// A form is how a server puts an answer.
type form int

const (
	neither form = iota
	stream
	whole
)

// formOf believes the header if it says event stream. Otherwise it looks at the
// answer itself, because servers mislabel both forms, and some send white space
// to keep a connection alive before the JSON.
func formOf(header http.Header, src *bufio.Reader) form {
	if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind == "text/event-stream" {
		return stream
	}
	for {
		c, err := src.ReadByte()
		if err != nil {
			return neither
		}
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			continue
		}
		src.UnreadByte()
		if c == '{' || c == '[' {
			return whole
		}
		begin, _ := src.Peek(len("event:"))
		if c == ':' || bytes.HasPrefix(begin, []byte("data:")) || bytes.HasPrefix(begin, []byte("event:")) {
			return stream
		}
		return neither
	}
}

// unreachable is the error of a request that got no answer. The URL, which may
// hold a secret, is not part of it.
func (m *Model) unreachable(err error) error {
	if wrapper, ok := errors.AsType[*url.Error](err); ok {
		err = wrapper.Err
	}
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	err = m.clean(err)
	return &troupe.ModelError{
		Message:   "no answer from " + m.host + ": " + shorten(err.Error()),
		Temporary: !isUntrusted,
		Err:       err,
	}
}
