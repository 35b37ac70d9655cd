package pipeline

import (
	"encoding/json"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// A CheckRun is one run of a check, as it was measured.
type CheckRun struct {
	// Label is what it was run for: baseline, verify, or the step and round.
	Label string    `json:"label"`
	At    time.Time `json:"at"`
	checks.Outcome
}

// CheckRuns returns all runs of checks of a session, in their order.
func CheckRuns(events []troupe.Event) (runs []CheckRun) {
	type place struct{ run, step string }
	labels := map[place]string{}
	for i := range events {
		e := &events[i]
		switch b := e.Body.(type) {
		case *troupe.ToolCalled:
			if b.Tool == toolCheck {
				var in checkRequest
				_ = json.Unmarshal([]byte(b.Arguments), &in) // what has another form has no label
				labels[place{e.Run, e.Step}] = in.Label
			}
		case *troupe.ToolReturned:
			if b.Tool != toolCheck || b.Class != "" {
				continue
			}
			r := CheckRun{Label: labels[place{e.Run, e.Step}], At: e.Time}
			if json.Unmarshal([]byte(b.Content), &r.Outcome) == nil {
				runs = append(runs, r)
			}
		}
	}
	return runs
}

// Documents returns the documents of the phases, each with the phase that wrote it.
func Documents(events []troupe.Event) (list []ArtifactSummary) {
	for _, a := range artifactsIn(events) {
		if a.SHA256 != "" {
			list = append(list, ArtifactSummary{a.Path, a.Type, a.request.Phase, a.SHA256, a.State, a.Error})
		}
	}
	return list
}

// PlainFindings are the findings and criteria of the latest review, where there is one.
func (r *Report) PlainFindings() (findings []Finding, criteria []Criterion) {
	for _, f := range r.Findings {
		findings = append(findings, Finding{f.ID, f.Severity, f.Path, f.Line, f.Problem, f.Fix, f.Proven, f.Fell})
	}
	for _, c := range r.Criteria {
		criteria = append(criteria, Criterion(c))
	}
	return findings, criteria
}

// A Finding is something that a review holds against a change.
type Finding struct {
	ID string `json:"id"`
	// Severity is blocker, major or minor.
	Severity string `json:"severity"`
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Problem  string `json:"problem"`
	Fix      string `json:"fix,omitempty"`
	// Proven says that a test shows it, Fell that its own test did not.
	Proven bool `json:"proven,omitempty"`
	Fell   bool `json:"fell,omitempty"`
}

// A Criterion is what became of an acceptance criterion: met, not_met or unproven.
type Criterion struct {
	ID       string `json:"id"`
	Text     string `json:"text,omitempty"`
	State    string `json:"state"`
	Evidence string `json:"evidence,omitempty"`
}
