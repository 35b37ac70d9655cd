package pipeline_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// flakyYard is a shell yard whose check has a test "shaky" besides, which fails in the runs
// that a pattern of the shell names: they are counted, and the base is checked first.
func flakyYard(t *testing.T, failing string) *yard {
	y := shellYard(t)
	y.config.Repository.Cache = filepath.Join(t.TempDir(), "cache")
	y.config.Repository.Checks = []pipeline.Check{{Name: "test", Run: `
n=$(cat "$XDG_CACHE_HOME/n" 2>/dev/null || echo 0); n=$((n+1)); mkdir -p "$XDG_CACHE_HOME"; echo $n > "$XDG_CACHE_HOME/n"
bad=0; i=0
for f in *.ok; do i=$((i+1)); grep -qx good "$f" || { echo "not ok $i - $f"; bad=1; }; done
case $n in ` + failing + `) echo "not ok 99 - shaky"; bad=1;; esac
echo "# tests $((i+1))"; exit $bad`}}
	return y
}

// A test that fails and passes when it is run again, unchanged, fails no delivery: it is
// named beside what was measured. Runs: 1 is the base, then one for each step and the end.
func TestFlakyTestsAreNotTheChangesFault(t *testing.T) {
	for name, c := range map[string]struct {
		failing string
		note    string
	}{
		"in a step":                                {"2", "test: failed and passed when it was run again, unchanged: shaky"},
		"at the end":                               {"4", "test: failed and passed when it was run again, unchanged: shaky"},
		"twice at the end":                         {"4|5", "test: failed and passed when it was run again, unchanged: shaky"},
		"before the change":                        {"1", "before the change, test: failed and passed when it was run again, unchanged: shaky"},
		"before the change, and ever after":        {"1|[3-9]", "test: fails, and did not always pass before: shaky"},
		"before the change, and in every run then": {"*", "test: fails, and did not always pass before: shaky"},
	} {
		t.Run(name, func(t *testing.T) {
			y := flakyYard(t, c.failing)
			r := y.mustRun(pipeline.OutcomeDelivered)
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("the report says %q", notes)
			}
			if n := len(y.prompts("BMAD implementation")); n != 2 {
				t.Errorf("the builder was asked %d times about two steps", n)
			}
			if got := y.prompts("BMAD qa", "shaky"); name != "in a step" && len(got) == 0 {
				t.Error("the review was not told")
			}
		})
	}
}

// What fails in every run fails, whatever is flaky beside it, and a test that is flaky is
// not what the builder is told of.
func TestFlakyTestsExcuseNothing(t *testing.T) {
	y := flakyYard(t, "2")
	y.with("implementation", func(step, _ string, n int) string {
		if n == 0 && step == "1" {
			return built(fileOf("step1.ok", "bad\n"))
		}
		return built(fileOf("step"+step+".ok", "good\n"))
	})
	r := y.mustRun(pipeline.OutcomeDelivered)
	told := y.prompts("a check fails", "Tests that fail: step1.ok\n")
	if len(told) == 0 || len(r.Notes) != 1 {
		t.Errorf("the builder was told %q; notes %q", told, r.Notes)
	}

	y = flakyYard(t, "[2-9]|[1-9][0-9]") // it passed at the base, and fails ever after
	if r := y.mustRun(pipeline.OutcomeFailed); len(r.Commits) != 0 || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}

	// A finding whose test fails once and passes then is not proven.
	y = flakyYard(t, "5")
	y.with("qa", func(_, _ string, n int) string {
		if n > 0 {
			return y.usual("qa", "")
		}
		return reviewed("changes_required", []object{}, []object{{"id": "F1", "severity": "blocker", "path": "notes.txt", "problem": "it is wrong", "reproduce": []object{fileOf("finding.ok", "good\n")}}})
	})
	y.mustRun(pipeline.OutcomeDelivered)
	if len(y.prompts("BMAD implementation", `"id": "fix-1"`)) > 0 {
		t.Error("a flaky test proved a finding")
	}
}
