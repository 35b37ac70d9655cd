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
	if want := (pipeline.Metrics{PhaseSuccess: 5.0 / 6, JSONCompliance: 5.0 / 6, ArtifactSuccess: 6.0 / 7, Completion: 1}); sum.Metrics != want {
		t.Errorf("got %+v", sum.Metrics)
	}
	build := sum.Phases[4]
	if build.Name != "implementation" || build.Tokens != 30 || build.Artifacts != 2 || build.JSON != pipeline.LevelStrict || build.Status != "success" {
		t.Errorf("got %+v", build)
	}
	states := map[string]int{}
	for _, a := range sum.Artifacts {
		states[a.State]++
	}
	if states["saved"] != 6 || states["failed"] != 1 || len(sum.Ledger) != 2 {
		t.Errorf("got %v, %v", states, sum.Ledger)
	}
	var keys map[string]any
	if err := json.Unmarshal([]byte(encode(sum)), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("success request duration_ms phases artifacts warnings metrics ledger") {
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
	if got.Phases.ByPhase["planning"]["partial"] != 1 || got.Phases.JSON["strict"] != 6 || *got.Phases.Compliance != 1 {
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
