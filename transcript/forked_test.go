package transcript

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Who reads a transcript sees that a person has edited what a step was given, and how.
func TestAnEditedInputIsWritten(t *testing.T) {
	was, now := troupe.Handoff{Task: "Write.", Summary: "a dull draft"}, troupe.Handoff{Task: "Write.", Summary: "a bold draft"}
	events := told(
		&troupe.RunStarted{Input: troupe.Handoff{Task: "Write."}},
		&troupe.SessionForked{From: "0123abcd", After: 7, Run: "r1:3", Agent: "editor", Input: &now, Was: &was, User: "ann"},
		&troupe.RunStarted{Input: now, Edited: true, EditedBy: "ann"},
		&troupe.SessionForked{From: "0123abcd", After: 7, Run: "r1:3", Agent: "editor", Input: &now, Was: &was},
		&troupe.SessionForked{From: "0123abcd", After: 7, Run: "r1:3", Agent: "editor", Input: &now},
	)
	events[2].Run, events[2].Parent, events[2].Agent = "r1:3", "r1", "editor"
	page := written(t, events, Options{})
	for _, want := range []string{"**Forked** from session `0123abcd` after event 7", "**Done again**: `editor`, and what follows it",
		"**Edited** by `ann`: what `editor` is given", "a dull draft", "**Is now**", "a bold draft", "**Given** what `ann` has edited", "**Edited** by a person"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in:\n%s", want, page)
		}
	}
}
