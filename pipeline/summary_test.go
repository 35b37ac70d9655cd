package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/pipeline"
)

func TestASummaryIsComputedFromEvents(t *testing.T) {
	w := newWorld(t)
	w.shelf.failing = 2
	w.answer = func(phase, prompt string) string {
		if phase == "architecture" {
			return "Sure! " + goodAnswer(phase, prompt)
		}
		return goodAnswer(phase, prompt)
	}
	s, _ := mustEnd(t, deliver(t, w.config()))
	sum := pipeline.Summarize(s.events())
	if sum.Success || sum.State != "completed" || sum.Request != request || sum.Session != s.id || sum.Started.IsZero() {
		t.Errorf("got %s", encode(sum))
	}
	if want := (pipeline.Metrics{PhaseSuccess: 4.0 / 5, JSONCompliance: 4.0 / 5, ArtifactSuccess: 4.0 / 5, Completion: 1}); sum.Metrics != want {
		t.Errorf("got %+v", sum.Metrics)
	}
	last := sum.Phases[4]
	if last.Name != "qa" || last.Tokens != 15 || last.Artifacts != 1 || last.JSON != pipeline.LevelStrict || last.Status != "success" {
		t.Errorf("got %+v", last)
	}
	states := map[string]int{}
	for _, a := range sum.Artifacts {
		states[a.State]++
	}
	if states["saved"] != 4 || states["failed"] != 1 {
		t.Errorf("got %v", states)
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(encode(sum)), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("success request duration_ms phases artifacts warnings metrics") {
		if _, ok := keys[key]; !ok {
			t.Errorf("the JSON lacks %s", key)
		}
	}
}

// What package observe counts is what a delivery records.
func TestMetricsSeeThePhases(t *testing.T) {
	w := newWorld(t)
	w.shelf.failing = 2
	s, _ := mustEnd(t, deliver(t, w.config()))
	m := observe.NewMetrics()
	for _, e := range s.events() {
		m.Note(&e)
	}
	got := m.Summary()
	if got.Phases.ByPhase["planning"]["partial"] != 1 || got.Phases.JSON["strict"] != 5 || *got.Phases.Compliance != 1 {
		t.Errorf("got %s", encode(got.Phases))
	}
}

func TestAnUnfinishedDeliveryIsRunning(t *testing.T) {
	w := newWorld(t)
	s, _ := mustEnd(t, deliver(t, w.config()))
	log := s.events()
	for cut := range log {
		sum := pipeline.Summarize(log[:cut])
		if sum.Success || sum.State != "running" || sum.Metrics.Completion != 0 {
			t.Fatalf("after %d events: %s", cut, encode(sum))
		}
	}
	if empty := pipeline.Summarize([]troupe.Event{}); empty.Success {
		t.Error("nothing is no success")
	}
}
