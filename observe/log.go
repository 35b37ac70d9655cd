package observe

import (
	"context"
	"log/slog"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Log returns the sink that writes one record per stored event to h. The record's
// time is the event's, its level is [Level], its message the event's kind in plain
// words. Its keys are fixed. Where they apply, there are always
//
//	session run parent agent kind tool dur err
//
// and, by kind, step, seq, task, text, model, tokens_in, tokens_out, cost, attempt,
// thought, decision (the tools that a reply chose and what the model said beside
// them), args, changed, result, class, from, to, state, stack, code and a few more
// that name themselves.
//
// Texts that people, models and tools wrote are cut at 300 runes; an h that is
// enabled for debug gets up to 16,384. To have both, use one Log per destination.
// What h returns as an error is dropped: a full disk must not stop a run.
func Log(h slog.Handler) Sink { return &log{h} }

type log struct{ handler slog.Handler }

// How many runes of a text are logged.
const (
	briefText = 300
	fullText  = 1 << 14
)

// Level says how important an event is:
//
//	error  run_failed
//	warn   warned, model_failed, limit_reached, run_cancelled, and tool_returned if the call failed
//	debug  context_loaded, and what is shown but not stored
//	info   everything else
func Level(e *troupe.Event) slog.Level {
	switch b := e.Body.(type) {
	case *troupe.RunFailed:
		return slog.LevelError
	case *troupe.Warned, *troupe.ModelFailed, *troupe.LimitReached, *troupe.RunCancelled:
		return slog.LevelWarn
	case *troupe.ToolReturned:
		if b.Class != "" {
			return slog.LevelWarn
		}
	case *troupe.ContextLoaded, *troupe.TextDelta, *troupe.ThoughtDelta:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// Note implements [Sink].
func (l *log) Note(e *troupe.Event) {
	ctx, level := context.Background(), Level(e)
	if e.Seq == 0 || !l.handler.Enabled(ctx, level) {
		return
	}
	d := details{attrs: make([]slog.Attr, 0, 24), runes: briefText}
	if l.handler.Enabled(ctx, slog.LevelDebug) {
		d.runes = fullText
	}
	d.word("session", e.Session)
	d.word("run", e.Run)
	d.word("parent", e.Parent)
	d.word("agent", e.Agent)
	d.word("kind", string(e.Kind()))
	d.body(e.Body)
	d.word("step", e.Step)
	d.add(slog.Int64("seq", e.Seq))
	record := slog.NewRecord(e.Time, level, strings.ReplaceAll(string(e.Kind()), "_", " "), 0)
	record.AddAttrs(d.attrs...)
	_ = l.handler.Handle(ctx, record)
}
