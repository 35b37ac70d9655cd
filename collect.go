package troupe

import "iter"

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
