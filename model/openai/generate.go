package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// errLeft says that the caller has heard enough.
var errLeft = errors.New("the caller left")

// Generate sends the request and yields the answer as it comes. Tool calls come
// last, when the server has said why the answer ended: one that stops before that
// is io.ErrUnexpectedEOF and yields no calls. An answer cut by its length does
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
	parts, err := m.parts(req)
	if err != nil {
		return err
	}
	x := &wire.Exchange{Parts: parts, MayCall: req.Tools.Len() > 0}
	if m.quirks.SessionHeader != "" && req.Session != "" {
		x.Header = http.Header{http.CanonicalHeaderKey(m.quirks.SessionHeader): {req.Session}}
	}
	from, err := m.client.Send(ctx, x)
	if err != nil {
		return m.adapt(err, req)
	}
	defer from.Close()
	events, ok := from.Events()
	if !ok {
		return from.Foreign(aCompletion)
	}
	a := &answer{model: m, emit: emit, from: from, events: events, choice: -1}
	a.speech.calls = newTextCalls(m.textCalls, m.name, req.Tools)
	return m.adapt(wire.Paid(a.read(), a.end), req)
}

// aCompletion is what an answer should be.
const aCompletion = "a chat completion"
