package terminal

import (
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
)

// Warning returns the line that shows a warning. There is none for a model call that
// failed for good, because the end of the run says the same.
func Warning(e *troupe.Event) (line string, ok bool) {
	switch b := e.Body.(type) {
	case *troupe.Warned:
		return "! " + OneLine(b.Message, 400), true
	case *troupe.LimitReached:
		return "! " + OneLine(b.Message, 400), true
	case *troupe.RunResumed:
		return "! the run goes on where its log ends", true
	case *troupe.ModelFailed:
		if b.RetryIn > 0 {
			return "! " + OneLine(problem.OfFailed(b).String(), 400), true
		}
	}
	return "", false
}
