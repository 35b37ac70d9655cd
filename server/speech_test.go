package server

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestWhatIsSaidInVainIsNoPartOfTheAnswer(t *testing.T) {
	at := func(step string, body troupe.Body) *troupe.Event { return &troupe.Event{Step: step, Body: body} }
	delta := func(step string, attempt int, text string) *troupe.Event {
		return at(step, &troupe.TextDelta{Text: text, Attempt: attempt})
	}
	reply := func(step, text string, why troupe.Finish) *troupe.Event {
		return at(step, &troupe.ModelReplied{Message: &troupe.Message{Text: text}, Finish: why})
	}
	finish := func(text string) *troupe.Event {
		return at("9", &troupe.RunFinished{Output: troupe.Handoff{Summary: text}, Stop: "answered"})
	}
	for name, c := range map[string]struct {
		events     []*troupe.Event
		said, kept string
	}{
		"in one go": {[]*troupe.Event{delta("1", 1, "It "), delta("1", 1, "rains."), reply("1", "It rains.", troupe.FinishStop), finish("It rains.")},
			"It rains.", "It rains."},
		"without deltas": {[]*troupe.Event{reply("1", "It rains.", troupe.FinishStop), finish("It rains.")},
			"It rains.", "It rains."},
		"asked again": {[]*troupe.Event{delta("1", 1, "It ra"), delta("1", 2, "It "), delta("1", 2, "rains."), reply("1", "It rains.", troupe.FinishStop), finish("It rains.")},
			"It ra\n\nIt rains.", "It rains."},
		"in pieces": {[]*troupe.Event{delta("1", 1, "It "), reply("1", "It ", troupe.FinishLength), delta("2", 1, "rains."), reply("2", "rains.", troupe.FinishStop), finish("It rains.")},
			"It rains.", "It rains."},
		"in pieces, of which one is asked for again": {[]*troupe.Event{delta("1", 1, "It "), reply("1", "It ", troupe.FinishLength), delta("2", 1, "ra"), delta("2", 2, "rains."), reply("2", "rains.", troupe.FinishStop), finish("It rains.")},
			"It ra\n\nrains.", "It rains."},
		"more than once": {[]*troupe.Event{delta("1", 1, "I look."), reply("1", "I look.", troupe.FinishCalls), delta("3", 1, "It rains."), reply("3", "It rains.", troupe.FinishStop), finish("It rains.")},
			"I look.\n\nIt rains.", "I look.\n\nIt rains."},
		"by a flow": {[]*troupe.Event{finish("It rains.")}, "It rains.", "It rains."},
	} {
		var s speech
		told := ""
		for _, e := range c.events {
			told += s.note(e)
		}
		if told != c.said || s.said.String() != c.said || s.kept.String() != c.kept {
			t.Errorf("%s: told %q, kept %q", name, told, s.kept.String())
		}
	}
}
