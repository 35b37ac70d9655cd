package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
)

// A Report is what a delivery into a repository came to, by facts alone. The run hands
// it back under Outputs["delivery"].
type Report struct {
	// Outcome is "delivered", "partial" or "failed".
	Outcome string `json:"outcome"`
	// Reasons are why it is not delivered, Advice what a person can do about it.
	Reasons []string `json:"reasons,omitempty"`
	Advice  string   `json:"advice,omitempty"`
	ID      string   `json:"id"`
	Branch  string   `json:"branch"`
	Base    string   `json:"base"`
	Head    string   `json:"head"`
	Sandbox string   `json:"sandbox"`
	// Commits are those of steps, Log all that are on the branch: of documents and of what was
	// changed by hand, too.
	Commits  []CommitReport   `json:"commits"`
	Log      []git.Commit     `json:"log,omitempty"`
	Files    []git.Stat       `json:"files"`
	Baseline []checks.Outcome `json:"baseline,omitempty"`
	Checks   []checks.Outcome `json:"checks"`
	Criteria []judgement      `json:"criteria"`
	Findings []finding        `json:"findings"`
	// Claims are where somebody said otherwise than what was measured.
	Claims []string `json:"claims,omitempty"`
	// Notes are what else there is to know of how it was measured: tests that are not to be
	// relied on, dependencies that were not fetched.
	Notes []string `json:"notes,omitempty"`
}

// A CommitReport is a commit of the branch.
type CommitReport struct {
	Step   string `json:"step"`
	Commit string `json:"commit"`
	Title  string `json:"title"`
}

// The outcomes of a delivery.
const (
	OutcomeDelivered = "delivered"
	OutcomePartial   = "partial"
	OutcomeFailed    = "failed"
)

// report makes the delivery's result of what was measured.
func (c *course) report(ctx context.Context) (troupe.Handoff, error) {
	if !c.has(phaseImplementation) {
		if err := c.keepDocuments(ctx); err != nil {
			return troupe.Handoff{}, err
		}
	}
	var published publication
	if c.site.New && c.now.Head != c.site.Base {
		var err error
		if published, err = call[publication](ctx, c.run, c.tools.publish, struct{}{}); err != nil {
			return troupe.Handoff{}, err
		}
	}
	r := Report{ID: c.site.ID, Branch: c.site.Branch, Base: c.site.Base, Head: c.now.Head, Sandbox: c.site.Sandbox, Baseline: slim(c.baseline), Checks: slim(c.verified), Commits: []CommitReport{}, Criteria: []judgement{}, Findings: []finding{}, Files: []git.Stat{}}
	if c.now.Head != c.site.Base {
		change, err := call[diffResult](ctx, c.run, c.tools.stat, diffRequest{From: c.site.Base, To: c.now.Head, Log: true})
		if err != nil {
			return troupe.Handoff{}, err
		}
		r.Files, r.Log = change.Files, change.Log
	}
	if c.review != nil {
		r.Criteria, r.Findings, r.Claims = append(r.Criteria, c.review.Criteria...), append(r.Findings, c.review.Findings...), c.review.claims()
	}
	steps := c.result(phaseImplementation)
	if steps != nil {
		for _, s := range steps.Steps {
			if s.Commit != "" {
				r.Commits = append(r.Commits, CommitReport{s.ID, s.Commit, s.Title})
			}
		}
	}
	r.Reasons, r.Notes = c.reasons(steps), c.notes()
	if published.Refused != "" {
		r.Notes = append(r.Notes, "it is on its branch alone, and not in what is checked out: "+published.Refused)
	}
	note, err := c.setupNote(ctx)
	if err != nil {
		return troupe.Handoff{}, err
	}
	if note != "" {
		r.Notes = append(r.Notes, note)
	}
	switch {
	case len(r.Reasons) == 0:
		r.Outcome = OutcomeDelivered
	case len(r.Commits) > 0 || steps == nil && c.stopped == "" || c.keptDocuments():
		r.Outcome = OutcomePartial
	default:
		r.Outcome = OutcomeFailed
	}
	if r.Outcome != OutcomeDelivered {
		r.Advice = c.advice(steps)
	}
	status := map[string]string{OutcomeDelivered: "success", OutcomePartial: "partial", OutcomeFailed: "failed"}[r.Outcome]
	return troupe.Handoff{
		Task: c.in.Task, Summary: r.summary(), Custom: c.in.Custom,
		Outputs: map[string]any{"phases": c.done, "delivery": r},
		Meta:    troupe.HandoffMeta{Status: status},
	}, nil
}

// keptDocuments says of a delivery that is to make documents alone that it has made some, and
// that nothing failed.
func (c *course) keptDocuments() bool {
	return !c.has(phaseImplementation) && slices.ContainsFunc(c.done, func(r Result) bool { return len(r.Artifacts) > 0 }) &&
		!slices.ContainsFunc(c.done, func(r Result) bool { return r.Status == "failed" })
}

// CommitCount is how many commits are on the branch.
func (r *Report) CommitCount() int {
	return max(len(r.Log), len(r.Commits)) // a report from before there was a log has those of steps
}

// summary says what it came to in a few lines.
func (r *Report) summary() string {
	lines := []string{map[string]string{OutcomeDelivered: "Delivered", OutcomePartial: "Partly done", OutcomeFailed: "Not delivered"}[r.Outcome]}
	if len(r.Files) > 0 {
		lines[0] += ": " + statLine(r.Files)
	}
	if n := r.CommitCount(); n > 0 {
		lines[0] += fmt.Sprintf(", %s on %s", counted(n, "commit", "commits"), r.Branch)
	}
	for _, reason := range r.Reasons {
		lines = append(lines, "- "+reason)
	}
	return strings.Join(lines, "\n")
}

// slim leaves out what is on record elsewhere.
func slim(list []checks.Outcome) []checks.Outcome {
	out := []checks.Outcome{}
	for _, o := range list {
		o.Excerpt = clipText(o.Excerpt, 2000)
		out = append(out, o)
	}
	return out
}

// reasons are why a change is not delivered. Only what was measured counts.
func (c *course) reasons(steps *Result) (list []string) {
	if c.stopped != "" {
		list = append(list, c.stopped)
	}
	if !c.has(phaseImplementation) {
		for _, r := range c.done {
			switch name := lowerTitle(r.Phase); {
			case r.Status == "success" || strings.HasPrefix(c.stopped, name+" failed"):
			case r.Status == "failed":
				list = append(list, name+" failed")
			default:
				list = append(list, name+" is only partly done")
			}
		}
		return list
	}
	if steps == nil {
		return append(list, "nothing was implemented")
	}
	for _, s := range steps.Steps {
		if s.State != StepDone && !(s.State == StepFailed && c.stopped != "") {
			list = append(list, s.standing())
		}
	}
	if len(c.site.Checks) == 0 && !c.Repository.Unchecked {
		list = append(list, "nothing was checked: the repository has no checks (--unchecked allows that)")
	}
	if len(c.site.Checks) > 0 && len(c.verified) < len(c.site.Checks) {
		list = append(list, "not all checks ran on the result")
	}
	for _, o := range c.verified {
		if verdictOn(o, before(c.baseline, o.Name)) != nil {
			list = append(list, "on a clean checkout, "+o.ForPeople()+" fails")
		}
	}
	if c.isReviewed() && c.review == nil && c.stopped == "" {
		list = append(list, "it was not reviewed")
	}
	if c.review != nil {
		for _, f := range c.review.Findings {
			if f.blocks() {
				list = append(list, fmt.Sprintf("%s %s: %s", f.ID, f.standing(), clipText(f.Problem, 200)))
			}
		}
		for _, j := range c.review.Criteria {
			if j.State == criterionNotMet {
				list = append(list, fmt.Sprintf("%s is not met: %s", j.ID, clipText(j.Text, 200)))
			}
		}
	}
	return list
}

// standing says how a step stands that is not done. One that was not begun is still to be
// done, as the plan has it.
func (s *StepRecord) standing() string {
	text := stepName(s.ID, s.Title) + " "
	switch s.State {
	case StepFailed:
		text += "failed"
	case StepSkipped:
		text += "is still to be done"
	default:
		text += "is " + s.State
	}
	return strings.TrimSuffix(text+": "+s.Reason, ": ")
}

// advice says what a person can do about what failed.
func (c *course) advice(steps *Result) string {
	if steps != nil {
		if s := steps.failedStep(); s != nil {
			return adviceOnStep(s)
		}
	}
	if slices.ContainsFunc(c.done, func(r Result) bool { return r.Status == "failed" }) {
		return adviceOnPhase
	}
	return ""
}

// notes say what is to be known of the measurements.
func (c *course) notes() (list []string) {
	for _, measured := range []struct {
		when string
		list []checks.Outcome
	}{{"before the change, ", c.baseline}, {"", c.verified}} {
		for i := range measured.list {
			if o := &measured.list[i]; len(o.Flaky) > 0 {
				list = append(list, measured.when+flakyNote(o))
			}
		}
	}
	for _, o := range c.verified {
		if was := before(c.baseline, o.Name); !o.OK && verdictOn(o, was) == nil {
			list = append(list, fmt.Sprintf("%s: fails, and did not always pass before: %s", o.Name, strings.Join(o.Failing, ", ")))
		}
	}
	for _, r := range c.done {
		for _, w := range r.Warnings {
			if note, ok := strings.CutPrefix(w, codeFlaky+": "); ok && !slices.Contains(list, note) {
				list = append(list, note)
			}
		}
	}
	return list
}

// ReportOf returns what the latest delivery of a session came to, nil if it has not
// come to an end.
func ReportOf(events []troupe.Event) *Report {
	for i := len(events) - 1; i >= 0; i-- {
		end, ok := events[i].Body.(*troupe.RunFinished)
		if !ok || events[i].Parent != "" || end.Output.Outputs["delivery"] == nil {
			continue
		}
		var r Report
		if redecode(end.Output.Outputs["delivery"], &r) == nil {
			return &r
		}
	}
	return nil
}
