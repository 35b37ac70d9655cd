package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
)

func TestFindingsBecomeSteps(t *testing.T) {
	r := &review{
		Findings: []finding{
			{ID: "F1", Severity: severityMinor, Problem: "small"},
			{ID: "F2", Severity: severityMajor, Problem: "it fell", Fell: true},
			{ID: "F3", Severity: severityBlocker, Path: "a.go", Problem: "NaN", Fix: "Refuse NaN", Proven: true, Reproduce: []edit.Change{{Path: "a.go", Type: edit.TypeEdit, Edits: []edit.Edit{{Search: "x", Replace: "y"}}}, {Path: "a_test.go", Type: edit.TypeFile, Content: "func TestNaN\n"}}},
			{ID: "F4", Severity: severityMajor, Problem: strings.Repeat("x", 80)},
		},
		Criteria: []judgement{{ID: "AC1", State: criterionNotMet, Text: "there is a median"}},
	}
	steps := r.fixes(2)
	if len(steps) != 2 {
		t.Fatalf("got %+v", steps)
	}
	first, second := steps[0], steps[1]
	if first.ID != "fix-3" || first.Title != "Refuse NaN" || first.Status != StepTodo || !slices.Equal(first.Files, []string{"a.go", "a_test.go"}) ||
		!strings.HasPrefix(first.Goal, "A review found (F3, blocker): NaN\nProposed: Refuse NaN\nThis test fails and proves it; make it part of the fix:\n\nIn a.go, replace\n```\nx\n```\nby\n```\ny\n```\n\nThe file a_test.go:\n```\nfunc TestNaN\n```") {
		t.Errorf("got %+v", first)
	}
	if second.ID != "fix-4" || second.Title != strings.Repeat("x", 70)+"…" || second.Files != nil || second.Goal != "A review found (F4, major): "+strings.Repeat("x", 80) {
		t.Errorf("got %+v", second)
	}
}

// Criteria become steps only where no finding says what is wrong.
func TestCriteriaThatAreNotMetBecomeSteps(t *testing.T) {
	r := &review{Criteria: []judgement{{ID: "AC1", State: criterionUnproven}, {ID: "AC2", State: criterionNotMet, Text: "NaN is refused", Evidence: "it is not"}, {ID: "AC3", State: criterionMet}}}
	steps := r.fixes(0)
	if len(steps) != 1 || steps[0].ID != "fix-1" || steps[0].Title != "Meet AC2" || !slices.Equal(steps[0].Acceptance, []string{"AC2"}) || !strings.Contains(steps[0].Goal, "AC2 is not met: NaN is refused\nit is not") {
		t.Errorf("got %+v", steps)
	}
}

func TestAFindingThatComesBackIsNamed(t *testing.T) {
	old := &review{Findings: []finding{{ID: "F1", Path: "a.go", Severity: severityMajor, Problem: "Line 3: NaN is taken"}, {ID: "F2", Path: "b.go", Severity: severityMinor, Problem: "small"}}}
	for want, f := range map[string]finding{
		"F7": {ID: "F7", Path: "a.go", Severity: severityBlocker, Problem: "line 42 – nan is taken"},
		"":   {ID: "F7", Path: "c.go", Severity: severityMajor, Problem: "Line 3: NaN is taken"},
	} {
		if got := (&review{Findings: []finding{f}}).comesBack(old); got != want {
			t.Errorf("%+v: got %q", f, got)
		}
	}
	for _, f := range []finding{
		{ID: "F7", Path: "a.go", Severity: severityMinor, Problem: "Line 3: NaN is taken"}, {ID: "F7", Path: "a.go", Severity: severityMajor, Fell: true, Problem: "Line 3: NaN is taken"},
		{ID: "F7", Path: "a.go", Severity: severityMajor, Problem: "something else"}, {ID: "F7", Path: "b.go", Severity: severityMajor, Problem: "small"},
	} {
		if got := (&review{Findings: []finding{f}}).comesBack(old); got != "" {
			t.Errorf("%+v: got %q", f, got)
		}
	}
	if got := old.comesBack(nil); got != "" {
		t.Errorf("of the first review: %q", got)
	}
}

func TestAReviewIsShownWithoutWhatFell(t *testing.T) {
	r := &review{
		Criteria: []judgement{{ID: "AC1", State: criterionNotMet, Evidence: "a.go:1"}, {ID: "AC2", State: criterionMet}},
		Findings: []finding{{ID: "F1", Severity: severityMajor, Path: "a.go", Line: 3, Problem: "NaN"}, {ID: "F2", Problem: "nothing", Fell: true}},
	}
	if got, want := r.lines(), "- AC1 not met: a.go:1\n- AC2 met: no evidence\n- F1 major a.go:3 NaN\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := fellText(r), "- F2 fell: its own test passes\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestAReviewThatNamesNothingIsAClaim(t *testing.T) {
	for _, c := range []struct {
		review review
		want   int
	}{
		{review{Verdict: "changes_required", Claims: []string{"one"}}, 2}, {review{Verdict: "accept", Claims: []string{"one"}}, 1},
		{review{Verdict: "changes_required", Findings: []finding{{Severity: severityMajor}}}, 0},
	} {
		if got := c.review.claims(); len(got) != c.want {
			t.Errorf("%+v: got %q", c.review, got)
		}
	}
}

func TestAReviewIsReadForgivingly(t *testing.T) {
	criteria := []criterion{{ID: "AC1", Text: "one"}, {ID: "AC2", Text: "two"}, {ID: "AC3"}, {ID: "AC4"}}
	r := readReview(json.RawMessage(`{"verdict": "Request changes",
		"criteria": [{"id": "ac1", "state": "Not met", "evidence": "a.go:1"}, {"id": "AC2", "state": "MET"}, {"id": "AC3", "state": "perhaps", "evidence": "b"}],
		"findings": ["plain text", {"severity": "critical", "problem": "crash"}, {"id": "X", "severity": "nit", "problem": "space"}, {"id": "empty"}]}`), criteria)
	var got []string
	for _, c := range r.Criteria {
		got = append(got, c.ID+" "+c.Text+" "+c.State+" "+c.Evidence)
	}
	for _, f := range r.Findings {
		got = append(got, f.ID+" "+f.Severity+" "+f.Problem)
	}
	want := []string{"AC1 one not_met a.go:1", "AC2 two met ", "AC3  unproven b", "AC4  unproven ", "F1 major plain text", "F2 blocker crash", "X minor space"}
	if !slices.Equal(got, want) || r.Verdict != "changes_required" {
		t.Errorf("%s: got %q", r.Verdict, got)
	}
}

// The published contract has no verdict: its fields are read where there is nothing else.
func TestAReviewOfThePublishedContractIsRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"tests_passed": true}`:  "accept 0",
		`{"tests_passed": false}`: "changes_required 0",
		`{"tests_passed": true, "security_issues": [{"path": "a.go", "issue": "open"}, "two"]}`: "changes_required 2",
		`{"verdict": "accept", "security_issues": ["one"]}`:                                     "accept 0",
		`{"findings": [], "security_issues": ["one"]}`:                                          " 0",
	} {
		r := readReview(json.RawMessage(text), nil)
		if got := fmt.Sprintf("%s %d", r.Verdict, len(r.Findings)); got != want {
			t.Errorf("%s: got %q", text, got)
		}
		if len(r.Findings) == 2 && (r.Findings[0].ID != "F1" || r.Findings[0].Path != "a.go" || r.Findings[0].Severity != severityMajor || r.Findings[1].ID != "F2") {
			t.Errorf("got %+v", r.Findings)
		}
	}
}

func TestWordsOfReviewersAreUnderstood(t *testing.T) {
	for word, want := range map[string]string{"Accepted.": "accept", " approve ": "accept", "changes requested": "changes_required", "REJECT": "changes_required", "Hm": "Hm"} {
		if got := verdictOf(word); got != want {
			t.Errorf("%q: got %q", word, got)
		}
	}
	for word, want := range map[string]string{" Blocker ": severityBlocker, "critical": severityBlocker, "MINOR": severityMinor, "info": severityMinor, "": severityMajor, "awful": severityMajor} {
		if got := severityOf(word); got != want {
			t.Errorf("%q: got %q", word, got)
		}
	}
}

func TestEvidenceIsAFileAndTests(t *testing.T) {
	for text, want := range map[string]string{
		"stats.go:12":                      "stats.go []",
		"TestMedian in stats_test.go":      "stats_test.go [TestMedian]",
		"pkg.TestMedian and TestMean":      " [TestMedian TestMean]",
		"test_stats.py:3":                  "test_stats.py []",
		"tests/test_stats.py::test_median": "tests/test_stats.py [test_median]",
		"test_stats.test_median":           " [test_median]",
		"it works":                         " []",
		"TestMedian.Sub_case":              " [TestMedian]",
	} {
		file, tests := evidenceIn(text)
		if got := fmt.Sprint(file, " ", tests); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestWhatWasMeasuredIsSaid(t *testing.T) {
	if got := measured(nil, nil); got != "nothing was checked" {
		t.Errorf("got %q", got)
	}
	got := measured([]checks.Outcome{{Name: "test", OK: true, Tests: 2}}, []checks.Outcome{{Name: "test", Command: "go test", Exit: 1}, {Name: "lint", Command: "make lint", OK: true}})
	if want := "test ✗ (go test): exit code 1; before the change: test ✓ (2 tests)\nlint ✓ (make lint): exit code 0\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestTheFactTakesThePlaceOfTheClaim(t *testing.T) {
	w := &work{Result: Result{Outputs: json.RawMessage(`{"code_quality":"A","tests_passed":true}`)}}
	if w.setTestsPassed(false); string(w.Outputs) != `{"code_quality":"A","tests_passed":false}` {
		t.Errorf("got %s", w.Outputs)
	}
	w.Outputs = json.RawMessage(`"text"`)
	if w.setTestsPassed(true); string(w.Outputs) != `"text"` {
		t.Errorf("got %s", w.Outputs)
	}
}

// A finding is proven only by what failed because of it: what failed before is set beside it.
func TestChecksThatFailNowAndThenAreRed(t *testing.T) {
	red := redOnes([]checks.Outcome{{Name: "a", OK: true}, {Name: "b", Exit: 1, Failing: []string{"T"}, Excerpt: "long"}, {Name: "c", OK: true, Flaky: []string{"T"}, Tests: 2}})
	if len(red) != 2 || red[0].Name != "b" || red[0].Exit != 1 || len(red[0].Failing) != 1 || red[0].Excerpt != "" || red[1].Name != "c" || !red[1].OK || len(red[1].Flaky) != 1 || red[1].Tests != 2 {
		t.Errorf("got %+v", red)
	}
}

func TestCriteriaGetIDs(t *testing.T) {
	got := criteriaOf([]Result{
		{Phase: "architecture", Outputs: json.RawMessage(`{"acceptance_criteria": ["no"]}`)},
		{Phase: "requirements", Outputs: json.RawMessage(`{"acceptance_criteria": ["plain", {"id": "X", "text": "with id", "how": "test"}, {"given": "a", "then": "b"}]}`)},
	})
	if want := []criterion{{ID: "AC1", Text: "plain"}, {ID: "X", Text: "with id", How: "test"}, {ID: "AC3", Text: "given: a; then: b"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// However its id is written, a criterion is the same one, and its id is shown once.
func TestIDsOfCriteriaAreTakenAsMeant(t *testing.T) {
	list := criteriaOf([]Result{{Phase: "requirements", Outputs: json.RawMessage(`{"acceptance_criteria": [
		"AC-1: shout says it loudly", {"id": "ac 2", "text": "AC-2. greet stays"}, {"id": "AC3", "criterion": "it is quick", "how": "test"},
		"without an id", "AC1 - shout says it loudly", {"id": "AC-1", "text": "another one"}, "HTTP 404: is said so", {"id": "X", "given": "a", "then": "b"}]}`)}})
	var got []string
	for _, c := range list {
		got = append(got, c.ID+"|"+c.Text)
	}
	want := []string{"AC-1|shout says it loudly", "ac 2|greet stays", "AC3|it is quick", "AC4|without an id", "AC6|another one", "AC7|HTTP 404: is said so", "X|given: a; then: b"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r := readReview(json.RawMessage(`{"verdict": "accept", "criteria": [{"id": "AC1", "state": "met", "evidence": "a"}, {"id": "AC-2", "state": "met"}, {"id": "AC-9", "state": "met"}]}`), list[:3])
	if r.Criteria[0].State != criterionMet || r.Criteria[1].State != criterionMet || r.Criteria[2].State != criterionUnproven {
		t.Errorf("got %+v", r.Criteria)
	}
	if !slices.Equal(r.Claims, []string{"the review speaks of AC-9, and there is no such criterion"}) {
		t.Errorf("got %q", r.Claims)
	}
	for pair, want := range map[[2]string]bool{{"AC1.1", "AC11"}: false, {"", ""}: false, {"ac_1", "AC-1"}: true} {
		if got := sameID(pair[0], pair[1]); got != want {
			t.Errorf("%q: %t", pair, got)
		}
	}
}
