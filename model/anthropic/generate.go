package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// aMessage is what an answer should be.
const aMessage = "a message"

// Generate sends the request and yields the answer as it comes. Tool calls come
// last, when the server has said that the answer has ended: one that stops before
// that is io.ErrUnexpectedEOF and yields no calls. Params.Seed has no counterpart
// in the API.
func (m *Model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	form := messageForm{host: m.host, model: m.name}
	return wire.Turn{
		Client: m.client, Request: req, What: aMessage, By: form.by(),
		Encode: func(unsigned bool) ([][]byte, error) {
			form := form
			form.withoutThoughts = unsigned
			return m.parts(req, form)
		},
		IsAboutSigned: func(err error) bool { return isAboutThoughts(err) && wire.HasOpaque(req.Messages) },
		Learn:         func(err error) error { return m.adapt(err, req) },
		Read: func(reply wire.Reply, events *wire.Events) error {
			a := &answer{reply: reply, events: events, open: map[int]*piece{}}
			err := a.read()
			a.reply.End.Usage = a.counts.usage()
			return wire.Paid(err, a.reply.End)
		},
	}.Generate(ctx)
}

// isAboutThoughts reports whether a server refused thoughts that were sent back to it.
func isAboutThoughts(err error) bool {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Status != http.StatusBadRequest {
		return false
	}
	said := strings.ToLower(e.Message)
	return strings.Contains(said, "signature") || strings.Contains(said, "thinking` blocks") || strings.Contains(said, "thinking blocks")
}

// Lessons are what a server's refusals have taught.
const (
	noTemperature = 1 << iota
	noAdaptive
	noThinking
	noSchema
	noCache
)

func (m *Model) has(lesson uint32) bool { return m.lessons.Has(lesson) }

// adapt learns from a refusal, which is temporary where that helps.
func (m *Model) adapt(err error, req *troupe.Request) error {
	return m.lessons.Learn(m.client, err, req, func(r *wire.Refusal) uint32 {
		switch p := r.Params; {
		case len(p.Schema) > 0 && !m.has(noSchema) && r.Reason == "schema":
			return noSchema
		case r.About("temperature", "top_p") && (p.Temperature != nil || p.TopP != nil):
			return noTemperature
		case r.About("cache_control") && req.Stable > 0:
			return noCache
		case r.About("effort", "adaptive", "thinking") && p.Effort != "" && m.thinksByItself():
			return noAdaptive
		case r.About("effort", "thinking", "budget_tokens") && p.Effort != "":
			return noThinking
		}
		return 0
	})
}
