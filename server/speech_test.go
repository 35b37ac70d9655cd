package server

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestAnAnswerThatReachesTheOutputLimitIsSaidOnce(t *testing.T) {
	var s speech
	said := ""
	for i, body := range []troupe.Body{
		&troupe.TextDelta{Text: "One, tw", Attempt: 1},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "One, tw"}, Finish: troupe.FinishLength},
		&troupe.TextDelta{Text: "o.", Attempt: 1},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "o."}, Finish: troupe.FinishStop},
		&troupe.RunFinished{Output: troupe.Handoff{Summary: "One, two."}},
	} {
		said += s.note(&troupe.Event{Step: string(rune('1' + i/2)), Body: body})
	}
	if said != "One, two." {
		t.Errorf("%q", said)
	}
}
