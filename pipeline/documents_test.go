package pipeline_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// A delivery into a repository may end with its documents: they are on the branch, and nothing
// is measured.
func TestADeliveryMayEndWithItsDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		status, say string
		documents   string
		outcome     string
		reasons     string
		files       int
	}{
		"all is well":            {"success", "", "", pipeline.OutcomeDelivered, "", 3},
		"outside of the branch":  {"success", "", "outside", pipeline.OutcomeDelivered, "", 0},
		"one is partial":         {"partial", "", "", pipeline.OutcomePartial, "architecture is only partly done", 3},
		"one failed, go on":      {"failed", "go on", "", pipeline.OutcomePartial, "architecture failed", 3},
		"one failed, stop there": {"failed", "stop", "", pipeline.OutcomeFailed, "architecture failed: no idea", 2},
	} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			y.config.To, y.config.Repository.Documents = "discovery", c.documents
			y.with("architecture", func(string, string, int) string {
				out := strings.Replace(thought("architecture"), `"status":"success"`, `"status":"`+c.status+`"`, 1)
				if c.status == "failed" {
					out = strings.Replace(out, `"errors":[]`, `"errors":["no idea"]`, 1)
				}
				return out
			})
			r, end, err := y.run(nil)
			if err == nil && c.say != "" {
				if end.Stop != "input_requested" {
					t.Fatalf("it stopped for %s", end.Stop)
				}
				r, _, err = y.say(c.say)
			}
			if err != nil || r == nil || r.Outcome != c.outcome || strings.Join(r.Reasons, "; ") != c.reasons || len(r.Files) != c.files || len(r.Commits) != 0 || len(r.Checks) != 0 {
				t.Errorf("%v, %+v", err, r)
			}
		})
	}
}

// Where a person is asked after every phase, the last one is no exception, planning included.
func TestManualApprovalAsksAfterEveryPhaseOfDocuments(t *testing.T) {
	y := shellYard(t)
	y.config.To, y.config.Approve, y.config.Knowledge = "planning", pipeline.ApproveManual, newShelf()
	r, end, err := y.run(nil)
	var asked []string
	for err == nil && end.Stop == "input_requested" {
		asked = append(asked, strings.ToLower(strings.Fields(end.Output.Summary)[0]))
		r, end, err = y.say("go on")
	}
	if got := strings.Join(asked, " "); err != nil || got != "requirements architecture discovery planning" || r == nil || r.Outcome != pipeline.OutcomeDelivered {
		t.Errorf("%v, asked after %s, %+v", err, got, r)
	}
}

// Changes that were not committed when a delivery began are not in it, whatever becomes of
// them later.
func TestChangesThatAreLeftOutAreCounted(t *testing.T) {
	y := shellYard(t)
	y.config.To = "requirements"
	if n := pipeline.LeftOut(y.events()); n != 0 {
		t.Errorf("before it began %d are left out", n)
	}
	y.write("README.md", "# Other\n")
	y.write("new.txt", "new\n")
	y.mustRun("delivered")
	y.sh("git add -A && git commit -qm more")
	y.goOn("go on")
	if n := pipeline.LeftOut(y.events()); n != 2 {
		t.Errorf("%d files are left out, not 2", n)
	}
}
