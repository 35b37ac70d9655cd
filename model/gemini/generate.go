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
	return wire.Generate(ctx, func(emit func(troupe.Chunk) bool) error {
		form := messageForm{host: m.host, model: m.name, generation: m.generation}
		from, err := m.send(ctx, req, form)
		if isAboutSignatures(err) {
			m.client.Note("the server refuses what it had signed itself; it is left out")
			form.withoutSignatures = true
			from, err = m.send(ctx, req, form)
		}
		if err != nil {
			return m.adapt(err, req)
		}
		defer from.Close()
		events, ok := from.Events()
		if !ok {
			return from.Foreign(anAnswer)
		}
		a := &answer{reply: wire.Reply{From: from, Emit: emit, By: form.by(), KeepThoughts: true}, events: events}
		return a.read()
	})
}

func (m *Model) send(ctx context.Context, req *troupe.Request, form messageForm) (*wire.Answer, error) {
	parts, err := m.parts(req, form)
	if err != nil {
		return nil, err
	}
	return m.client.Send(ctx, &wire.Exchange{Parts: parts, MayCall: req.Tools.Len() > 0})
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
