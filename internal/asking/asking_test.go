package asking

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// What a step asks that was stopped there waits again as soon as it goes on to wait, though others
// are at work, and what others had asked does not.
func TestAStepThatWasStoppedAsksAgain(t *testing.T) {
	var o Open
	seq := int64(0)
	note := func(run string, body troupe.Body) {
		seq++
		e := troupe.Event{Seq: seq, Run: run, Body: body}
		if run != "r" {
			e.Parent = "r"
		}
		o.Note(&e)
	}
	waits := &troupe.RunFinished{Stop: "input_requested"}
	note("r", &troupe.RunStarted{})
	for _, run := range []string{"writer", "poet"} {
		note(run, &troupe.RunStarted{})
		note(run, &troupe.InputRequested{ID: run, Question: "May I?", Approval: true})
	}
	note("writer", waits)
	note("r", &troupe.RunCancelled{})
	if o.First() != nil {
		t.Fatalf("%+v waits", o.First())
	}
	note("r", &troupe.RunResumed{})
	note("writer", waits)
	if len(o.Waiting) != 1 || o.First().Asked.Run != "writer" {
		t.Fatalf("these wait: %+v", o.Waiting)
	}
	note("poet", waits)
	note("r", waits)
	if len(o.Waiting) != 2 {
		t.Errorf("these wait: %+v", o.Waiting)
	}
}
