package pipeline_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// goOn runs the session's delivery once more after its end, with what a person says.
func (y *yard) goOn(guidance string) *pipeline.Report {
	y.t.Helper()
	if err := y.tryOn(guidance); err != nil {
		y.t.Fatal(err)
	}
	return pipeline.ReportOf(y.events())
}

func (y *yard) tryOn(guidance string) error {
	custom := map[string]any{"phases": pipeline.Results(y.events()), "extras": map[string]any{"continue": true, "guidance": guidance}}
	_, err := y.gather(y.engine.Run(y.t.Context(), deliver(y.t, y.config), troupe.Input{Session: y.session, Text: "Add a median to the stats package", Custom: custom}))
	return err
}

func stepsIn(r *pipeline.Report) string {
	var steps []string
	for _, c := range r.Commits {
		steps = append(steps, c.Step)
	}
	return strings.Join(steps, " ")
}

// What a person says about a delivery whose steps are all done is a step of its own. A yes is
// none.
func TestADeliveryGoesOnWithWhatAPersonSays(t *testing.T) {
	y := shellYard(t)
	if r := y.mustRun("delivered"); stepsIn(r) != "1 2" {
		t.Fatalf("the steps are %s", stepsIn(r))
	}
	thought := len(y.prompts("BMAD requirements specialist"))
	if r := y.goOn("go on"); r.Outcome != "delivered" || stepsIn(r) != "1 2" {
		t.Errorf("%s: %s", r.Outcome, stepsIn(r))
	}
	if r := y.goOn("Name it better"); r.Outcome != "delivered" || stepsIn(r) != "1 2 wish-1" {
		t.Errorf("%s: %s, %q", r.Outcome, stepsIn(r), r.Reasons)
	}
	if n := len(y.prompts("BMAD requirements specialist")); n != thought {
		t.Error("phases that were done are run again")
	}
	if len(y.prompts(`"id": "wish-1"`, "Name it better")) == 0 {
		t.Error("the builder was not told")
	}
}

// Where steps are left, what a person says is guidance for them.
func TestADeliveryGoesOnWithTheStepsThatAreLeft(t *testing.T) {
	y := shellYard(t)
	bad := true
	y.with("implementation", func(step, _ string, n int) string {
		if bad && step == "2" {
			return `{"status": "failed", "phase": "implementation", "errors": ["no idea"]}`
		}
		return y.usual("implementation", step)
	})
	if r := y.mustRun("partial"); stepsIn(r) != "1" || r.Reasons[0] != "“Second” failed: the builder says that it cannot be done: no idea" {
		t.Fatalf("%s: %q", stepsIn(r), r.Reasons)
	}
	bad = false
	file := y.data + "/" + y.session + "/" + pipeline.PlanFile
	y.sh("sed -i 's/status: failed/status: todo/' " + file)
	if r := y.goOn("Look at base.ok"); r.Outcome != "delivered" || stepsIn(r) != "1 2" {
		t.Errorf("%s: %s, %q", r.Outcome, stepsIn(r), r.Reasons)
	}
	if len(y.prompts(`"id": "2"`, `"guidance": "Look at base.ok"`)) == 0 {
		t.Error("the builder was not told")
	}
}

// A phase that is run again after the end makes a plan anew, and the phases after it.
func TestADeliveryIsPlannedAnew(t *testing.T) {
	y := shellYard(t)
	y.mustRun("delivered")
	y.config.From = "planning"
	y.with("planning", func(string, string, int) string { return thought("planning", yardStep("n1", "New", nil)) })
	designed := len(y.prompts("BMAD architecture specialist"))
	if r := y.goOn("Other steps"); r.Outcome != "delivered" || stepsIn(r) != "n1" {
		t.Errorf("%s: %s, %q", r.Outcome, stepsIn(r), r.Reasons)
	}
	if len(y.prompts("BMAD planning specialist", `"guidance": "Other steps"`)) == 0 || len(y.prompts("BMAD architecture specialist")) != designed {
		t.Error("the wrong phases are run again")
	}
}

// Whoever stops at what a review found and then goes on is shown that review again: nothing
// has changed since, and another one would be paid for. What changes after it is reviewed.
func TestAReviewThatIsThereIsShownAgain(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveManual
	reviews := 0
	y.with("qa", func(string, string, int) string {
		if reviews++; reviews == 1 {
			return reviewed("changes_required", nil, []object{{"id": "F1", "severity": "major", "path": "notes.txt", "problem": "it is dull", "fix": "Be bold"}})
		}
		return reviewed("accept", nil, nil)
	})
	question := func() string {
		if s := pipeline.Summarize(y.events()); s.State == "waiting" {
			return s.Question
		}
		return ""
	}
	say := func(text string) {
		t.Helper()
		if _, _, err := y.say(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	for question() != "" && !strings.HasPrefix(question(), "The review found 1 thing") {
		say("go on")
	}
	for range 2 {
		say("stop")
		if r := pipeline.ReportOf(y.events()); r == nil || r.Outcome != "partial" {
			t.Fatalf("%+v", r)
		}
		y.goOn("")
		if !strings.HasPrefix(question(), "The review found 1 thing") || !strings.Contains(question(), "it is dull") {
			t.Fatalf("it asks %q", question())
		}
	}
	if reviews != 1 {
		t.Errorf("it was reviewed %d times", reviews)
	}
	for question() != "" {
		say("go on")
	}
	if r := pipeline.ReportOf(y.events()); r.Outcome != "delivered" || stepsIn(r) != "1 2 fix-1" || reviews != 2 {
		t.Errorf("%s: %s, %q, %d reviews", r.Outcome, stepsIn(r), r.Reasons, reviews)
	}
}

// All commits of the branch are counted, those of documents, too, and they are the same in
// what is said and in what is listed.
func TestAllCommitsOfABranchAreCounted(t *testing.T) {
	y := shellYard(t)
	r := y.mustRun("delivered")
	want := strings.TrimSpace(y.sh("git rev-list --count " + r.Base + ".." + r.Branch))
	if got := strconv.Itoa(r.CommitCount()); got != want || len(r.Log) != len(r.Commits)+1 || !strings.HasPrefix(r.Log[0].Title, "docs: ") {
		t.Errorf("%s commits are counted, and there are %s: %+v", got, want, r.Log)
	}
	for _, e := range y.events() {
		if end, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" && !strings.Contains(end.Output.Summary, want+" commits on ") {
			t.Errorf("it says %q", end.Output.Summary)
		}
	}
}

// Somebody may tidy up and remove the branch of what was taken: it goes on from what was built, not
// from where it began. Where that is lost, too, it says so.
func TestAWishGoesOnWhereTheBranchWasRemoved(t *testing.T) {
	y := shellYard(t)
	r := y.mustRun("delivered")
	tidy := func() {
		t.Helper()
		y.sh("git worktree list --porcelain | sed -n 's/^worktree //p' | sed 1d | xargs -n1 git worktree remove --force; git branch -qD " + r.Branch)
	}
	tip := y.sh("git rev-parse " + r.Branch)
	tidy()
	if r := y.goOn("Name it better"); r.Outcome != "delivered" {
		t.Fatalf("%s: %q", r.Outcome, r.Reasons)
	}
	if got := y.sh("git rev-parse " + r.Branch + "~1"); got != tip {
		t.Errorf("it goes on from %s, not from %s: %s", got, tip, y.sh("git log --oneline "+r.Branch))
	}
	tidy()
	y.sh("git for-each-ref --format='delete %(refname)' refs/troupe | git update-ref --stdin; git reflog expire --expire=now --all; git gc -q --prune=now")
	if err := y.tryOn("And shorter"); err == nil || !strings.Contains(err.Error(), "the branch "+r.Branch+" was removed, and its commit ") {
		t.Errorf("%v", err)
	}
}

// What a delivery into a repository of its own is asked for after its end is shown there, too,
// unless somebody has taken it back, or what they have changed stands in the way.
func TestAWishIsShownInARepositoryOfItsOwn(t *testing.T) {
	y := shellYard(t)
	y.repo = filepath.Join(t.TempDir(), "new")
	y.config.Repository.Dir, y.config.Repository.Create, y.config.Repository.Checks, y.config.Repository.Unchecked = y.repo, true, nil, true
	y.mustRun("delivered")
	shown := func(step string) bool {
		_, err := os.Stat(filepath.Join(y.repo, "step"+step+".ok"))
		return err == nil
	}
	if r := y.goOn("Name it better"); r.Outcome != "delivered" || !shown("2") || !shown("wish-1") {
		t.Errorf("%s: %q", r.Outcome, r.Reasons)
	}
	y.write("stepwish-2.ok", "mine\n")
	r := y.goOn("And shorter")
	if r.Outcome != "delivered" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not in what is checked out") || !strings.Contains(r.Notes[0], "stepwish-2.ok") {
		t.Errorf("%s: %q", r.Outcome, r.Notes)
	}
	if got := y.sh("cat stepwish-2.ok; rm stepwish-2.ok"); got != "mine\n" {
		t.Errorf("it has written over %s", got)
	}
	y.sh("git tag before; git revert --no-edit HEAD")
	if r := y.goOn("And brighter"); r.Outcome != "delivered" || shown("wish-1") || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "undone by hand") {
		t.Errorf("%s: %q", r.Outcome, r.Notes)
	}
	y.sh("git reset -q --hard before")
	folder := filepath.Join(y.data, y.session)
	site, err := pipeline.ReadSite(folder)
	if err != nil {
		t.Fatal(err)
	}
	site.Takes = append(site.Takes, pipeline.Take{Back: true})
	if err := site.Save(folder); err != nil {
		t.Fatal(err)
	}
	if r := y.goOn("And longer"); r.Outcome != "delivered" || shown("wish-4") || len(r.Notes) != 0 {
		t.Errorf("%s: %q", r.Outcome, r.Notes)
	}
}
