package server

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// A delivery that comes to its end without having delivered has finished as a run.
func TestWorkThatIsNotDoneIsNotCalledDone(t *testing.T) {
	s := &summary{days: map[string]float64{}}
	for _, status := range []string{"success", "partial", "failed", "success"} {
		s.note(&troupe.Event{Body: &troupe.RunStarted{}})
		if s.outcome != "" {
			t.Errorf("while it runs its outcome is %q", s.outcome)
		}
		s.note(&troupe.Event{Body: &troupe.RunFinished{Stop: "answered", Output: troupe.Handoff{Meta: troupe.HandoffMeta{Status: status}}}})
		if want := map[string]string{"partial": "partial", "failed": "failed"}[status]; s.outcome != want {
			t.Errorf("after %s its outcome is %q", status, s.outcome)
		}
	}
}
