package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// courseOf is a course that came to its end with these facts.
func courseOf(phases ...string) *course {
	c := &course{delivery: &delivery{Config: Config{Repository: &Repository{QARounds: 1}}}}
	for _, name := range phases {
		c.Phases = append(c.Phases, Phase{Name: name})
	}
	return c
}

func TestWhyAChangeIsNotDelivered(t *testing.T) {
	green := []checks.Outcome{{Name: "test", OK: true}}
	steps := func(list ...StepRecord) *Result { return &Result{Phase: phaseImplementation, Steps: list} }
	done := steps(StepRecord{ID: "1", State: StepDone})
	for name, c := range map[string]struct {
		change func(c *course)
		steps  *Result
		want   []string
	}{
		"all is well":             {func(c *course) {}, done, nil},
		"nothing was done":        {func(c *course) {}, nil, []string{"nothing was implemented"}},
		"stopped before":          {func(c *course) { c.stopped = "stopped" }, nil, []string{"stopped", "nothing was implemented"}},
		"a step failed":           {func(c *course) { c.stopped = "step 1 failed: no" }, steps(StepRecord{ID: "1", State: StepFailed, Reason: "no"}), []string{"step 1 failed: no"}},
		"it went on after it":     {func(c *course) {}, steps(StepRecord{ID: "1", State: StepFailed, Reason: "no"}), []string{"step 1 failed: no"}},
		"a step was skipped":      {func(c *course) { c.stopped = "stopped" }, steps(StepRecord{ID: "2", Title: "Second", State: StepSkipped, Reason: "“First” is not done"}), []string{"stopped", "“Second” is still to be done: “First” is not done"}},
		"there are no checks":     {func(c *course) { c.site.Checks, c.verified = nil, nil }, done, []string{"nothing was checked: the repository has no checks (--unchecked allows that)"}},
		"none are wanted":         {func(c *course) { c.site.Checks, c.verified = nil, nil; c.Repository.Unchecked = true }, done, nil},
		"a check did not run":     {func(c *course) { c.verified = nil }, done, []string{"not all checks ran on the result"}},
		"a check fails":           {func(c *course) { c.verified = []checks.Outcome{{Name: "test"}} }, done, []string{"on a clean checkout, the check “test” fails"}},
		"it failed before":        {func(c *course) { c.verified = []checks.Outcome{{Name: "test"}}; c.baseline = c.verified }, done, nil},
		"it was not reviewed":     {func(c *course) { c.review = nil }, done, []string{"it was not reviewed"}},
		"no review is wanted":     {func(c *course) { c.review = nil; c.Repository.QARounds = -1 }, done, nil},
		"no rounds of review":     {func(c *course) { c.review = nil; c.Repository.QARounds = 0 }, done, nil},
		"there is no reviewer":    {func(c *course) { c.review = nil; c.Phases = c.Phases[:1] }, done, nil},
		"stopped before a review": {func(c *course) { c.review = nil; c.stopped = "stopped" }, done, []string{"stopped"}},
		"a finding is open": {func(c *course) {
			c.review.Findings = []finding{{ID: "F1", Severity: severityMinor, Problem: "a"}, {ID: "F2", Severity: severityMajor, Problem: "b"}, {ID: "F3", Severity: severityMajor, Problem: "c", Fell: true}}
		}, done, []string{"F2 should be put right: b"}},
		"a criterion is not met": {func(c *course) {
			c.review.Criteria = []judgement{{ID: "AC1", State: criterionMet}, {ID: "AC2", State: criterionNotMet, Text: "b"}, {ID: "AC3", State: criterionUnproven}}
		}, done, []string{"AC2 is not met: b"}},
	} {
		course := courseOf(phaseImplementation, phaseQA)
		course.site.Checks, course.verified, course.baseline, course.review = []checks.Check{{Name: "test"}}, green, green, &review{Verdict: "accept"}
		c.change(course)
		if got := course.reasons(c.steps); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	thinking := courseOf("requirements", "architecture")
	thinking.done = []Result{{Phase: "requirements", Status: "success"}, {Phase: "architecture", Status: "partial"}}
	if got := thinking.reasons(nil); !slices.Equal(got, []string{"architecture is only partly done"}) {
		t.Errorf("of documents alone: %q", got)
	}
}

func TestNotesSayWhatIsToBeKnownOfTheChecks(t *testing.T) {
	c := courseOf(phaseImplementation)
	c.baseline = []checks.Outcome{{Name: "test", Flaky: []string{"TestA"}, Failing: []string{"TestB"}}, {Name: "lint", OK: true}}
	c.verified = []checks.Outcome{{Name: "test", Failing: []string{"TestB"}}, {Name: "lint"}, {Name: "e2e", OK: true, Flaky: []string{"TestC"}}}
	c.done = []Result{{Warnings: []string{"check_flaky: e2e: failed and passed when it was run again, unchanged: TestC", "check_flaky: other", "reply_cut: x"}}}
	want := []string{
		"before the change, test: failed and passed when it was run again, unchanged: TestA", "e2e: failed and passed when it was run again, unchanged: TestC",
		"test: fails, and did not always pass before: TestB", "other",
	}
	if got := c.notes(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestTheLatestResultOfAPhaseCounts(t *testing.T) {
	c := courseOf()
	c.earlier = []Result{{Phase: "requirements", Status: "success"}, {Phase: "qa", Status: "failed"}}
	c.done = []Result{{Phase: "planning", Status: "partial"}, {Phase: "requirements", Status: "partial"}}
	var got []string
	for _, r := range c.results() {
		got = append(got, r.Phase+" "+string(r.Status))
	}
	if want := []string{"qa failed", "planning partial", "requirements partial"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if r := c.result("requirements"); r == nil || r.Status != "partial" {
		t.Errorf("got %+v", r)
	}
	if r := c.result("discovery"); r != nil {
		t.Errorf("got %+v", r)
	}
}

func TestTheFirstStepThatFailedIsNamed(t *testing.T) {
	r := &Result{Steps: []StepRecord{{ID: "1", State: StepDone}, {ID: "2", State: StepFailed}, {ID: "3", State: StepFailed}}}
	if got := r.failedStep(); got != &r.Steps[1] {
		t.Errorf("got %+v", got)
	}
	r.Steps = r.Steps[:1]
	if got := r.failedStep(); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestAReportHasExcerptsOfChecks(t *testing.T) {
	if got := slim(nil); got == nil || len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
	list := []checks.Outcome{{Name: "test", Excerpt: strings.Repeat("x", 3000)}, {Name: "lint", Excerpt: "short"}}
	got := slim(list)
	if len(got) != 2 || got[0].Excerpt != strings.Repeat("x", 2000)+"…" || got[1].Excerpt != "short" || len(list[0].Excerpt) != 3000 {
		t.Errorf("got %+v", got)
	}
}

func TestTheReportIsThatOfTheLatestDelivery(t *testing.T) {
	end := func(parent string, outputs map[string]any) troupe.Event {
		return troupe.Event{Parent: parent, Body: &troupe.RunFinished{Output: troupe.Handoff{Outputs: outputs}}}
	}
	of := func(outcome string) map[string]any {
		return map[string]any{"delivery": map[string]any{"outcome": outcome}}
	}
	events := []troupe.Event{end("", of("first")), end("", of("second")), end("x", of("nested")), end("", map[string]any{"phases": 1}), end("", map[string]any{"delivery": "broken"}), {Body: &troupe.UserSaid{}}}
	if r := ReportOf(events); r == nil || r.Outcome != "second" {
		t.Errorf("got %+v", r)
	}
	if r := ReportOf(events[:1]); r == nil || r.Outcome != "first" {
		t.Errorf("got %+v", r)
	}
	if r := ReportOf(events[2:]); r != nil {
		t.Errorf("got %+v", r)
	}
}

func TestFindingsAndCriteriaAreData(t *testing.T) {
	r := &Report{Findings: []finding{{ID: "F1", Severity: "major", Path: "a.go", Line: 3, Problem: "p", Fix: "f", Proven: true}}, Criteria: []judgement{{ID: "AC1", Text: "t", State: "met", Evidence: "e"}}}
	findings, criteria := r.PlainFindings()
	if len(findings) != 1 || findings[0] != (Finding{"F1", "major", "a.go", 3, "p", "f", true, false}) || len(criteria) != 1 || criteria[0] != (Criterion{"AC1", "t", "met", "e"}) {
		t.Errorf("%+v, %+v", findings, criteria)
	}
}

// A step that is carried out again has rounds of the same numbers, which are not those of
// the attempt before; and so has the result that is verified again.
func TestRunsOfChecksHaveTheirAttempts(t *testing.T) {
	var events []troupe.Event
	check := func(run, label, name string) {
		step := fmt.Sprint(len(events))
		arguments, _ := json.Marshal(map[string]string{"check": name, "label": label})
		events = append(events, troupe.Event{Run: run, Step: step, Body: &troupe.ToolCalled{Tool: toolCheck, Arguments: troupe.Arguments(arguments)}},
			troupe.Event{Run: run, Step: step, Body: &troupe.ToolReturned{Tool: toolCheck, Content: fmt.Sprintf(`{"name": %q}`, name)}})
	}
	for _, run := range []string{"a:1", "b:1"} {
		check(run, "step 1 round 1", "build")
		check(run, "step 1 round 1", "test")
		check(run, "step 1 round 2", "build")
		check(run[:1], "verify", "build")
		check(run[:1], "verify", "test")
	}
	check("b:2", "step 2 round 1", "build")
	check("b", "verify", "build")
	var got []string
	for _, r := range CheckRuns(events) {
		got = append(got, fmt.Sprint(r.Attempt))
	}
	if want := "1 1 1 1 1 2 2 2 2 2 1 3"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

func TestRunsOfChecksHaveTheirLabels(t *testing.T) {
	events := []troupe.Event{
		{Run: "r", Step: "1", Body: &troupe.ToolCalled{Tool: toolCheck, Arguments: `{"check": "test", "label": "baseline"}`}},
		{Run: "r", Step: "2", Body: &troupe.ToolCalled{Tool: toolLook, Arguments: `{"label": "no"}`}},
		{Run: "r", Step: "2", Body: &troupe.ToolReturned{Tool: toolLook, Content: `{"name": "no"}`}},
		{Run: "r", Step: "3", Body: &troupe.ToolReturned{Tool: toolCheck, Class: "failed", Content: `{"name": "no"}`}},
		{Run: "r", Step: "1", Body: &troupe.ToolReturned{Tool: toolCheck, Content: `{"name": "test", "ok": true}`}},
		{Run: "r", Step: "4", Body: &troupe.ToolReturned{Tool: toolCheck, Content: `no JSON`}},
		{Run: "s", Step: "1", Body: &troupe.ToolReturned{Tool: toolCheck, Content: `{"name": "lint"}`}},
	}
	runs := CheckRuns(events)
	if len(runs) != 2 || runs[0].Label != "baseline" || runs[0].Name != "test" || !runs[0].OK || runs[1].Label != "" || runs[1].Name != "lint" {
		t.Errorf("got %+v", runs)
	}
}
