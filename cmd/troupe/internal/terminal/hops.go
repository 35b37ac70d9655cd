package terminal

import (
	"cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
)

// Hop returns the line that shows a step of a flow: who hands over to whom, what a
// nested agent came to, or that it could not go on.
func Hop(e *troupe.Event) (line string, ok bool) {
	switch b := e.Body.(type) {
	case *troupe.HandedOff:
		return OneLine(b.From+" → "+b.To, 100), true
	case *troupe.RunFinished:
		if e.Parent != "" && b.Stop != "handed_off" && b.Output.Meta.Source == e.Agent {
			return OneLine(e.Agent+": "+b.Output.Summary, 120), true
		}
	case *troupe.RunFailed:
		if e.Parent != "" {
			return OneLine("✗ "+e.Agent+": "+Failure(b.Reason, b.Error), 400), true
		}
	}
	return "", false
}

// Failure says what a failure on record is about and what to do: in the catalogue's words
// where it has some, otherwise in the error's.
func Failure(reason, text string) string {
	return cmp.Or(problem.OfRecord(reason, text).Words(), text)
}
