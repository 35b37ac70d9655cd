package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// The time of a phase is that in which it was worked on: what it waited for a person is
// said apart, and while no process was there it did neither.
func TestTheTimeOfAPhaseIsThatOfItsWork(t *testing.T) {
	asks := &troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Summary: "Well?"}}
	done := &troupe.RunFinished{Output: troupe.Handoff{Custom: map[string]any{"phase": "implementation", "status": "success", "json": "strict"}}}
	at := func(l *log, seconds int) { (*l)[len(*l)-1].Time = time.Unix(int64(seconds), 0) }
	for name, c := range map[string]struct {
		between func(l *log) // from second 10 on, the phase has run since second 0
		end     int
		want    string // worked and waited
	}{
		"nothing happens": {func(*log) {}, 40, "40s 0s"},
		"it asks": {func(l *log) {
			l.add("a:1", "a", "step 1", asks)
			at(l, 10)
			l.add("a", "root", "implementation", asks)
			at(l, 10)
			l.add("root", "", "deliver", asks)
			at(l, 10)
			l.add("a:1", "a", "step 1", &troupe.UserSaid{Text: "go on"})
			at(l, 7210)
		}, 7240, "40s 2h0m0s"},
		"it asks twice": {func(l *log) {
			for i := range 2 {
				l.add("a", "root", "implementation", asks)
				at(l, 10+i*110)
				l.add("a", "root", "implementation", &troupe.UserSaid{})
				at(l, 110+i*110)
			}
		}, 230, "30s 3m20s"},
		"its process dies": {func(l *log) {
			l.add("a:1", "a", "builder", &troupe.ToolCalled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunResumed{})
			at(l, 500)
		}, 510, "20s 0s"},
		"it is stopped and goes on": {func(l *log) {
			l.add("a", "root", "implementation", &troupe.RunCancelled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunCancelled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunResumed{})
			at(l, 500)
		}, 510, "20s 0s"},
	} {
		var l log
		l.add("a", "root", "implementation", &troupe.RunStarted{})
		at(&l, 0)
		c.between(&l)
		l.add("a", "root", "implementation", done)
		at(&l, c.end)
		l.add("root", "", "deliver", asks) // a question after the phase is none of its time
		at(&l, c.end)
		l.add("root", "", "deliver", &troupe.UserSaid{})
		at(&l, c.end+1000)
		p := Summarize(l).Phases[0]
		if got := fmt.Sprint(p.Duration.Duration(), " ", p.Waited.Duration()); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
