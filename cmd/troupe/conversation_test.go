package main

import (
	"context"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A run can come to its end and say that it has failed: a delivery does, when it is
// resumed as a session.
func TestWhatFailedIsNotCalledFinished(t *testing.T) {
	step := troupe.NewStep("deliver", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		return troupe.Handoff{}, nil
	})
	c := &conversation{step: step}
	end := func(status string) error {
		c.note(&troupe.Event{Body: &troupe.RunFinished{Stop: "answered", Output: troupe.Handoff{Summary: "failed: step 1", Meta: troupe.HandoffMeta{Status: status}}}})
		return c.verdict()
	}
	if err := end("failed"); err == nil || err.Error() != "deliver: failed: step 1" {
		t.Errorf("got %v", err)
	}
	if err := end("success"); err != nil {
		t.Errorf("got %v", err)
	}
}
