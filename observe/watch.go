// Package observe turns events into log lines and metrics.
//
// [Watch] wraps a [troupe.Store] and tells every [Sink] what was stored. [Log] is
// the sink that writes log lines, through any [slog.Handler]; [Metrics] is the one
// that counts. Both give the same when they are told of a stored log, event by
// event:
//
//	file, err := observe.OpenFile(observe.FileOptions{Path: "troupe.log"})
//	...
//	lines := slog.NewMultiHandler(
//		observe.NewConsole(os.Stderr, observe.ConsoleOptions{Level: slog.LevelWarn}),
//		slog.NewJSONHandler(file, nil))
//	metrics := observe.NewMetrics()
//	store = observe.Watch(store, observe.Log(observe.Redact(lines, apiKey)), metrics)
package observe

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/troupe-dev/troupe"
)

// A Sink is told of events: those of one session in order, those of different
// sessions concurrently. Note must be quick, because the run waits for it, and must
// not call the engine. It may keep the event but not change it.
type Sink interface {
	Note(e *troupe.Event)
}

// Watch returns a store that tells the sinks of every event it has stored. What a
// fork copies from another session is not told again. A sink that panics harms
// neither the run nor the other sinks: slog's default logger gets the stack.
func Watch(store troupe.Store, sinks ...Sink) troupe.Store {
	return &watched{store, sinks}
}

type watched struct {
	troupe.Store
	sinks []Sink
}

// Append implements [troupe.Store].
func (w *watched) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if err := w.Store.Append(ctx, session, events...); err != nil {
		return err
	}
	if len(events) > 0 && events[0].Seq == 1 {
		events = Own(events)
	}
	for i := range events {
		for _, sink := range w.sinks {
			tell(sink, &events[i])
		}
	}
	return nil
}

// tell calls the sink. What it panics with is left out of the log, since that may
// hold any text of the event.
func tell(sink Sink, e *troupe.Event) {
	defer func() {
		if value := recover(); value != nil {
			slog.Error("sink panicked", "sink", fmt.Sprintf("%T", sink), "panic", fmt.Sprintf("%T", value), "stack", string(debug.Stack()))
		}
	}()
	sink.Note(e)
}

// Own returns the part of a session's log that happened in the session. The log of
// a fork begins with copies of another session's events, which happened there; whoever
// goes over many logs would count them twice.
func Own(log []troupe.Event) []troupe.Event {
	for i := len(log) - 1; i >= 0; i-- {
		if endsCopies(&log[i]) {
			return log[i:]
		}
	}
	return log
}

// endsCopies reports whether e is what the engine puts after the events that a fork
// copied.
func endsCopies(e *troupe.Event) bool {
	_, ok := e.Body.(*troupe.SessionForked)
	return ok
}
