package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	statsGo   = "package stats\n\nimport \"sort\"\n\n// Max returns the largest of xs.\nfunc Max(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\treturn s[len(s)-1]\n}\n\n// Min returns the smallest of xs.\nfunc Min(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\treturn s[0]\n}\n"
	medianGo  = "\n// Median returns the one in the middle.\nfunc Median(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\tn := len(s)\n\tif n%2 == 1 {\n\t\treturn s[n/2]\n\t}\n\treturn MIDDLE\n}\n"
	testGo    = "package stats\n\nimport \"testing\"\n\nfunc Test%s(t *testing.T) {\n\tif !(%s) {\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
	nanTestGo = "package stats\n\nimport (\n\t\"math\"\n\t\"testing\"\n)\n\nfunc TestMedianNaN(t *testing.T) {\n\tdefer func() {\n\t\tif recover() == nil {\n\t\t\tt.Error(\"NaN was taken\")\n\t\t}\n\t}()\n\tMedian([]float64{math.NaN(), 1, 2})\n}\n"
)

// The same story as in Node, in Go, with its compiler, its vet and its names of tests: a
// text that occurs twice, an error of the compiler, a test that fails, a cut answer, a
// dot-file, a review that refuses with a test that proves it, and then accepts.
func TestTheWholeStoryInGoFromOutside(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skipf("go cannot be run: %v", err)
	}
	a := newAgency(t)
	a.plays(goStory)
	dir := a.repositoryOf(t, "", map[string]string{"go.mod": "module example.org/stats\n\ngo 1.24\n", "stats.go": statsGo, "stats_test.go": fmt.Sprintf(testGo, "Max", "Max([]float64{1, 3, 2}) == 3"), "base.ok": "x\n"})
	inRepository(t, dir, "echo mine > dirty.txt; echo '// not committed' >> stats.go")
	before := fingerprintOf(t, dir)
	p := start(t, dir, append(a.environment(dir), "GOCACHE="+strings.TrimSpace(string(cache))), nil, "deliver", "Add a median")
	if code := p.code(); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, &p.out, &p.err)
	}
	if after := fingerprintOf(t, dir); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	said := p.out.String() + p.err.String()
	for _, line := range []string{"checks: build, vet, test (found)", "2 changed files are not in this delivery", "does not fit: stats.go: the text that was to be replaced is in it 2 times", "build ✗", "(2 tests) TestMedianEven", "cut off", "F1 must be put right, stats.go", "test ✓"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q was not said:\n%s", line, said)
		}
	}
	branch := strings.TrimSpace(inRepository(t, dir, "git for-each-ref --format='%(refname:short)' 'refs/heads/troupe/*'"))
	if got := inRepository(t, dir, "git log --format=%s main.."+branch); got != "Refuse NaN\nSettings\nMedian\ndocs: specification of add a median\n" {
		t.Errorf("the log is %s", got)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	inRepository(t, dir, "git clone -q -b "+branch+" . "+clone+" && cd "+clone+" && grep -qx 'median = true' .statsrc && go build ./... && go vet ./... && go test -v ./... | grep -c '^--- PASS' | grep -qx 3")
	for _, parts := range [][]string{{"Add lines around it"}, {"undefined: middle", "stats.go:"}, {"TestMedianEven"}, {"BMAD planning", "zebra"}, {"BMAD qa", "THE WHOLE CHANGE", "test ✓"}, {"This test fails and proves it"}} {
		if a.holds(parts...) == 0 {
			t.Errorf("no prompt holds %q", parts)
		}
	}
}

// goStory is what the agents of the story answer.
func goStory(phase, step, prompt string, n int) string {
	nan := aFile("nan_test.go", nanTestGo)
	median := func(middle string) string { return strings.Replace(medianGo, "MIDDLE", middle, 1) }
	switch {
	case phase == "planning":
		return planned(fields{"id": "1", "title": "Median", "goal": "Add it.", "files": []string{"stats.go"}}, fields{"id": "2", "title": "Settings", "goal": "Add them.", "depends_on": []string{"1"}})
	case phase == "qa" && n == 0:
		return reviewed("changes_required", fields{"id": "F1", "severity": "blocker", "path": "stats.go", "line": 20, "problem": "takes NaN for a number", "fix": "Refuse NaN", "reproduce": []fields{nan}},
			fields{"id": "F2", "severity": "minor", "path": "stats.go", "line": 1, "problem": "no package comment"})
	case phase == "implementation" && step == "1":
		return []string{`CALL read_file {"path":"stats.go"}`,
			builtFiles(anEdit("stats.go", "\tsort.Float64s(s)\n", "\tsort.Float64s(s) //\n"), aFile("median_test.go", fmt.Sprintf(testGo, "MedianEven", "Median([]float64{4, 1, 2, 3}) == 2.5"))),
			builtFiles(anEdit("stats.go", "\treturn s[0]\n}\n", "\treturn s[0]\n}\n"+median("middle(s)"))),
			builtFiles(anEdit("stats.go", "middle(s)", "s[n/2]")),
			builtFiles(anEdit("stats.go", "\t}\n\treturn s[n/2]\n", "\t}\n\treturn (s[n/2-1] + s[n/2]) / 2\n"))}[min(n, 4)]
	case phase == "implementation" && step == "2" && n < 1:
		return "CUT " + builtFiles(aFile(".statsrc", "median = tr"))[:80]
	case phase == "implementation" && step == "2":
		return builtFiles(aFile(".statsrc", "median = true\n"))
	case phase == "implementation":
		return builtFiles(anEdit("stats.go", "\tn := len(s)\n", "\tn := len(s)\n\tfor _, x := range s {\n\t\tif x != x {\n\t\t\tpanic(\"stats: NaN\")\n\t\t}\n\t}\n"), nan)
	}
	return goodWork(phase, step, prompt, n)
}
