package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// saying is a tool that says the same whatever it is asked, and counts.
func saying[Out any](name string, out Out, count *int) troupe.Tool {
	return siteTool(name, "Says the same.", func(context.Context, *troupe.Invocation, map[string]any) (Out, error) {
		*count++
		return out, nil
	})
}

func TestWhyTheSetupWasNotRunAgainIsSaid(t *testing.T) {
	checked := []checks.Outcome{{Name: "test", OK: true}}
	for name, c := range map[string]struct {
		verified []checks.Outcome
		head     string
		r        Repository
		change   dependencyChange
		want     string
	}{
		"nothing was checked":  {nil, "new", Repository{}, dependencyChange{Paths: []string{"package.json"}}, ""},
		"nothing was changed":  {checked, "base", Repository{}, dependencyChange{Paths: []string{"package.json"}}, ""},
		"nothing is wanted":    {checked, "new", Repository{Setup: []string{"x"}}, dependencyChange{}, ""},
		"there is no setup":    {checked, "new", Repository{}, dependencyChange{Paths: []string{"web/package.json", "go.mod", "go.sum"}}, "although web/package.json changed, because no command is set that fetches dependencies"},
		"Go has its own":       {checked, "new", Repository{}, dependencyChange{Paths: []string{"go.mod", "sub/go.sum"}}, ""},
		"Go with a setup":      {checked, "new", Repository{Setup: []string{"x"}}, dependencyChange{Paths: []string{"go.mod"}}, "although go.mod changed, because a person did not want it"},
		"never":                {checked, "new", Repository{Setup: []string{"x"}, SetupAgain: SetupNever}, dependencyChange{Paths: []string{"a.lock", "b.lock"}}, "although a.lock, b.lock changed, because it is set to be run once only"},
		"a program of its own": {checked, "new", Repository{}, dependencyChange{Paths: []string{"a.lock"}, Programs: []string{"setup.py"}}, "although setup.py changed, because that is a program of its own"},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			asked := 0
			course := &course{delivery: &delivery{Config: Config{Repository: &c.r}, tools: siteTools{dependencies: saying("compare_dependencies", c.change, &asked)}}, run: run, verified: c.verified, now: state{Head: c.head}}
			course.site.Base = "base"
			got, err := course.setupNote(ctx)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s: got %q", name, got)
			}
			return err
		})
	}
}

func TestWhatAPersonSaysAboutDependenciesIsDone(t *testing.T) {
	wanted := dependencyChange{Paths: []string{"package.json"}, Setup: "tree"}
	ok := setupAgainResult{state: state{Head: "h", Tree: "after", Setup: "tree"}, Outcome: checks.Outcome{OK: true}}
	locked, broken, elsewhere := ok, ok, ok
	locked.Locks = []string{"package-lock.json"}
	broken.Outcome = checks.Outcome{Name: "setup", Exit: 1, Cause: checks.CauseChange, Excerpt: "no such package"}
	elsewhere.Outcome = checks.Outcome{Name: "setup", Exit: 1, Cause: checks.CauseEnvironment, Remedy: "no network"}
	for name, c := range map[string]struct {
		r        Repository
		change   dependencyChange
		declined string
		decision gateResult
		again    setupAgainResult
		want     string // asked, run, declined, warnings, feedback, why
	}{
		"no setup":             {Repository{}, wanted, "", gateResult{}, ok, "0 0  0 | "},
		"nothing is wanted":    {Repository{Setup: []string{"x"}, SetupAgain: SetupAlways}, dependencyChange{}, "", gateResult{}, ok, "0 0  0 | "},
		"never":                {Repository{Setup: []string{"x"}, SetupAgain: SetupNever}, wanted, "", gateResult{}, ok, "0 0  0 | "},
		"always":               {Repository{Setup: []string{"x"}, SetupAgain: SetupAlways}, wanted, "", gateResult{}, ok, "0 1  0 | "},
		"it was declined":      {Repository{Setup: []string{"x"}, SetupAgain: SetupAsk}, wanted, "tree", gateResult{}, ok, "0 0 tree 0 | "},
		"another was declined": {Repository{Setup: []string{"x"}, SetupAgain: SetupAsk}, wanted, "other", gateResult{Decision: decisionGoOn}, ok, "1 1  0 | "},
		"back to the base":     {Repository{Setup: []string{"x"}, SetupAgain: SetupAlways}, dependencyChange{Paths: []string{"package.json"}}, "", gateResult{}, ok, "0 1  0 | "},
		"yes":                  {Repository{Setup: []string{"x"}, SetupAgain: SetupAsk}, wanted, "", gateResult{Decision: decisionGoOn}, locked, "1 1  1 | "},
		"without":              {Repository{Setup: []string{"x"}, SetupAgain: SetupAsk}, wanted, "", gateResult{Decision: decisionWithout}, ok, "1 0 tree 0 | "},
		"stop":                 {Repository{Setup: []string{"x"}, SetupAgain: SetupAsk}, wanted, "", gateResult{Decision: decisionStop}, ok, "1 0  0 |stopped by a person, final "},
		"another one":          {Repository{Setup: []string{"x"}, SetupAgain: SetupAsk}, wanted, "", gateResult{Decision: decisionAgain, Guidance: "use b"}, ok, "1 0  0 A person has seen| "},
		"it cannot be had":     {Repository{Setup: []string{"x"}, SetupAgain: SetupAlways}, wanted, "", gateResult{}, broken, "0 1  0 Your change was a| "},
		"it cannot run, stop":  {Repository{Setup: []string{"x"}, SetupAgain: SetupAlways}, wanted, "", gateResult{Decision: decisionStop}, elsewhere, "1 1  0 |the setup could not run: no network, final "},
	} {
		inRun(t, func(ctx context.Context, run *troupe.Run) error {
			var looked, asked, again int
			c.r.Rounds = 4
			d := &delivery{Config: Config{Repository: &c.r}, gate: saying(toolGate, c.decision, &asked), tools: siteTools{
				dependencies: saying("compare_dependencies", c.change, &looked), setupAgain: saying("run_setup_again", c.again, &again),
			}}
			b := &builder{work: &work{delivery: d, run: run, now: state{Declined: c.declined}}}
			feedback, why, err := b.settleDependencies(ctx)
			if got := fmt.Sprintf("%d %d %s %d %.17s|%s ", asked, again, b.now.Declined, len(b.Warnings), feedback, inShort(why)); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
			if looked != oneIf(len(c.r.Setup) > 0) || again > 0 && b.now.Tree != "after" || (feedback != "") != (b.last != nil && b.lastFeedback == feedback) {
				t.Errorf("%s: looked %d times, %+v", name, looked, b.now)
			}
			return err
		})
	}
}
