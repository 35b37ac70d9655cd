package troupe_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// late thinks in its text and says so only at the end of the thought.
type late struct{ chunks []troupe.Chunk }

func (l late) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		for _, c := range l.chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Text that was thought is withdrawn: whoever keeps to the rule about attempts shows the
// answer and nothing else, and the answer alone is on record.
func TestTextThatWasThoughtIsWithdrawn(t *testing.T) {
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: late{[]troupe.Chunk{
		{Text: "One and one "}, {Text: "make two.\n"}, {WasThought: true}, {Text: "It is "}, {Text: "2."},
		{End: &troupe.End{Finish: troupe.FinishStop}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var text, thought, summary string
	var attempts []int
	var replied *troupe.ModelReplied
	at := func(attempt int) {
		if len(attempts) == 0 || attempts[len(attempts)-1] != attempt {
			attempts, text, thought = append(attempts, attempt), "", ""
		}
	}
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "1+1?"}) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *troupe.TextDelta:
			at(b.Attempt)
			text += b.Text
		case *troupe.ThoughtDelta:
			at(b.Attempt)
			thought += b.Text
		case *troupe.ModelReplied:
			replied = b
		case *troupe.RunFinished:
			summary = b.Output.Summary
		}
	}
	if text != "It is 2." || thought != "One and one make two." || !slices.Equal(attempts, []int{1, -1}) {
		t.Errorf("shown in the end: %q, thought %q, attempts %v", text, thought, attempts)
	}
	if replied.Message.Text != text || replied.Message.Thought != thought || replied.Attempt != 1 || !replied.Recast || summary != text {
		t.Errorf("on record: %+v, %+v, %q", replied, replied.Message, summary)
	}
}
