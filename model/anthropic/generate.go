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
	return wire.Generate(ctx, func(emit func(troupe.Chunk) bool) error {
		form := messageForm{host: m.host, model: m.name}
		from, err := m.send(ctx, req, form)
		if m.isAboutThoughts(err) && hasThoughts(req.Messages) {
			m.client.Note("the server refuses thoughts that it had sent itself; they are left out")
			form.withoutThoughts = true
			from, err = m.send(ctx, req, form)
		}
		if err != nil {
			return m.adapt(err, req)
		}
		defer from.Close()
		events, ok := from.Events()
		if !ok {
			return from.Foreign(aMessage)
		}
		a := &answer{
			reply:  wire.Reply{From: from, Emit: emit, By: form.by()},
			events: events,
			open:   map[int]*piece{},
		}
		return m.adapt(a.read(), req)
	})
}

func (m *Model) send(ctx context.Context, req *troupe.Request, form messageForm) (*wire.Answer, error) {
	parts, err := m.parts(req, form)
	if err != nil {
		return nil, err
	}
	return m.client.Send(ctx, &wire.Exchange{Parts: parts, MayCall: req.Tools.Len() > 0})
}

// isAboutThoughts reports whether a server refused thoughts that were sent back to it.
func (m *Model) isAboutThoughts(err error) bool {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Status != http.StatusBadRequest {
		return false
	}
	said := strings.ToLower(e.Message)
	return strings.Contains(said, "signature") || strings.Contains(said, "thinking` blocks") || strings.Contains(said, "thinking blocks")
}

func hasThoughts(messages []*troupe.Message) bool {
	for _, message := range messages {
		if message.Role == troupe.RoleAssistant && len(message.Opaque) > 0 {
			return true
		}
	}
	return false
}

// Lessons are what a server's refusals have taught.
const (
	noTemperature = 1 << iota
	noAdaptive
	noThinking
	noSchema
	noCache
)

func (m *Model) has(lesson uint32) bool { return m.learned.Load()&lesson != 0 }

// adapt learns from a refusal. If the next request will be another one for it, the
// refusal is temporary: the engine tries again.
func (m *Model) adapt(err error, req *troupe.Request) error {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Status != http.StatusBadRequest || e.Reason == "context" || e.Reason == "money" || e.Reason == "key" {
		return err
	}
	p := req.Params
	if p == nil {
		p = &troupe.Params{}
	}
	said := strings.ToLower(e.Message)
	about := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(said, word) {
				return true
			}
		}
		return false
	}
	var lesson uint32
	switch {
	case len(p.Schema) > 0 && !m.has(noSchema) && e.Reason == "schema":
		lesson = noSchema
	case about("temperature", "top_p") && (p.Temperature != nil || p.TopP != nil):
		lesson = noTemperature
	case about("cache_control") && req.Stable > 0:
		lesson = noCache
	case about("effort", "adaptive", "thinking") && p.Effort != "" && m.thinksByItself():
		lesson = noAdaptive
	case about("effort", "thinking", "budget_tokens") && p.Effort != "":
		lesson = noThinking
	}
	if lesson != 0 && m.learned.Or(lesson)&lesson == 0 {
		m.client.Note("the server refuses a request for what it holds (" + e.Message + "); the next one is sent without")
		e.Temporary = true
	}
	return err
}
