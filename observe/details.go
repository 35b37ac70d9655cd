package observe

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// details are the attributes of one log line in the making.
type details struct {
	attrs []slog.Attr
	runes int // of a long text
}

func (d *details) add(attrs ...slog.Attr) { d.attrs = append(d.attrs, attrs...) }

// word adds a short text, unless there is none.
func (d *details) word(key, value string) {
	if value != "" {
		d.add(slog.String(key, value))
	}
}

// text adds a text that may be long.
func (d *details) text(key, value string) { d.word(key, shorten(value, d.runes)) }

// shorten returns at most n runes of text.
func shorten(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

func (d *details) body(body troupe.Body) {
	switch b := body.(type) {
	case *troupe.RunStarted:
		d.text("task", b.Input.Task)
		if b.Edited {
			d.add(slog.Bool("edited", true))
			d.word("edited_by", b.EditedBy)
		}
	case *troupe.ContextLoaded:
		d.word("source", b.Source)
		d.add(slog.Int("size", b.Size))
	case *troupe.UserSaid:
		d.text("text", b.Text)
	case *troupe.ModelReplied:
		d.reply(b)
	case *troupe.ToolCalled:
		d.word("tool", b.Tool)
		d.add(slog.Int("attempt", b.Attempt))
		d.text("args", string(b.Arguments))
		d.changes(b.Changed)
	case *troupe.ToolReturned:
		d.returned(b)
	case *troupe.HandedOff:
		d.word("from", b.From)
		d.word("to", b.To)
		d.text("task", b.Handoff.Task)
	case *troupe.InputRequested:
		d.word("tool", b.Tool)
		d.text("text", b.Question)
		d.text("args", string(b.Arguments))
	case *troupe.ArtifactSaved:
		d.text("path", b.Path)
		d.add(slog.Int64("size", b.Size))
	case *troupe.ContextCompacted:
		d.add(slog.Int("dropped", b.Dropped), slog.Int("kept", b.Kept),
			slog.Int("tokens_before", b.TokensBefore), slog.Int("tokens_after", b.TokensAfter))
		d.text("text", b.Summary)
	case *troupe.ModelFailed:
		d.word("purpose", b.Purpose)
		d.add(slog.Int("attempt", b.Attempt))
		d.word("reason", b.Reason)
		d.text("err", b.Error)
		if b.RetryIn > 0 {
			d.add(slog.Duration("retry_in", b.RetryIn.Duration()))
		}
		if b.Cost != 0 || b.Usage.Total() != 0 {
			d.word("model", b.Model)
			d.word("provider", b.Provider)
			d.spent(b.Usage, b.Cost)
		}
	case *troupe.Noted:
		d.word("name", b.Name)
		d.text("data", string(b.Data))
	case *troupe.LimitReached:
		d.word("stop", string(b.Stop))
		d.text("text", b.Message)
	case *troupe.Warned:
		d.word("code", b.Code)
		d.text("text", b.Message)
	case *troupe.SessionForked:
		d.word("from", b.From)
		d.add(slog.Int64("after", b.After))
		d.word("step", b.Agent)
		if b.Input != nil && b.Was != nil {
			d.add(slog.Bool("edited", true))
			d.word("edited_by", b.User)
			d.text("was", b.Was.Prompt())
			d.text("input", b.Input.Prompt())
		}
	case *troupe.SessionRenamed:
		d.text("text", b.Title)
	case *troupe.RunFinished:
		d.finished(b)
	case *troupe.RunFailed:
		d.failed(b)
	case *troupe.RunCancelled:
		d.text("reason", b.Reason)
		d.text("text", b.Partial)
	}
}

func (d *details) reply(b *troupe.ModelReplied) {
	d.add(slog.Duration("dur", b.Latency.Duration()))
	d.word("model", b.Model)
	d.word("provider", b.Provider)
	d.word("purpose", b.Purpose)
	d.add(slog.Int("attempt", b.Attempt))
	d.spent(b.Usage, b.Cost)
	if b.Message == nil {
		return
	}
	d.text("thought", b.Message.Thought)
	text := b.Message.Text + b.Message.Refusal
	if len(b.Message.Calls) == 0 {
		d.text("text", text)
		return
	}
	names := make([]string, len(b.Message.Calls))
	for i := range names {
		names[i] = b.Message.Calls[i].Name
	}
	decision := strings.Join(names, ", ")
	if text != "" {
		decision += ": " + text
	}
	d.text("decision", decision)
}

func (d *details) returned(b *troupe.ToolReturned) {
	d.word("tool", b.Tool)
	d.add(slog.Duration("dur", b.Duration.Duration()))
	d.text("err", b.Error)
	d.word("class", string(b.Class))
	d.text("result", b.Content)
	d.add(slog.Int("size", b.Size))
	d.word("stack", b.Stack)
}

// changes adds how a call differs from the failed one before, by argument: under
// its name, so that an argument which is secret by its name is known to be.
func (d *details) changes(changed map[string][2]json.RawMessage) {
	var attrs []slog.Attr
	for _, field := range slices.Sorted(maps.Keys(changed)) {
		c := changed[field]
		attrs = append(attrs, slog.String(shorten(field, d.runes), shorten(fmt.Sprintf("%s → %s", c[0], c[1]), d.runes)))
	}
	if len(attrs) > 0 {
		d.add(slog.GroupAttrs("changed", attrs...))
	}
}

func (d *details) finished(b *troupe.RunFinished) {
	d.add(slog.Duration("dur", b.Spent.Elapsed.Duration()))
	d.word("stop", string(b.Stop))
	d.word("status", string(b.Output.Meta.Status))
	spent := b.Spent.Add(b.SpentBelow)
	d.add(slog.Int("turns", spent.Turns), slog.Int("tool_calls", spent.ToolCalls))
	d.spent(spent.Usage, spent.Cost)
	d.text("result", b.Output.Summary)
}

func (d *details) failed(b *troupe.RunFailed) {
	spent := b.Spent.Add(b.SpentBelow)
	d.add(slog.Duration("dur", b.Spent.Elapsed.Duration()))
	d.word("reason", b.Reason)
	d.text("err", b.Error)
	d.text("task", b.Task)
	d.add(slog.Group("state", slog.Int("turns", spent.Turns), slog.Int("tool_calls", spent.ToolCalls)))
	d.spent(spent.Usage, spent.Cost)
	d.text("text", b.Partial)
	d.word("stack", b.Stack)
}

func (d *details) spent(u troupe.Usage, cost float64) {
	d.add(slog.Int("tokens_in", u.Input), slog.Int("tokens_out", u.Output))
	if cost > 0 {
		d.add(slog.Float64("cost", cost))
	}
}
