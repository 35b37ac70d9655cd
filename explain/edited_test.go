package explain

import (
	"iter"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// nestedLog is a flow's run with one step, after which the session was forked.
func nestedLog(bodies ...troupe.Body) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		for e := range logged(bodies...) {
			if e.Seq > 2 {
				e.Run, e.Parent, e.Agent = "r:1", "r", "editor"
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A step is sent what was handed to it, not the task alone, and who has edited that is told.
func TestAnEditedInputIsTold(t *testing.T) {
	was, now := troupe.Handoff{Task: "Write.", Summary: "dull"}, troupe.Handoff{Task: "Write.", Summary: "bold"}
	for user, name := range map[string]string{"ann": "task, edited by ann", "": "task, edited by a person"} {
		s, err := Read(nestedLog(
			&troupe.RunStarted{}, &troupe.SessionForked{From: "other", After: 4, Run: "r:1", Agent: "editor", Input: &now, Was: &was, User: user},
			&troupe.RunStarted{Input: now, Edited: true, EditedBy: user}, reply("Done.", 10, 2, 0),
		), Options{Turn: -1})
		if err != nil {
			t.Fatal(err)
		}
		if part := s.Turns[0].Parts[0]; part.Name != name || part.Text != now.Prompt() || !strings.Contains(part.Text, "bold") {
			t.Errorf("it was sent %+v", part)
		}
		want := Edit{Event: 2, Agent: "editor", Run: "r:1", From: "other", User: user, Was: was.Prompt(), Input: now.Prompt()}
		if len(s.Edits) != 1 || s.Edits[0] != want {
			t.Errorf("the edits are %+v", s.Edits)
		}
	}
}
