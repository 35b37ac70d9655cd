package gemini

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// anAnswer is what an answer should be.
const anAnswer = "an answer of generateContent"

// Generate sends the request and yields the answer as it comes. Tool calls come
// last, when the server has said why the answer ended: one that stops before that
// is io.ErrUnexpectedEOF and yields no calls.
func (m *Model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	form := messageForm{host: m.host, model: m.name, generation: m.generation}
	return wire.Turn{
		Client: m.client, Request: req, What: anAnswer, By: form.by(), KeepThoughts: true,
		Encode: func(unsigned bool) ([][]byte, error) {
			form := form
			form.withoutSignatures = unsigned
			return m.parts(req, form)
		},
		IsAboutSigned: isAboutSignatures,
		Learn:         func(err error) error { return m.adapt(err, req) },
		Read: func(reply wire.Reply, events *wire.Events) error {
			a := &answer{reply: reply, events: events}
			return wire.Paid(a.read(), a.reply.End)
		},
	}.Generate(ctx)
}

// isAboutSignatures reports whether a server refused signatures that were sent back.
func isAboutSignatures(err error) bool {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Status != http.StatusBadRequest {
		return false
	}
	said := strings.ToLower(e.Message)
	return strings.Contains(said, "thought signature") || strings.Contains(said, "thought_signature") || strings.Contains(said, "thoughtsignature")
}

// Lessons are what a server's refusals have taught.
const (
	noThinking = 1 << iota
	noSchema
)

func (m *Model) has(lesson uint32) bool { return m.lessons.Has(lesson) }

// adapt learns from a refusal, which is temporary where that helps.
func (m *Model) adapt(err error, req *troupe.Request) error {
	return m.lessons.Learn(m.client, err, req, func(r *wire.Refusal) uint32 {
		switch {
		case r.About("thinking"):
			return noThinking
		case len(r.Params.Schema) > 0 && (r.Reason == "schema" || r.About("schema", "mime")):
			return noSchema
		}
		return 0
	})
}
