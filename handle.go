package troupe

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/troupe-dev/troupe/internal/journal"
)

// An Outcome is what a run came to.
type Outcome struct {
	Session, Run string
	// Text is the answer. That of an agent is not empty if the run ended without an
	// error; a step of one's own may hand back none.
	Text string
	// Stop says why the run ended: "answered" unless a question, a limit or the like
	// ended it, empty where it ended with an error.
	Stop    string
	Handoff Handoff
	// Spent is what the run has used with all that was nested in it.
	Spent Spent
}

// Collect ranges over a run to its end and returns what it came to.
func Collect(events iter.Seq2[Event, error]) (Outcome, error) {
	var c collector
	for e, err := range events {
		if err != nil {
			c.err = err
			break
		}
		c.note(&e)
	}
	return c.Outcome, c.err
}

type collector struct {
	Outcome
	err error
}

func (c *collector) note(e *Event) {
	if e.Parent != "" {
		return
	}
	c.Session, c.Run = e.Session, e.Run
	switch b := e.Body.(type) {
	case *RunFinished:
		c.Text, c.Stop, c.Handoff, c.Spent = b.Output.Summary, b.Stop, b.Output.Clone(), b.Spent.Add(b.SpentBelow)
	case *RunFailed:
		c.Spent = b.Spent.Add(b.SpentBelow)
	case *RunCancelled:
		c.Spent = b.Spent.Add(b.SpentBelow)
	}
}

// A Handle is a run that was started and goes on by itself.
type Handle struct {
	engine *Engine
	exec   *execution // nil where the run is another process's, or is over
	first  int64      // the event before the run's own
	// Session is the conversation, and Run the run in it.
	Session, Run string
}

// Wait returns what the run came to, when it has ended. If ctx is done before, the
// error is its cause and the run goes on.
func (h *Handle) Wait(ctx context.Context) (Outcome, error) {
	if h.exec == nil {
		return h.recorded(ctx)
	}
	select {
	case <-h.exec.done:
		if h.exec.outcome == nil { // the run was ranged over, and this handle joined it
			return h.recorded(ctx)
		}
		return *h.exec.outcome, h.exec.err
	case <-ctx.Done():
		return Outcome{Session: h.Session, Run: h.Run}, context.Cause(ctx)
	}
}

// Events yields the run's events from its first on, as they come, until the run has
// ended. Replies are shown in deltas however late one looks, as to who ranges over it.
func (h *Handle) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for e, err := range h.engine.tail(ctx, h.Session, h.first, true) {
			if err == nil && !journal.Belongs(e.Run, h.Run) {
				continue
			}
			if !yield(e, err) || err != nil || e.Run == h.Run && endsRun(e.Body) {
				return
			}
		}
	}
}

// endsRun reports whether a body is the last of a run.
func endsRun(body Body) bool {
	switch body.(type) {
	case *RunFinished, *RunFailed, *RunCancelled:
		return true
	}
	return false
}

// show yields the events of a run that is on record, and its error last.
func (h *Handle) show(ctx context.Context, yield func(Event, error) bool) {
	for e, err := range h.Events(ctx) {
		if !yield(e, err) || err != nil {
			return
		}
		if e.Run == h.Run {
			if _, err := h.outcomeOf(&e); err != nil {
				yield(Event{}, err)
			}
		}
	}
}

// Outcome returns what a session's latest run came to, which has ended: for whoever was not
// there to hear it. A run that has not ended, or was interrupted, is ErrBusy.
func (e *Engine) Outcome(ctx context.Context, session string) (Outcome, error) {
	var run string
	var last *Event
	for event, err := range e.store.Events(ctx, session, 0) {
		switch {
		case err != nil:
			return Outcome{}, err
		case event.Kind() == "run_started" && event.Parent == "":
			run, last = event.Run, nil
		case event.Run == run && (event.Kind() == "run_resumed" || event.Kind() == "user_said"):
			last = nil
		case event.Run == run && endsRun(event.Body):
			last = &event
		}
	}
	if last == nil {
		return Outcome{Session: session, Run: run}, fmt.Errorf("session %s: its latest run has not ended: %w", session, ErrBusy)
	}
	return (&Handle{engine: e, Session: session, Run: run}).outcomeOf(last)
}

// recorded returns what a run that is on record came to, when it has ended.
func (h *Handle) recorded(ctx context.Context) (Outcome, error) {
	for e, err := range h.Events(ctx) {
		if err != nil {
			return Outcome{Session: h.Session, Run: h.Run}, err
		}
		if e.Run == h.Run && endsRun(e.Body) {
			return h.outcomeOf(&e)
		}
	}
	return Outcome{Session: h.Session, Run: h.Run}, fmt.Errorf("session %s: run %s has no end: %w", h.Session, h.Run, ErrNotFound)
}

// outcomeOf returns what a run came to, as its last event says.
func (h *Handle) outcomeOf(e *Event) (Outcome, error) {
	var c collector
	c.note(e)
	switch b := e.Body.(type) {
	case *RunFailed:
		c.err = &RunError{Agent: e.Agent, Run: h.Run, Task: b.Task, Spent: c.Spent, Err: errors.New(b.Error)}
	case *RunCancelled:
		c.err = fmt.Errorf("run %s: %w: %s", h.Run, ErrCancelled, b.Reason)
	}
	return c.Outcome, c.err
}
