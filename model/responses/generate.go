package responses

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// aResponse is what an answer should be.
const aResponse = "an answer of the Responses API"

// Generate sends the request and yields the answer as it comes. Tool calls come
// last, when the server has said how the answer ended: one that stops before that
// is io.ErrUnexpectedEOF and yields no calls. Params.Stop and Params.Seed have no
// counterpart in the API.
func (m *Model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	form := messageForm{host: m.host, model: m.name}
	return wire.Turn{
		Client: m.client, Request: req, What: aResponse, By: form.by(),
		Encode: func(unsigned bool) ([][]byte, error) {
			form := form
			form.withoutReasoning = unsigned
			return m.parts(req, form)
		},
		IsAboutSigned: func(err error) bool { return isAboutReasoning(err) && wire.HasOpaque(req.Messages) },
		Learn:         func(err error) error { return m.adapt(err, req) },
		Read: func(reply wire.Reply, events *wire.Events) error {
			a := &answer{reply: reply, events: events, items: map[int]*item{}}
			return wire.Paid(a.read(), a.reply.End)
		},
	}.Generate(ctx)
}

// isAboutReasoning reports whether a server refused reasoning that was sent back.
func isAboutReasoning(err error) bool {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Status != http.StatusBadRequest || isUnsupported(e.Message) {
		return false
	}
	said := strings.ToLower(e.Code + " " + e.Message)
	return strings.Contains(said, "encrypted content") || strings.Contains(said, "encrypted_content") ||
		strings.Contains(said, "'reasoning'") || strings.Contains(said, "rs_")
}

func isUnsupported(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "not supported") || strings.Contains(message, "unsupported") || strings.Contains(message, "unknown parameter")
}

// Lessons are what a server's refusals have taught.
const (
	noTemperature = 1 << iota
	noEncrypted
	noSummary
	noEffort
	noSession
	noStrict
	noSchema
)

func (m *Model) has(lesson uint32) bool { return m.lessons.Has(lesson) }

// adapt learns from a refusal, which is temporary where that helps.
func (m *Model) adapt(err error, req *troupe.Request) error {
	return m.lessons.Learn(m.client, err, req, func(r *wire.Refusal) uint32 {
		switch p := r.Params; {
		case r.About("temperature", "top_p") && (p.Temperature != nil || p.TopP != nil):
			return noTemperature
		case r.About("encrypted"):
			return noEncrypted
		case r.About("summar"):
			return noSummary
		case r.About("reasoning"):
			return noEffort
		case r.About("prompt_cache_key"):
			return noSession
		case r.Reason == "schema" && len(p.Schema) > 0 && !m.has(noStrict):
			return noStrict
		case r.Reason == "schema" && len(p.Schema) > 0:
			return noSchema
		}
		return 0
	})
}
