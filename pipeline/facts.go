package pipeline

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// A CheckRun is one run of a check, as it was measured.
type CheckRun struct {
	// Label is what it was run for: baseline, verify, or the step and round. Attempt counts
	// from 1 how often that was begun: a step that failed and is carried out again has
	// rounds of the same numbers.
	Label   string    `json:"label"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	// Outdated says that the code was changed since. What was measured of the base stays true.
	Outdated bool `json:"outdated,omitempty"`
	checks.Outcome
}

// CheckRuns returns all runs of checks of a session, in their order.
func CheckRuns(events []troupe.Event) (runs []CheckRun) {
	type place struct{ run, step string }
	labels := map[place]string{}
	counted := checkings{}
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
			if isChange(b) {
				for i := range runs {
					runs[i].Outdated = runs[i].Label != labelBaseline
				}
			}
			if b.Tool != toolCheck || b.Class != "" {
				continue
			}
			r := CheckRun{Label: labels[place{e.Run, e.Step}], At: e.Time}
			if json.Unmarshal([]byte(b.Content), &r.Outcome) == nil {
				r.Attempt = counted.of(e.Run, r.Label, r.Name)
				runs = append(runs, r)
			}
		}
	}
	return runs
}

// checkings count how often checks were begun for a step, or on a whole tree.
type checkings map[string]*checking

type checking struct {
	n    int
	run  string
	seen map[string]bool
}

// of is the attempt that a check is of. That of a step is a run of its own; on a whole tree
// checks run one after the other, each once.
func (a checkings) of(run, label, check string) int {
	what, _, isStep := strings.Cut(label, " round ")
	now := a[what]
	if now == nil || isStep && now.run != run || !isStep && now.seen[check] {
		n := 1
		if now != nil {
			n = now.n + 1
		}
		now = &checking{n, run, map[string]bool{}}
		a[what] = now
	}
	now.seen[check] = true
	return now.n
}

// isChange reports whether a call has changed the code: with what a builder wrote, or by
// taking it back.
func isChange(b *troupe.ToolReturned) bool {
	var applied struct {
		Files    []json.RawMessage `json:"files"`
		Problems []json.RawMessage `json:"problems"`
	}
	switch {
	case b.Class != "":
		return false
	case b.Tool == toolApply:
		return json.Unmarshal([]byte(b.Content), &applied) == nil && len(applied.Files) > 0 && len(applied.Problems) == 0
	}
	return b.Tool == toolReset
}

// A Review is what the latest review of a change came to.
type Review struct {
	// Verdict is accept or changes_required, as the reviewer said it. Round counts the
	// session's reviews from 1.
	Verdict  string      `json:"verdict,omitempty"`
	Round    int         `json:"round"`
	At       time.Time   `json:"at"`
	Findings []Finding   `json:"findings"`
	Criteria []Criterion `json:"criteria"`
	// Claims are where the reviewer says otherwise than what was measured.
	Claims []string `json:"claims,omitempty"`
	// Outdated says that the change has grown since.
	Outdated bool `json:"outdated,omitempty"`
}

// LatestReview returns the latest review of a session's change, also of a delivery that has
// not come to its end; nil where there was none.
func LatestReview(events []troupe.Event) (latest *Review) {
	round := 0
	for i := range events {
		switch b := events[i].Body.(type) {
		case *troupe.ToolReturned:
			if latest != nil && b.Tool == toolCommit && b.Class == "" {
				latest.Outdated = true
			}
		case *troupe.RunFinished:
			var r Result
			if b.Output.Custom["phase"] != phaseQA || redecode(b.Output.Outputs["result"], &r) != nil || r.Review == nil {
				continue
			}
			round++
			latest = &Review{Verdict: r.Review.Verdict, Round: round, At: events[i].Time, Claims: r.Review.claims()}
			latest.Findings, latest.Criteria = plainFindings(r.Review.Findings, r.Review.Criteria)
		}
	}
	return latest
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

// LeftOut counts the files that were changed in the checkout and not committed when the
// delivery began, and that it was begun without.
func LeftOut(events []troupe.Event) int {
	for i := range events {
		var p prepared
		if b, ok := events[i].Body.(*troupe.ToolReturned); ok && b.Tool == toolPrepare && b.Class == "" && json.Unmarshal([]byte(b.Content), &p) == nil {
			return p.Left // later ones go on with the same base
		}
	}
	return 0
}

// PlainFindings are the findings and criteria of the latest review, where there is one.
func (r *Report) PlainFindings() (findings []Finding, criteria []Criterion) {
	return plainFindings(r.Findings, r.Criteria)
}

// plainFindings are findings and criteria without what only agents need.
func plainFindings(found []finding, judged []judgement) (findings []Finding, criteria []Criterion) {
	findings, criteria = []Finding{}, []Criterion{}
	for _, f := range found {
		findings = append(findings, Finding{f.ID, f.Severity, f.Path, f.Line, f.Problem, f.Fix, f.Proven, f.Fell})
	}
	for _, c := range judged {
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

// Standing says what a finding asks for, in the same words wherever people read of it.
func (f *Finding) Standing() string { return (&finding{Severity: f.Severity}).standing() }

// A Criterion is what became of an acceptance criterion: met, not_met or unproven.
type Criterion struct {
	ID       string `json:"id"`
	Text     string `json:"text,omitempty"`
	State    string `json:"state"`
	Evidence string `json:"evidence,omitempty"`
}
