package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
)

// Lessons are what a server's refusals have taught.
const (
	noStreamOptions = 1 << iota
	otherTokensField
	noTemperature
	oneSystem
	noEffort
	noSession
	nineIDs
	reasoningBack
)

// lessons are what was learned of a server. They may be used concurrently.
type lessons struct {
	wire.Lessons
	schema atomic.Int32 // how many levels lower than believed answers can be bound
}

// A teaching is a refusal that says how a request has to be. All words of one of
// its lists stand in the refusal, and the request has what they are about.
type teaching struct {
	lesson uint32
	about  func(*troupe.Request) bool
	words  [][]string
}

func anything(*troupe.Request) bool      { return true }
func tokenLimit(r *troupe.Request) bool  { return r.Params != nil && r.Params.MaxTokens != nil }
func temperature(r *troupe.Request) bool { return r.Params != nil && r.Params.Temperature != nil }
func effort(r *troupe.Request) bool      { return r.Params != nil && r.Params.Effort != "" }
func session(r *troupe.Request) bool     { return r.Session != "" }

func manySystem(r *troupe.Request) bool {
	return len(r.Messages) > 1 && r.Messages[0].Role == troupe.RoleSystem && r.Messages[1].Role == troupe.RoleSystem
}

func earlierCalls(r *troupe.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m *troupe.Message) bool { return len(m.Calls) > 0 })
}

var teachings = []teaching{
	{noStreamOptions, anything, [][]string{{"stream_options"}, {"include_usage"}}},
	{otherTokensField, tokenLimit, [][]string{{"max_tokens", "max_completion_tokens"}, {"max_completion_tokens", "not permitted"}, {"max_completion_tokens", "unknown"}, {"max_completion_tokens", "unrecognized"}}},
	{noTemperature, temperature, [][]string{{"temperature", "not support"}, {"temperature", "unsupported"}, {"temperature", "deprecated"}, {"temperature", "only the default"}}},
	{oneSystem, manySystem, [][]string{{"system message must be at the beginning"}, {"only one system message"}, {"multiple system messages"}, {"roles must alternate"}, {"system message", "first"}}},
	{noEffort, effort, [][]string{{"reasoning_effort"}, {"reasoning effort", "not support"}}},
	{noSession, session, [][]string{{"prompt_cache_key"}}},
	{nineIDs, earlierCalls, [][]string{{"tool call id", "length of 9"}, {"tool_call_id", "length of 9"}}},
	{reasoningBack, earlierCalls, [][]string{{"reasoning_content", "pass"}, {"reasoning_content", "missing"}}},
}

// adapt learns from a refusal. If the next request will be another one for it, the
// refusal is temporary: the engine tries again.
func (m *Model) adapt(err error, req *troupe.Request) error {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Temporary && e.Status < http.StatusInternalServerError || e.Reason == "context" || e.Reason == "money" || e.Reason == "key" {
		return err
	}
	said := strings.ToLower(e.Code + "\n" + e.Message)
	for _, t := range teachings {
		if t.about(req) && t.isIn(said) && m.learned.Add(t.lesson) {
			m.client.Note("the server does not take something that was sent along (" + e.Message + "); it is asked again without that, and nothing needs to be done")
			e.Temporary = true
			return err
		}
	}
	if e.Reason == "schema" && req.Params != nil && len(req.Params.Schema) > 0 {
		_, e.Temporary = m.schemaLevel(req).Below()
		if e.Temporary {
			m.learned.schema.Add(1)
		}
	}
	return err
}

func (t *teaching) isIn(said string) bool {
	for _, list := range t.words {
		all := true
		for _, word := range list {
			all = all && strings.Contains(said, word)
		}
		if all {
			return true
		}
	}
	return false
}

// schemaLevel is how far the answer to a request is to be bound to its schema.
func (m *Model) schemaLevel(req *troupe.Request) provider.SchemaLevel {
	level := m.quirks.Schema
	if level == "" {
		level = provider.SchemaJSON
	}
	if m.quirks.NoSchemaWithTools && req.Tools.Len() > 0 {
		level = provider.SchemaPrompt
	}
	for range m.learned.schema.Load() {
		level, _ = level.Below()
	}
	return level
}
