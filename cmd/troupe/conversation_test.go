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

// What an agent's greeting has cost is counted like all that follows.
func TestAConversationCountsFromItsGreeting(t *testing.T) {
	c := &conversation{}
	c.note(&troupe.Event{Body: &troupe.ModelReplied{Usage: troupe.Usage{Input: 4000, Output: 120}}})
	if got := c.used.String(); got != "4,120 tokens" {
		t.Error(got)
	}
}
