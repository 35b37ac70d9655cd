package terminal

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestTheStepsOfAFlowAreShown(t *testing.T) {
	out := func(source string) troupe.Handoff {
		return troupe.Handoff{Summary: "facts\nand more", Meta: troupe.HandoffMeta{Source: source}}
	}
	for _, c := range []struct {
		event troupe.Event
		want  string
	}{
		{troupe.Event{Body: &troupe.HandedOff{From: "ann", To: "bob"}}, "ann → bob"},
		{troupe.Event{Parent: "r", Agent: "ann", Body: &troupe.RunFinished{Output: out("ann")}}, "ann: facts and more"},
		{troupe.Event{Parent: "r", Agent: "flow", Body: &troupe.RunFinished{Output: out("ann")}}, ""}, // ann's own has said so
		{troupe.Event{Agent: "ann", Body: &troupe.RunFinished{Output: out("ann")}}, ""},               // the answer is shown anyway
		{troupe.Event{Parent: "r", Agent: "ann", Body: &troupe.RunFinished{Output: out("ann"), Stop: "handed_off"}}, ""},
		{troupe.Event{Parent: "r", Agent: "ann", Body: &troupe.RunFailed{Error: "no\x1b[31m"}}, "✗ ann: no[31m"},
		{troupe.Event{Parent: "r", Agent: "ann", Body: &troupe.RunFailed{Reason: "money", Error: "agent ann: after 1 turn: model: 402 invalid_request_error: Insufficient Balance"}},
			"✗ ann: The account with the provider is empty or at its limit. Add credit or raise the limit there, or use another model."},
		{troupe.Event{Agent: "ann", Body: &troupe.RunFailed{Error: "no"}}, ""},
	} {
		line, ok := Hop(&c.event)
		if line != c.want || ok != (c.want != "") {
			t.Errorf("%s of %q: %q, %v; want %q", c.event.Kind(), c.event.Agent, line, ok, c.want)
		}
	}
}
