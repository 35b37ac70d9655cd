package observe

import (
	"strconv"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestMetricsForgetRunsThatHaveEnded(t *testing.T) {
	m := NewMetrics()
	note := func(session int, body troupe.Body) {
		m.Note(&troupe.Event{Session: strconv.Itoa(session), Run: "r", Agent: "mira", Body: body})
	}
	for i := range 100 {
		note(i, &troupe.RunStarted{})
		note(i, &troupe.ModelReplied{})
		m.Note(&troupe.Event{Session: strconv.Itoa(i), Run: "r:1", Parent: "r", Body: &troupe.RunFailed{}})
		note(i, &troupe.RunFinished{})
	}
	if len(m.sessions) != 0 {
		t.Errorf("%d sessions are remembered that have ended", len(m.sessions))
	}
	note(-1, &troupe.ModelReplied{})
	for i := range 2 * maxSessions {
		note(i, &troupe.RunFailed{})
	}
	if len(m.sessions) != maxSessions || m.sessions["-1"] == nil {
		t.Errorf("%d sessions are remembered; the one under way: %v", len(m.sessions), m.sessions["-1"])
	}
}
