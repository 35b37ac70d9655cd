package terminal

import (
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
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
			return "! " + OneLine(fmt.Sprintf("attempt %d failed: %s; trying again in %s", b.Attempt, b.Error, b.RetryIn.Duration().Round(time.Millisecond)), 400), true
		}
	}
	return "", false
}
