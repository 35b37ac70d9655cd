package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

func TestTheLedgerHasAllStepsOfThePlan(t *testing.T) {
	failed := StepRecord{Step: 2, ID: "2", Title: "Two", State: StepFailed, Reason: "no"}
	plan := func() *Plan {
		return planOfSteps(
			PlanStep{ID: "1", Title: "One", Status: StepDone, Commit: "c", Rounds: 2}, PlanStep{ID: "2", Title: "Two", Status: StepFailed, Reason: "before"},
			PlanStep{ID: "3", Title: "Three", Status: StepTodo, DependsOn: []string{"2"}}, PlanStep{ID: "4", Title: "Four", Status: StepTodo})
	}
	for name, c := range map[string]struct {
		keepGoing bool
		steps     []StepRecord
		stopped   bool
		want      string
	}{
		"one failed":        {false, []StepRecord{failed}, false, "1 done c2, 2 failed 0no, 3 skipped 0“Two” is not done, 4 skipped 0"},
		"it goes on":        {true, []StepRecord{failed, {Step: 4, ID: "4", State: StepDone, Commit: "d"}}, true, "1 done c2, 2 failed 0no, 3 skipped 0“Two” is not done, 4 done d0"},
		"nothing was tried": {false, nil, false, "1 done c2, 2 skipped 0before, 3 skipped 0“Two” is not done, 4 skipped 0"},
	} {
		w := &work{delivery: &delivery{Config: Config{Repository: &Repository{KeepGoing: c.keepGoing}}}, phase: &Phase{Name: phaseImplementation}, now: state{Head: "h"}, stopped: c.stopped, Result: Result{Steps: c.steps}}
		if err := w.concludeSteps(t.Context(), plan()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, s := range w.Steps {
			if got = append(got, fmt.Sprintf("%s %s %s%d%s", s.ID, s.State, s.Commit, s.Rounds, s.Reason)); s.Step != i+1 {
				t.Errorf("%s: step %s has the number %d", name, s.ID, s.Step)
			}
		}
		if text := strings.Join(got, ", "); text != c.want || w.Site == nil || w.Site.Head != "h" || w.Stopped != c.stopped {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}

func TestAFailedStepEndsTheWork(t *testing.T) {
	w := &work{delivery: &delivery{Config: Config{Repository: &Repository{}}}, Result: Result{Steps: []StepRecord{{State: StepDone}}}}
	if w.mustStop() {
		t.Error("nothing has failed")
	}
	if w.Steps = append(w.Steps, StepRecord{State: StepFailed}); !w.mustStop() {
		t.Error("it goes on")
	}
	if w.delivery.Repository.KeepGoing = true; w.mustStop() {
		t.Error("it does not go on")
	}
}

func TestTheOutputOfACheckIsKept(t *testing.T) {
	o := &openSite{Site: &Site{Checks: []checks.Check{{Name: "build"}, {Name: "Unit Test"}}}, folder: t.TempDir()}
	outcome := checks.Outcome{Name: "Unit Test", Output: "all of it"}
	for _, c := range [][2]string{{"", "checks/unit-test.txt"}, {"step 1 round 2", "checks/step-1-round-2-unit-test.txt"}} {
		label, want := c[0], c[1]
		if err := o.keepOutput(&outcome, label); err != nil || outcome.File != want {
			t.Errorf("%s, %v", outcome.File, err)
		}
		for _, name := range []string{want, OutputFile("Unit Test")} {
			if data, err := os.ReadFile(filepath.Join(o.folder, name)); string(data) != "all of it" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
	}
	again := checks.Outcome{Name: "Unit Test", Output: "another attempt"}
	if err := o.keepOutput(&again, "step 1 round 2"); err != nil || again.File != "checks/step-1-round-2-unit-test-2.txt" {
		t.Errorf("%s, %v", again.File, err)
	}
	if data, err := os.ReadFile(filepath.Join(o.folder, outcome.File)); len(data) == 0 || string(data) == "another attempt" {
		t.Errorf("the output of the attempt before is %q, %v", data, err)
	}
	if check, err := o.checkNamed("Unit Test"); err != nil || check != &o.Checks[1] {
		t.Errorf("%+v, %v", check, err)
	}
	if _, err := o.checkNamed("lint"); err == nil || err.Error() != `there is no check "lint"` {
		t.Error(err)
	}
}

func TestASetupThatFailsIsTheSurroundingsFault(t *testing.T) {
	o := &checks.Outcome{Exit: 7, Cause: checks.CauseChange}
	if setupCannotRun(o, "on the clean checkout"); o.Cause != checks.CauseEnvironment || o.Remedy != "the setup that was to run before it failed on the clean checkout with exit code 7" {
		t.Errorf("got %+v", o)
	}
	got := cannotRun(&checks.Outcome{Name: "test", Command: "make", Remedy: "install it", Excerpt: strings.Repeat("x", 1600)}, "now")
	if !strings.HasPrefix(got, "The check \"test\" (make) could not run now: install it\n\nxxx") || strings.Count(got, "x") != 1500 {
		t.Errorf("got %s", got)
	}
}

func TestAQuestionOfARunBelowIsPassedOn(t *testing.T) {
	asked := &askedBelow{troupe.Handoff{Summary: "Well?", Meta: troupe.HandoffMeta{Stop: "input_requested"}}}
	if asked.Error() != "the user must answer first: Well?" {
		t.Error(asked)
	}
	var out troupe.Handoff
	err := fmt.Errorf("phase: %w", asked)
	if passQuestion(&out, &err); err != nil || out.Summary != "Well?" {
		t.Errorf("%+v, %v", out, err)
	}
	err = fmt.Errorf("another")
	if passQuestion(&out, &err); err == nil {
		t.Error("a failure is gone")
	}
}

func TestPhasesHaveAgentsAndContracts(t *testing.T) {
	phases := Six()
	c := &Config{Model: &boundModel{}}
	for i := range phases {
		if err := phases[i].complete(c); err != nil {
			t.Fatal(err)
		}
		if (phases[i].free != nil) != (phases[i].Name == phaseImplementation) || phases[i].Agent == nil || phases[i].Contract.Phase() != phases[i].Name {
			t.Errorf("got %+v", phases[i])
		}
	}
	s := &workshop{}
	var guarded int
	if err := s.equip(phases, func(tools ...troupe.Tool) []troupe.Tool { guarded = len(tools); return tools }); err != nil {
		t.Fatal(err)
	}
	if guarded == 0 {
		t.Error("nobody guards the tools of agents")
	}
	for _, bad := range []Phase{{}, {Name: "own"}} {
		if err := bad.complete(c); err == nil {
			t.Errorf("%+v is complete", bad)
		}
	}
	if err := (&Phase{Name: "qa"}).complete(&Config{}); err == nil {
		t.Error("a phase without a model is complete")
	}
	if got := namesOf(phases[:2]); got != "requirements, architecture" {
		t.Errorf("got %s", got)
	}
}
