package terminal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
)

// A Meter adds up what a conversation uses.
type Meter struct {
	Usage troupe.Usage
	Cost  float64
	// Unpriced says that some of it was used by a model whose price nobody knows.
	Unpriced bool
	// Context is what the latest request of the conversation's own agent held, and Filled
	// how many tokens that was: as its provider counts, where it says so.
	Context troupe.ContextUse
	Filled  int
}

// Note takes an event into account.
func (m *Meter) Note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.SessionForked: // what it began with was paid in another session
		m.Usage, m.Cost, m.Unpriced = troupe.Usage{}, 0, false
	case *troupe.ModelFailed: // what it has used is paid for
		m.Usage = m.Usage.Add(b.Usage)
		m.Cost += b.Cost
	case *troupe.ModelReplied:
		m.Usage = m.Usage.Add(b.Usage)
		m.Cost += b.Cost
		m.Unpriced = m.Unpriced || b.Unpriced
		if e.Parent == "" && b.Purpose == "" {
			m.Context, m.Filled = b.Context, cmp.Or(b.Usage.Input, b.Context.Total())
		}
	}
}

// String shows tokens, how full the model's window is where its size is known, and
// dollars, or that the price is not known.
func (m *Meter) String() string {
	s := Count(m.Usage.Total()) + " tokens"
	if m.Context.Window > 0 {
		s += fmt.Sprintf(" · window %d %% full", 100*m.Filled/m.Context.Window)
	}
	if spent := Spent(m.Cost, m.Unpriced); spent != "" {
		s += " · " + spent
	}
	return s
}

// Spent is what something cost, as far as anybody knows; it is empty for what is free.
func Spent(cost float64, unpriced bool) string {
	switch {
	case cost > 0 && unpriced:
		return fmt.Sprintf("$%.4f and more (a price is not known)", cost)
	case cost > 0:
		return fmt.Sprintf("$%.4f", cost)
	case unpriced:
		return "price not known"
	}
	return ""
}

// Unfinished says why a run has ended without the whole of an answer, and what to do.
func Unfinished(stop string) string {
	if what := problem.OfStop(stop); what.Sentence != "" {
		return what.String()
	}
	return strings.ReplaceAll(stop, "_", " ")
}

// Count shows a number with a comma at every thousand.
func Count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
