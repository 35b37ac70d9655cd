package terminal

import "github.com/troupe-dev/troupe"

// Warning returns the line that shows a warning. There is none for a model call that
// failed for good, because the end of the run says the same.
func Warning(e *troupe.Event) (line string, ok bool) {
	w, ok := e.Body.(*troupe.Warned)
	if !ok || w.Code == "model_failed" {
		return "", false
	}
	return "! " + OneLine(w.Message, 400), true
}
