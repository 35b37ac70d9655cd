package acp

import (
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
)

// An editor cannot be told to drop what it shows: it is told that it was a thought.
func TestAnEditorIsToldThatWhatWasShownWasAThought(t *testing.T) {
	var text, thought string
	s := newShow(t.Context(), &session{})
	s.send = func(u acp.SessionUpdate) {
		if u.AgentMessageChunk != nil {
			text += u.AgentMessageChunk.Content.Text.Text
		}
		if u.AgentThoughtChunk != nil {
			thought += u.AgentThoughtChunk.Content.Text.Text
		}
	}
	for _, body := range []troupe.Body{
		&troupe.TextDelta{Text: "hm", Attempt: 1}, &troupe.ThoughtDelta{Text: "hm", Attempt: -1}, &troupe.TextDelta{Text: "two", Attempt: -1},
		&troupe.ModelReplied{Attempt: 1, Recast: true, Message: &troupe.Message{Text: "two", Thought: "hm"}},
	} {
		s.note(&troupe.Event{Run: "r", Step: "1", Body: body})
	}
	if text != "hm\n\n(So far the model was thinking. Its answer follows.)\n\ntwo" || thought != "" {
		t.Errorf("text %q, thought %q", text, thought)
	}
}
