package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// beginWith begins another delivery with the documents, plan and commits of the one before.
func (y *yard) beginWith(before *pipeline.Report) (*pipeline.Report, *troupe.RunFinished) {
	y.t.Helper()
	custom := map[string]any{"phases": pipeline.Results(y.events()), "extras": map[string]any{"of": y.session}}
	y.config.Repository.Base, y.config.From = before.Branch, "implementation"
	r, end, err := y.run(custom)
	if err != nil {
		y.t.Fatal(err)
	}
	return r, end
}

// A delivery that begins with another one's commits, none of which are taken yet, is shown,
// measured and reported with them: they come with it.
func TestADeliveryOfAnotherHasItsCommits(t *testing.T) {
	y := shellYard(t)
	first := y.mustRun(pipeline.OutcomeDelivered)
	y.config.Approve = pipeline.ApproveDiff
	_, end := y.beginWith(first)
	if end.Stop != "input_requested" || !strings.HasPrefix(end.Output.Summary, fmt.Sprintf("The change is ready: %d files +", len(first.Files))) || !strings.Contains(end.Output.Summary, "step2.ok") {
		t.Fatalf("%s: %s", end.Stop, end.Output.Summary)
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || len(r.Files) != len(first.Files) || r.Base != first.Base || r.Head != first.Head || len(r.Log) != len(first.Log) || len(r.Checks) == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if got := y.sh("git rev-parse " + r.Branch); strings.TrimSpace(got) != first.Head {
		t.Errorf("it begins at %s, not at %s", got, first.Head)
	}
}

// What is in what is checked out already is no part of the change.
func TestADeliveryOfOneThatIsTakenHasItsOwnCommitsAlone(t *testing.T) {
	for name, take := range map[string]string{"merged": "git merge -q ", "squashed": "git merge -q --squash "} {
		y := shellYard(t)
		first := y.mustRun(pipeline.OutcomeDelivered)
		y.sh(take + first.Branch + " && { git commit -qm squashed || true; }")
		r, end := y.beginWith(first)
		if r == nil || len(r.Files) != 0 || r.Base != first.Head {
			t.Errorf("%s: %+v %+v", name, r, end)
		}
	}
}
