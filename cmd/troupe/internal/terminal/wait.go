package terminal

import (
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
)

// shownFrom is how long something takes before a person is told how long it has been.
const shownFrom = 2 * time.Second

// A Wait knows for how long a run has been silent, and what it waits for. The zero Wait
// is ready for use.
type Wait struct {
	since time.Time
	retry time.Time       // when the model is asked again, zero if it was asked
	open  map[string]bool // tool calls under way
}

// Begin says that something was asked for just now.
func (w *Wait) Begin() { w.since, w.retry = time.Now(), time.Time{} }

// Note takes an event into account: every one is a sign of life.
func (w *Wait) Note(e *troupe.Event) {
	w.Begin()
	switch b := e.Body.(type) {
	case *troupe.ModelFailed:
		if b.RetryIn > 0 {
			w.retry = w.since.Add(b.RetryIn.Duration())
		}
	case *troupe.ToolCalled:
		if w.open == nil {
			w.open = map[string]bool{}
		}
		w.open[e.Run+b.CallID] = true
	case *troupe.ToolReturned:
		delete(w.open, e.Run+b.CallID)
	case *troupe.RunFinished, *troupe.RunFailed, *troupe.RunCancelled:
		if e.Parent == "" {
			*w = Wait{} // it is the person's turn
		}
	}
}

// IsOver says that nothing is waited for: it is the person's turn.
func (w *Wait) IsOver() bool { return w.since.IsZero() }

// For says what has been waited for and for how long, if that is the model and has been
// long enough to be told: waiting for the model, 40 s.
func (w *Wait) For() (text string, ok bool) {
	now := time.Now()
	if left := w.retry.Sub(now); left > 0 {
		return fmt.Sprintf("asking the model again in %s", Seconds(left+time.Second-1)), true
	}
	since := w.since
	if w.retry.After(since) {
		since = w.retry
	}
	waited := now.Sub(since)
	if w.since.IsZero() || len(w.open) > 0 || waited < shownFrom {
		return "", false
	}
	return "waiting for the model, " + Seconds(waited), true
}

// Seconds is a time as it is counted while one waits.
func Seconds(d time.Duration) string {
	if n := int(d / time.Second); n < 120 {
		return fmt.Sprintf("%d s", n)
	}
	return fmt.Sprintf("%d min %d s", int(d/time.Minute), int(d/time.Second)%60)
}
