package wire

import (
	"context"
	"iter"

	"github.com/troupe-dev/troupe"
)

// A Turn is one request to a model and the answer to it, for protocols in which a server
// wants to see again what it has signed.
type Turn struct {
	Client  *Client
	Request *troupe.Request
	// What is what an answer should be, such as "a message".
	What string
	// By is who answers; KeepThoughts is that of the [Reply].
	By           By
	KeepThoughts bool
	// Encode makes the pieces of the request's body; unsigned leaves out of them what
	// the server has signed.
	Encode func(unsigned bool) ([][]byte, error)
	// IsAboutSigned says whether a refusal is about what the server had signed itself:
	// the request is sent once more without. Nil means that none is.
	IsAboutSigned func(error) bool
	// Learn looks at every failure: see [Lessons.Learn].
	Learn func(error) error
	// Read reads the answer.
	Read func(reply Reply, events *Events) error
}

// Generate sends the request and yields the answer as it comes.
func (t Turn) Generate(ctx context.Context) iter.Seq2[troupe.Chunk, error] {
	return Generate(ctx, func(emit func(troupe.Chunk) bool) error {
		from, err := t.send(ctx, false)
		if err != nil && t.IsAboutSigned != nil && t.IsAboutSigned(err) {
			t.Client.Note("the server refuses what it had signed itself; it is left out")
			from, err = t.send(ctx, true)
		}
		if err != nil {
			return t.Learn(err)
		}
		defer from.Close()
		events, ok := from.Events()
		if !ok {
			return from.Foreign(t.What)
		}
		return t.Learn(t.Read(Reply{From: from, Emit: emit, By: t.By, KeepThoughts: t.KeepThoughts}, events))
	})
}

func (t Turn) send(ctx context.Context, unsigned bool) (*Answer, error) {
	parts, err := t.Encode(unsigned)
	if err != nil {
		return nil, err
	}
	return t.Client.Send(ctx, &Exchange{Parts: parts, MayCall: t.Request.Tools.Len() > 0})
}
