package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
)

// inTurn is a tool that says one thing after the other, and notes what it is asked.
func inTurn[In, Out any](name string, asked *[]In, outs ...Out) troupe.Tool {
	return siteTool(name, "Says one thing after the other.", func(_ context.Context, _ *troupe.Invocation, in In) (Out, error) {
		*asked = append(*asked, in)
		return outs[min(len(*asked), len(outs))-1], nil
	})
}

func outcomes(list ...checks.Outcome) (results []checkResult) {
	for _, o := range list {
		results = append(results, checkResult{state: state{Head: "h", Tree: "t"}, Outcome: o})
	}
	return results
}

// A check that cannot run is a question, and is run again once a person says so.
func TestACheckThatCannotRunIsRunAgain(t *testing.T) {
	cannot, fails, flaky := checks.Outcome{Name: "test", Cause: checks.CauseEnvironment, Remedy: "install it"}, checks.Outcome{Name: "test", Exit: 1, Cause: checks.CauseChange}, checks.Outcome{Name: "test", OK: true, Flaky: []string{"T"}}
	ours := checks.Outcome{Name: "test", Cause: checks.CauseEnvironment, Remedy: "what it depends on is not here"}
	for name, c := range map[string]struct {
		outcomes []checks.Outcome
		decision string
		want     string // runs, questions, warnings, stopped
	}{
		"it fails":         {[]checks.Outcome{fails}, "", "1 0 0 "},
		"it is put right":  {[]checks.Outcome{cannot, cannot, fails}, decisionGoOn, "3 2 0 "},
		"it is not":        {[]checks.Outcome{cannot}, decisionStop, "1 1 0 the check test could not run: install it, final"},
		"it is flaky":      {[]checks.Outcome{flaky}, "", "1 0 1 "},
		"the change's own": {[]checks.Outcome{ours}, "", "1 0 0 "},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			var asked []checkRequest
			var questions []gateRequest
			d := &delivery{gate: inTurn(toolGate, &questions, gateResult{Decision: c.decision}), tools: siteTools{check: inTurn(toolCheck, &asked, outcomes(c.outcomes...)...)}}
			b := &builder{work: &work{delivery: d, run: run, now: state{Tree: "x"}}, step: PlanStep{ID: "1"}, rounds: 2, baseline: []checks.Outcome{{Name: "test", OK: true}}}
			_, stopped, err := b.runCheck(ctx, checks.Check{Name: "test"}, time.Minute)
			if got := fmt.Sprintf("%d %d %d %s", len(asked), len(questions), len(b.Warnings), inShort(stopped)); got != c.want || b.now.Tree != "t" {
				t.Errorf("%s: got %q", name, got)
			}
			if in := asked[0]; in.Check != "test" || in.Tree != "x" || in.Spent != time.Minute || in.Retry != retriesInStep || in.Before == nil || in.Label != "step 1 round 3" || in.Clean {
				t.Errorf("%s: asked %+v", name, in)
			}
			if len(questions) > 0 && (questions[0].Kind != gateEnvironment || !strings.Contains(questions[0].Question, "in round 3 of step 1")) {
				t.Errorf("%s: asked %+v", name, questions[0])
			}
			return err
		})
	}
}

// All checks run on a clean checkout, each after those before it.
func TestWhatIsCommittedIsWhatIsChecked(t *testing.T) {
	good, cannot := checks.Outcome{Name: "build", OK: true}, checks.Outcome{Name: "build", Cause: checks.CauseEnvironment}
	for name, c := range map[string]struct {
		head     string
		steps    []StepRecord
		outcomes []checks.Outcome
		decision string
		want     string // runs, verified, stopped
	}{
		"nothing was changed":    {"base", nil, []checks.Outcome{good}, "", "0 0 "},
		"nothing was committed":  {"base", []StepRecord{{State: StepFailed}}, []checks.Outcome{good}, "", "0 0 "},
		"it was taken back":      {"base", []StepRecord{{}, {Commit: "c"}}, []checks.Outcome{good}, "", "2 2 "},
		"something was":          {"new", nil, []checks.Outcome{good}, "", "2 2 "},
		"one cannot run, go on":  {"new", nil, []checks.Outcome{cannot, good}, decisionGoOn, "3 2 "},
		"one cannot run, end it": {"new", nil, []checks.Outcome{good, cannot}, decisionStop, "2 1 stopped by a person"},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			var asked []checkRequest
			var questions []gateRequest
			d := &delivery{Config: Config{Repository: &Repository{}}, gate: inTurn(toolGate, &questions, gateResult{Decision: c.decision}), tools: siteTools{check: inTurn(toolCheck, &asked, outcomes(c.outcomes...)...)}}
			course := &course{delivery: d, run: run, now: state{Head: c.head}, verified: []checks.Outcome{{Name: "old"}}, done: []Result{{Phase: phaseImplementation, Steps: c.steps}}}
			course.site.Base, course.site.Checks = "base", []checks.Check{{Name: "build"}, {Name: "test"}}
			err := course.verify(ctx)
			if got := fmt.Sprintf("%d %d %s", len(asked), len(course.verified), course.stopped); got != c.want {
				t.Errorf("%s: got %q", name, got)
			}
			for i, in := range asked {
				if !in.Clean || in.Label != "verify" || in.Retry != retriesOnClean || in.Head != c.head || slices.Contains(in.After, in.Check) || (in.Check == "test") != slices.Equal(in.After, []string{"build"}) {
					t.Errorf("%s: request %d is %+v", name, i, in)
				}
			}
			return err
		})
	}
}

// What was measured beside the phases is not measured twice; what could not run is asked about.
func TestTheBaselineIsCompleted(t *testing.T) {
	good, cannot := checks.Outcome{Name: "x", OK: true}, checks.Outcome{Name: "x", Cause: checks.CauseEnvironment}
	for name, c := range map[string]struct {
		measured, more []checks.Outcome
		decision       string
		want           string // runs, questions, baseline, stopped
	}{
		"all were":            {[]checks.Outcome{good, good}, []checks.Outcome{good}, "", "0 0 2 "},
		"one was":             {[]checks.Outcome{good}, []checks.Outcome{good}, "", "1 0 2 "},
		"one could not":       {[]checks.Outcome{good, cannot}, []checks.Outcome{good}, decisionGoOn, "1 1 2 "},
		"again and again":     {nil, []checks.Outcome{cannot, cannot, good}, decisionGoOn, "4 2 2 "},
		"and it ends with it": {[]checks.Outcome{good, cannot}, []checks.Outcome{good}, decisionStop, "0 1 1 stopped by a person"},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			var asked []checkRequest
			var questions []gateRequest
			d := &delivery{gate: inTurn(toolGate, &questions, gateResult{Decision: c.decision}), tools: siteTools{check: inTurn(toolCheck, &asked, outcomes(c.more...)...)}}
			course := &course{delivery: d, run: run, now: state{Head: "h", Tree: "t"}}
			course.site.Base, course.site.Checks = "base", []checks.Check{{Name: "build"}, {Name: "test"}}
			err := course.measure(ctx, c.measured)
			if got := fmt.Sprintf("%d %d %d %s", len(asked), len(questions), len(course.baseline), course.stopped); got != c.want {
				t.Errorf("%s: got %q", name, got)
			}
			if len(asked) > 0 && (asked[0].Label != labelBaseline || asked[0].Retry != retriesInStep || asked[0].Head != "base" || asked[0].Tree != "t") {
				t.Errorf("%s: asked %+v", name, asked[0])
			}
			return err
		})
	}
}

// Checks that discovery proposes are asked about where there are no others, and else mentioned.
func TestProposedChecksAreNeverRunUnasked(t *testing.T) {
	proposal := json.RawMessage(`{"checks": [{"name": "test", "argv": ["make", "test"]}]}`)
	for name, c := range map[string]struct {
		outputs  json.RawMessage
		phases   []string
		checks   []checks.Check
		decision string
		want     string // questions, adopted, baseline
	}{
		"none":              {nil, []string{phaseImplementation}, nil, decisionGoOn, "0 0 0"},
		"nothing is built":  {proposal, []string{phaseDiscovery}, nil, decisionGoOn, "0 0 0"},
		"there are others":  {proposal, []string{phaseImplementation}, []checks.Check{{Name: "lint"}}, decisionGoOn, "0 1 0"},
		"a person agrees":   {proposal, []string{phaseImplementation}, nil, decisionGoOn, "1 1 1"},
		"a person does not": {proposal, []string{phaseImplementation}, nil, decisionStop, "1 0 0"},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			var asked []checkRequest
			var questions []gateRequest
			var adopted []adoptedChecks
			course := courseOf(c.phases...)
			course.run, course.site.Checks = run, c.checks
			course.gate = inTurn(toolGate, &questions, gateResult{Decision: c.decision})
			course.tools = siteTools{check: inTurn(toolCheck, &asked, outcomes(checks.Outcome{OK: true})...), adopt: inTurn("adopt_checks", &adopted, adoptedChecks{[]checks.Check{{Name: "test"}}})}
			err := course.considerChecks(ctx, &Result{Outputs: c.outputs})
			if got := fmt.Sprintf("%d %d %d", len(questions), len(course.site.Checks), len(course.baseline)); got != c.want || course.stopped != "" {
				t.Errorf("%s: got %q", name, got)
			}
			return err
		})
	}
}

// What a review claims is set beside what was measured.
func TestClaimsOfAReviewAreHeldAgainstFacts(t *testing.T) {
	green, red := []checks.Outcome{{Name: "test", OK: true}}, []checks.Outcome{{Name: "test", Exit: 1, Failing: []string{"T"}}}
	for name, c := range map[string]struct {
		said               string
		baseline, verified []checks.Outcome
		claim, fact        string
	}{
		"true, and it is":      {"true", green, green, "", "true"},
		"true, and it is not":  {"true", green, red, "the review says that the tests pass, and it was measured that they do not", "false"},
		"false, and it is not": {"false", green, red, "", "false"},
		"red as before":        {"true", red, red, "", "true"},
		"nothing was measured": {"true", nil, nil, "the review says that the tests pass, and nothing was measured", "false"},
		"one of two":           {"true", nil, append(slices.Clone(red), green...), "the review says that the tests pass, and it was measured that they do not", "false"},
		"false, and it is":     {"false", green, green, "the review says that the tests do not pass, and it was measured that they do", "true"},
		"something else":       {`"17 of 17"`, green, green, `the review says of the tests: "17 of 17", and it was measured that they do`, "true"},
		"it says nothing":      {`""`, green, red, "", "false"},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			w := &work{delivery: &delivery{}, run: run, Result: Result{Outputs: json.RawMessage(`{"tests_passed":` + c.said + `}`)}}
			r := &review{}
			err := w.holdAgainstFacts(ctx, r, c.baseline, c.verified)
			if got := strings.Join(r.Claims, "; "); got != c.claim || string(w.Outputs) != `{"tests_passed":`+c.fact+`}` || len(w.Warnings) != len(r.Claims) {
				t.Errorf("%s: %q, %s, %q", name, got, w.Outputs, w.Warnings)
			}
			return err
		})
	}
}

// The tests of findings are tried where they matter, and evidence is looked for.
func TestFindingsAreTried(t *testing.T) {
	test := []edit.Change{{Path: "a_test.go", Type: edit.TypeFile, Content: "x"}}
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		var tried []tryRequest
		var looked []lookRequest
		d := &delivery{tools: siteTools{try: inTurn(toolTry, &tried, trial{Proven: true}, trial{Fell: true}), look: inTurn(toolLook, &looked, lookResult{Missing: []string{"gone.go"}, MissingTests: []string{"TestGone"}})}}
		w := &work{delivery: d, run: run, now: state{Head: "h"}}
		r := &review{
			Findings: []finding{{ID: "F1", Severity: severityMajor, Reproduce: test}, {ID: "F2", Severity: severityMinor, Reproduce: test}, {ID: "F3", Severity: severityMajor}, {ID: "F4", Severity: severityBlocker, Reproduce: test}},
			Criteria: []judgement{
				{ID: "AC1", State: criterionMet, Evidence: "gone.go:3"}, {ID: "AC2", State: criterionMet, Evidence: "TestGone"}, {ID: "AC3", State: criterionMet, Evidence: "here.go"},
				{ID: "AC4", State: criterionNotMet, Evidence: "gone.go"}, {ID: "AC5", State: criterionMet},
			},
		}
		err := w.holdAgainstFacts(ctx, r, nil, []checks.Outcome{{Name: "test", Exit: 1}})
		var got []string
		for _, f := range r.Findings {
			got = append(got, fmt.Sprint(f.ID, f.Proven, f.Fell))
		}
		for _, c := range r.Criteria {
			got = append(got, c.ID+" "+c.State)
		}
		if want := "F1true false F2false false F3false false F4false true AC1 unproven AC2 unproven AC3 met AC4 not_met AC5 met"; strings.Join(got, " ") != want || len(r.Claims) != 2 || len(tried) != 2 {
			t.Errorf("got %q, claims %q", got, r.Claims)
		}
		if len(tried) == 2 && (tried[0].Finding != "F1" || len(tried[0].Red) != 1 || tried[0].Head != "h" || tried[1].Finding != "F4") {
			t.Errorf("tried %+v", tried)
		}
		if len(looked) != 1 || !looked[0].ByName || !looked[0].OnlyMissing || strings.Join(looked[0].Paths, " ") != "gone.go here.go gone.go" || strings.Join(looked[0].Tests, " ") != "TestGone" {
			t.Errorf("looked for %+v", looked)
		}
		return err
	})
}
