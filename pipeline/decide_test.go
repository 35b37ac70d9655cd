package pipeline_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// stepsOf are the ids of the steps that became commits.
func stepsOf(r *pipeline.Report) (ids []string) {
	for _, c := range r.Commits {
		ids = append(ids, c.Step)
	}
	return ids
}

// What a person says about a plan is guidance for the planner, not an order to stop.
func TestAPersonMayWantAnotherPlan(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApprovePlan
	y.with("planning", func(_, prompt string, _ int) string {
		if strings.Contains(prompt, "one step is enough") {
			return thought("planning", yardStep("1", "All at once", nil))
		}
		return y.usual("planning", "")
	})
	if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	_, end, err := y.say("one step is enough")
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "The plan has 1 step:") || !strings.Contains(end.Output.Summary, "All at once") {
		t.Fatalf("%+v %v", end, err)
	}
	if len(y.prompts("BMAD planning", "one step is enough", "DOCUMENT OF THE PHASE planning")) == 0 {
		t.Error("the planner does not see the plan that it is to change")
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1"}) {
		t.Fatalf("%+v %v", r, err)
	}
}

// What a person wants changed after seeing the change is a step like any other.
func TestAPersonMayWantTheChangeChanged(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveDiff
	if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	_, end, err := y.say("Please add a third file, too")
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "+++ b/stepwish-1.ok") {
		t.Fatalf("%+v %v", end, err)
	}
	if len(y.prompts("BMAD implementation", "Please add a third file, too")) == 0 || len(y.prompts("BMAD qa", "stepwish-1.ok")) == 0 {
		t.Error("the wish was neither built nor reviewed")
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1", "2", "wish-1"}) {
		t.Fatalf("%+v %v", r, err)
	}
}

// With manual approval a person is asked after every phase and after every step.
func TestManualApprovalAsksAfterEveryStep(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveManual
	_, end, err := y.run(nil)
	var questions []string
	answers := map[string]string{"“First” is done": "call it otherwise"}
	for err == nil && end.Stop == "input_requested" && len(questions) < 20 {
		first, _, _ := strings.Cut(end.Output.Summary, "\n")
		questions = append(questions, first)
		answer := "go on"
		for part, said := range answers {
			if strings.HasPrefix(first, part) {
				answer = said
			}
		}
		_, end, err = y.say(answer)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Requirements is done", "Architecture is done", "Discovery is done", "The plan has 2 steps", "“First” is done", "“call it otherwise” is done", "“Second” is done", "The change is ready"}
	if len(questions) != len(want) {
		t.Fatalf("asked %q", questions)
	}
	for i, w := range want {
		if !strings.HasPrefix(questions[i], w) {
			t.Errorf("question %d is %q, want %q", i+1, questions[i], w)
		}
	}
	if r := pipeline.ReportOf(y.events()); r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1", "wish-1", "2"}) {
		t.Errorf("%+v", r)
	}
	// What a step was to change is a guess, also where it is a person's wish about another step.
	data, err := os.ReadFile(filepath.Join(y.data, y.session, pipeline.PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pipeline.ReadPlan(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		changed := strings.Fields(y.sh("git show --name-only --format= " + s.Commit))
		if len(changed) == 0 || !slices.Equal(s.Files, changed) {
			t.Errorf("step %s is said to have changed %q, and changed %q", s.ID, s.Files, changed)
		}
	}
}

// A person who stops after a step keeps what is committed, and can go on.
func TestAStopAfterAStepKeepsIt(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveManual
	_, end, err := y.run(nil)
	for err == nil && end.Stop == "input_requested" && !strings.HasPrefix(end.Output.Summary, "“First”") {
		_, end, err = y.say("go on")
	}
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := y.say("stop")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomePartial || !slices.Equal(stepsOf(r), []string{"1"}) || !slices.Contains(r.Reasons, "stopped by a person") {
		t.Fatalf("%+v %v", r, err)
	}
}

// A sentence is no order to stop: where only a person can put something right, what is
// neither a yes nor a stop is asked about again.
func TestASentenceDoesNotStopADelivery(t *testing.T) {
	y := shellYard(t)
	y.config.Repository.Checks = []pipeline.Check{{Name: "test", Run: "no-such-command-here"}}
	if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	_, end, err := y.say("I have installed it now")
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, `neither "go on" nor "stop"`) {
		t.Fatalf("%+v %v", end, err)
	}
	if r, _, err := y.say("stop"); err != nil || r == nil || !slices.Contains(r.Reasons, "stopped by a person") {
		t.Fatalf("%+v %v", r, err)
	}
}

// A test that the builder itself has just written is not one that was there: it may
// correct it without giving a reason.
func TestABuilderMayCorrectItsOwnTest(t *testing.T) {
	needsGo(t)
	y := newYard(t, goRepository())
	y.answer = func(phase, step, prompt string, n int) string {
		switch phase {
		case "planning":
			return thought(phase, yardStep("1", "Median", object{"files": []string{"stats.go"}}))
		case "implementation":
			if n == 0 {
				return built(edited("stats.go", minFunc, minFunc+median), fileOf("median_test.go", strings.Replace(medianTest, "2.5", "2.4", 1)))
			}
			return built(fileOf("median_test.go", medianTest))
		case "qa":
			return reviewed("accept", []object{{"id": "AC1", "state": "met", "evidence": "median_test.go"}, {"id": "AC2", "state": "met", "evidence": "stats.go"}}, nil)
		}
		return thought(phase)
	}
	y.mustRun(pipeline.OutcomeDelivered)
	if got := y.prompts("it changes a test that was there"); len(got) > 0 {
		t.Error("it was asked for a reason")
	}
}

// Findings of a second review get numbers of their own, whoever ran the first.
func TestFixesOfALaterReviewAreMade(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveDiff
	y.with("qa", func(_, prompt string, n int) string {
		if n == 0 || n == 2 {
			return reviewed("changes_required", nil, []object{{"id": "F1", "severity": "major", "path": "step1.ok", "problem": []string{"too few files", "", "still too short"}[n], "fix": "Add one"}})
		}
		return reviewed("accept", nil, nil)
	})
	if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	if _, end, err := y.say("one more file, please"); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || !slices.Equal(stepsOf(r), []string{"1", "2", "fix-1", "wish-1", "fix-2"}) {
		t.Fatalf("%+v %v", r, err)
	}
}

// A check that cannot run in the midst of a step is a question, and the step goes on
// with what the builder has already answered.
func TestACheckThatCannotRunInAStepIsAQuestion(t *testing.T) {
	y := shellYard(t)
	ready := filepath.Join(t.TempDir(), "ready")
	y.config.Repository.Checks = []pipeline.Check{{Name: "test", Run: `test "$GIT_AUTHOR_NAME" = Ada || exit 3; test -e step1.ok || exit 0; test -e ` + ready + ` || missing-command`}}
	y.config.Repository.Env = []string{"GIT_AUTHOR_NAME"}
	y.config.Repository.Read = []string{filepath.Dir(ready)}
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "could not run in round 1 of “First”") {
		t.Fatalf("%+v %v", end, err)
	}
	if err := os.WriteFile(ready, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered {
		t.Fatalf("%+v %v", r, err)
	}
	if n := y.counts["implementation1"]; n != 1 {
		t.Errorf("the builder of step 1 was asked %d times", n)
	}
}

// Commands that discovery proposes are asked about once, where there are no checks, and
// never run unasked.
func TestProposedChecksAreAskedAbout(t *testing.T) {
	for said, outcome := range map[string]string{"go on": pipeline.OutcomeFailed, "stop": pipeline.OutcomePartial} {
		y := shellYard(t)
		y.config.Repository.Checks = nil
		y.with("discovery", func(string, string, int) string {
			return strings.Replace(thought("discovery"), `"relevant_files"`, `"checks":[{"name":"No ones","argv":["sh","-c","test ! -e step1.ok"]}],"relevant_files"`, 1)
		})
		_, end, err := y.run(nil)
		if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "no-ones: sh -c test ! -e step1.ok") {
			t.Fatalf("%+v %v", end, err)
		}
		r, _, err := y.say(said)
		if err != nil || r == nil || r.Outcome != outcome || (len(r.Baseline) == 1) != (said == "go on") {
			t.Errorf("%s: %+v %v", said, r, err)
		}
	}
	y := shellYard(t)
	y.with("discovery", func(string, string, int) string {
		return strings.Replace(thought("discovery"), `"relevant_files"`, `"checks":[{"name":"x","argv":["touch","/never"]}],"relevant_files"`, 1)
	})
	if r := y.mustRun(pipeline.OutcomeDelivered); len(r.Checks) != 1 || len(y.warnings("checks_proposed")) != 1 {
		t.Errorf("%+v", r.Checks)
	}
}

// Where a person decides about everything, what a review found is shown before it is put
// right: with how bad it is, where it is and what is to be done. What the person says about
// it goes to the reviewer.
func TestManualApprovalAsksAboutFindings(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveManual
	y.with("qa", func(_, prompt string, n int) string {
		switch {
		case n == 0:
			return reviewed("changes_required", []object{{"id": "AC-1", "state": "met", "evidence": "step1.ok"}}, []object{{"id": "F1", "severity": "major", "path": "notes.txt", "line": 2, "problem": "it is dull", "fix": "Be bold"}, {"id": "F2", "severity": "blocker", "path": "notes.txt", "problem": "it is wrong"}})
		case n == 1 && strings.Contains(prompt, "F2 is meant so"):
			return reviewed("changes_required", nil, []object{{"id": "F1", "severity": "major", "path": "notes.txt", "line": 2, "problem": "it is dull", "fix": "Be bold"}})
		}
		return reviewed("accept", nil, nil)
	})
	_, end, err := y.run(nil)
	until := func(beginning string) string {
		t.Helper()
		for err == nil && end.Stop == "input_requested" && !strings.HasPrefix(end.Output.Summary, beginning) {
			_, end, err = y.say("go on")
		}
		if err != nil || end.Stop != "input_requested" {
			t.Fatalf("it was not asked: %q: %+v %v", beginning, end, err)
		}
		return end.Output.Summary
	}
	question := until("The review found 2 things to put right")
	for _, part := range []string{"Should be put right, in notes.txt, line 2: it is dull", "What to do: Be bold", "Must be put right, in notes.txt: it is wrong"} {
		if !strings.Contains(question, part) {
			t.Errorf("%q is not in %s", part, question)
		}
	}
	found := pipeline.LatestReview(y.events())
	if found == nil || len(found.Findings) != 2 || found.Findings[0].Fix != "Be bold" || found.Round != 1 || found.Outdated || found.Criteria[0].State != "met" {
		t.Errorf("while it waits the review is %+v", found)
	}
	if _, end, err = y.say("F2 is meant so"); err != nil || !strings.HasPrefix(end.Output.Summary, "The review found 1 thing to put right") {
		t.Fatalf("%+v %v", end, err)
	}
	if _, end, err = y.say("go on"); err != nil || !strings.HasPrefix(end.Output.Summary, "“Be bold” is done") {
		t.Fatalf("%+v %v", end, err)
	}
	if found := pipeline.LatestReview(y.events()); found.Round != 2 || !found.Outdated {
		t.Errorf("after the fix the review is %+v", found)
	}
	until("The change is ready")
	if found := pipeline.LatestReview(y.events()); found.Round != 3 || found.Outdated || len(found.Findings) != 0 {
		t.Errorf("at last the review is %+v", found)
	}
	if r, _, err := y.say("go on"); err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1", "2", "fix-1"}) {
		t.Fatalf("%+v %v", r, err)
	}
	for _, run := range pipeline.CheckRuns(y.events()) { // what was measured before the fix says nothing about the result
		if isLast := run.Label == "step fix-1 round 1"; run.Label != "baseline" && run.Label != "verify" && run.Outdated == isLast {
			t.Errorf("%s: outdated is %t", run.Label, run.Outdated)
		}
	}
}

// A plan without steps leads nowhere: nobody can go on with it, and it is said why.
func TestAnEmptyPlanIsNotGoneOnWith(t *testing.T) {
	y := shellYard(t)
	y.with("planning", func(_, prompt string, _ int) string {
		if strings.Contains(prompt, "Two steps, please") {
			return y.usual("planning", "")
		}
		return strings.Replace(strings.Replace(thought("planning"), `"steps":null`, `"steps":[]`, 1), `"artifacts":[{`, `"artifacts":[],"_":[{`, 1)
	})
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "it has no steps, so there is nothing to carry out") || strings.Contains(end.Output.Summary, "go on") {
		t.Fatalf("%+v %v", end, err)
	}
	if _, end, err = y.say("go on"); err != nil || end.Stop != "input_requested" || !strings.HasPrefix(end.Output.Summary, "There is nothing to go on with.") {
		t.Fatalf("%+v %v", end, err)
	}
	if r, _, err := y.say("Two steps, please"); err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered {
		t.Fatalf("%+v %v", r, err)
	}
}

// noSteps is an answer of a planner that has nothing to carry out.
func noSteps() string {
	return strings.Replace(strings.Replace(thought("planning"), `"steps":null`, `"steps":[]`, 1), `"artifacts":[{`, `"artifacts":[],"_":[{`, 1)
}

// A planner that is asked for changes and then has no plan does not take away the one that
// is there: it can be carried out all the same, and counts as the plan afterwards.
func TestThePlanThatIsThereCanBeCarriedOutAfterAnEmptyOne(t *testing.T) {
	for _, approve := range []pipeline.ApproveMode{pipeline.ApprovePlan, pipeline.ApproveManual} {
		y := shellYard(t)
		y.config.Approve = approve
		y.with("planning", func(_, prompt string, _ int) string {
			if strings.Contains(prompt, "something else") {
				return noSteps()
			}
			return y.usual("planning", "")
		})
		_, end, err := y.run(nil)
		for err == nil && end.Stop == "input_requested" && !strings.HasPrefix(end.Output.Summary, "The plan has") {
			_, end, err = y.say("go on")
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // asking again leaves the choice
			if _, end, err = y.say("something else"); err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, `"go on" to carry out the plan that is there, with 2 steps, "stop" to end here, or say what`) {
				t.Fatalf("%s: %+v %v", approve, end, err)
			}
		}
		_, end, err = y.say("go on")
		for err == nil && end.Stop == "input_requested" {
			if strings.HasPrefix(end.Output.Summary, "The plan has") {
				t.Errorf("%s: the plan that was chosen is asked about again", approve)
			}
			_, end, err = y.say("go on")
		}
		if r := pipeline.ReportOf(y.events()); err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1", "2"}) {
			t.Fatalf("%s: %+v %v", approve, r, err)
		}
		for _, r := range pipeline.Results(y.events()) {
			if r.Status == "failed" {
				t.Errorf("%s: %s counts as failed", approve, r.Phase)
			}
		}
		if sum := pipeline.Summarize(y.events()); slices.ContainsFunc(sum.Phases, func(p pipeline.PhaseSummary) bool { return p.Status == "failed" }) || len(sum.Errors) > 0 {
			t.Errorf("%s: got %s", approve, encode(sum))
		}
	}
}

// Who decides about a step is told what the checks said of it and what was warned of.
func TestAStepIsAskedAboutWithItsChecks(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveManual
	_, end, err := y.run(nil)
	seen := map[string]string{}
	for err == nil && end.Stop == "input_requested" {
		first, _, _ := strings.Cut(end.Output.Summary, ":")
		seen[strings.TrimSuffix(first, ".\n")] = end.Output.Summary
		_, end, err = y.say("go on")
	}
	if err != nil {
		t.Fatal(err)
	}
	for beginning, part := range map[string]string{
		"“First” is done":      "\nChecks:\n- test ✓ (2 tests)\n",
		"The change is ready":  "\nChecks:\n- test ✓ (3 tests)\n\nThe review:\n- AC1 there is a median: met, step1.ok:1\n",
		"The plan has 2 steps": "\nTo be aware of:\n- discovery names stats.go, and there is no such file\n",
		"Requirements is done and waits for approval.\n\nUser stories": "- As Zoë I add todos\n",
	} {
		if !strings.Contains(seen[beginning], part) {
			t.Errorf("%q: %q is not in %q", beginning, part, seen[beginning])
		}
	}
}

// A delivery that is to make documents alone and is stopped has made those until then.
func TestAStopAmongDocumentsKeepsThem(t *testing.T) {
	y := shellYard(t)
	y.config.Approve, y.config.To = pipeline.ApproveManual, "architecture"
	if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v %v", end, err)
	}
	r, end, err := y.say("stop")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomePartial || !slices.Equal(r.Reasons, []string{"stopped by a person after requirements"}) || len(r.Files) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if strings.Contains(end.Output.Summary, "gate") {
		t.Errorf("it says %q", end.Output.Summary)
	}
}
