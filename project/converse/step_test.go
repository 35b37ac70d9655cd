package converse_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/converse"
)

// People elsewhere read what is meant for people, not what the model was told.
func TestAStepIsToldInWordsForPeople(t *testing.T) {
	for _, body := range []troupe.Body{
		&troupe.Warned{Message: "for people", Told: true, Notice: "for the model"},
		&troupe.LimitReached{Stop: "turns", Message: "for people", Notice: "for the model"},
	} {
		if words := converse.Step(&troupe.Event{Body: body}); words != "for people" {
			t.Errorf("%T: %q", body, words)
		}
	}
}
