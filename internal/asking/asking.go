// Package asking keeps track of the questions in a session that wait for a person: several,
// where steps run at the same time.
package asking

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// A Question waits for an answer.
type Question struct {
	*troupe.InputRequested
	// Asked is the event that asks it first.
	Asked troupe.Event
	// runs are the one that asks and those around it that have passed the question on, and
	// parent is the one that may do so next.
	runs   []string
	parent string
}

// Open are the questions of a session's latest run.
type Open struct {
	// Waiting are those that wait, the oldest first.
	Waiting []*Question
	// left are those of a run that was stopped there, and asks them again if it goes on.
	left []*Question
}

// Note takes an event of the session into account.
func (o *Open) Note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent == "" {
			*o = Open{}
		}
	case *troupe.InputRequested:
		o.ask(e, b)
	case *troupe.UserSaid:
		o.answer(e, b)
	case *troupe.RunFinished:
		o.end(e, b.Stop == "input_requested")
	case *troupe.RunFailed, *troupe.RunCancelled:
		o.end(e, false)
	}
}

func (o *Open) ask(e *troupe.Event, b *troupe.InputRequested) {
	for _, q := range o.Waiting {
		switch {
		case q.ID == b.ID && slices.Contains(q.runs, e.Run): // a run that goes on asks again
			return
		case q.parent == e.Run && q.InputRequested.Question == b.Question:
			q.runs, q.parent = append(q.runs, e.Run), e.Parent
			return
		}
	}
	o.Waiting = append(o.Waiting, &Question{b, *e, []string{e.Run}, e.Parent})
}

// answer drops the question that an answer is to. Whatever else is said to a session, nothing
// in it waits any more.
func (o *Open) answer(e *troupe.Event, b *troupe.UserSaid) {
	before := len(o.Waiting)
	o.left = nil
	o.Waiting = slices.DeleteFunc(o.Waiting, func(q *Question) bool {
		if b.CallID != "" { // several calls of a run may ask at the same time
			return q.Asked.Run == e.Run && q.CallID == b.CallID
		}
		return slices.Contains(q.runs, e.Run)
	})
	if len(o.Waiting) == before && e.Parent == "" {
		o.Waiting = nil
	}
}

// end notes that the run has ended, to wait or for good.
func (o *Open) end(e *troupe.Event, waits bool) {
	switch {
	case e.Parent != "" && waits: // it waits on, while others go on
		o.again(e.Run)
	case e.Parent != "":
	case !waits:
		o.Waiting, o.left = nil, o.Waiting
	case len(o.Waiting) == 0:
		o.Waiting = o.left
	}
}

// again has the questions of a run wait that was stopped there.
func (o *Open) again(run string) {
	isOf := func(q *Question) bool { return q.Asked.Run == run }
	for _, q := range o.left {
		if isOf(q) {
			o.Waiting = append(o.Waiting, q)
		}
	}
	o.left = slices.DeleteFunc(o.left, isOf)
}

// First returns the question that has waited longest, nil if none does.
func (o *Open) First() *Question {
	if len(o.Waiting) == 0 {
		return nil
	}
	return o.Waiting[0]
}
