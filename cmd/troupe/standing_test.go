package main

import (
	"testing"

	"github.com/troupe-dev/troupe/outputs"
)

// Lists say of a run that came to an end and whose work is not done why it is not, or that it is not.
func TestAListSaysWhatIsNotDone(t *testing.T) {
	for want, e := range map[string]outputs.Execution{
		"completed":               {Status: "completed"},
		"completed (empty)":       {Status: "completed", Stop: "empty", Outcome: "partial"},
		"completed (partly done)": {Status: "completed", Outcome: "partial"},
		"completed (not done)":    {Status: "completed", Outcome: "failed"},
	} {
		if got := standing(&outputs.Manifest{Execution: e}); got != want {
			t.Errorf("%+v is listed as %q", e, got)
		}
	}
}
