package pipeline_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

const median = "\n// Median returns the median of xs.\nfunc Median(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\tn := len(s)\n\tif n%2 == 0 {\n\t\treturn (s[n/2-1] + s[n/2]) / 2\n\t}\n\treturn s[n/2]\n}\n"

const medianTest = "package stats\n\nimport \"testing\"\n\nfunc TestMedianOdd(t *testing.T) {\n\tif got := Median([]float64{3, 1, 2}); got != 2 {\n\t\tt.Errorf(\"got %v\", got)\n\t}\n}\n\nfunc TestMedianEven(t *testing.T) {\n\tif got := Median([]float64{4, 1, 2, 3}); got != 2.5 {\n\t\tt.Errorf(\"got %v\", got)\n\t}\n}\n"

const minFunc = "// Min returns the smallest of xs.\nfunc Min(xs []float64) float64 {\n\ts := append([]float64{}, xs...)\n\tsort.Float64s(s)\n\treturn s[0]\n}\n"

// The story of a delivery: reading, a text that occurs twice, code that does not
// compile, a test that fails, a cut answer, a dot-file, a review that refuses and then
// accepts.
func TestTheWholeStory(t *testing.T) {
	needsGo(t)
	y := newYard(t, goRepository())
	y.write("dirty.txt", "mine\n")
	before := y.fingerprint()
	y.answer = func(phase, step, prompt string, n int) string {
		switch phase {
		case "planning":
			return thought(phase, yardStep("1", "Median for unsorted input", object{"files": []string{"stats.go", "stats_test.go"}, "acceptance": []string{"AC1"}}),
				yardStep("2", "Flag in .statsrc", object{"depends_on": []string{"1"}}))
		case "implementation":
			return storyStep(step, prompt, n)
		case "qa":
			if n == 0 {
				return reviewed("changes_required", []object{{"id": "AC1", "state": "met", "evidence": "median_test.go:5"}, {"id": "AC2", "state": "not_met", "evidence": "stats.go"}},
					[]object{{"id": "F1", "severity": "blocker", "path": "stats.go", "line": 30, "problem": "takes NaN for a number", "fix": "Refuse NaN", "reproduce": []object{
						fileOf("nan_test.go", "package stats\n\nimport (\n\t\"math\"\n\t\"testing\"\n)\n\nfunc TestMedianNaN(t *testing.T) {\n\tif !math.IsNaN(Median([]float64{1, math.NaN(), 2})) {\n\t\tt.Error(\"NaN is lost\")\n\t}\n}\n")}},
						{"id": "F2", "severity": "minor", "path": "stats.go", "problem": "a comment"}, {"id": "F3", "severity": "major", "path": "stats.go", "problem": "Mean is wrong", "reproduce": []object{
							fileOf("mean2_test.go", "package stats\n\nimport \"testing\"\n\nfunc TestMean2(t *testing.T) {\n\tif Mean([]float64{2}) != 2 {\n\t\tt.Error(\"no\")\n\t}\n}\n")}}})
			}
			return reviewed("accept", []object{{"id": "AC1", "state": "met", "evidence": "median_test.go:5"}, {"id": "AC2", "state": "met", "evidence": "nan_test.go:8"}}, []object{{"id": "F2", "severity": "minor", "path": "stats.go", "problem": "a comment"}})
		}
		return thought(phase)
	}
	r := y.mustRun(pipeline.OutcomeDelivered)
	if after := y.fingerprint(); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	if len(r.Commits) != 3 || r.Commits[2].Step != "fix-1" {
		t.Errorf("commits: %+v", r.Commits)
	}
	if got := y.sh("git log --format=%s " + r.Branch); got != "Refuse NaN\nFlag in .statsrc\nMedian for unsorted input\ndocs: specification of add a median to the stats package\nbegin\n" {
		t.Errorf("the log is %s", got)
	}
	if got := y.sh("git log -1 --format=%b " + r.Branch); !strings.Contains(got, "Delivered-by: Troupe test, delivery "+r.ID+", step fix-1") {
		t.Errorf("no trailer: %s", got)
	}
	if got := y.sh("git show " + r.Branch + ":.statsrc"); got != "median = true\n" {
		t.Errorf(".statsrc is %q", got)
	}
	// The result is good in a fresh clone, for somebody who knows nothing of us.
	clone := t.TempDir()
	y.sh("git clone -q . " + clone + " && cd " + clone + " && git checkout -q " + r.Branch + " && go test ./... && go vet ./...")
	for _, c := range r.Criteria {
		if c.State != "met" {
			t.Errorf("%+v", c)
		}
	}
	for _, parts := range [][]string{
		{"occurs 2 times", "Add lines around it"}, {"undefined: sorted"}, {"TestMedianEven"}, {"cut off"}, {"zebra", "BMAD planning"}, {"giraffe", "BMAD implementation"},
		{"BMAD qa", "THE WHOLE CHANGE", "test ✓"}, {"BMAD qa", "F3 fell"}, {"BMAD implementation", "Add a median to the stats package", "YOUR LAST ANSWER"},
		{"TOOL stats.go, "}, {"BMAD implementation", "\tfunc Min(xs"},
	} {
		if len(y.prompts(parts...)) == 0 {
			t.Errorf("no prompt holds %q", parts)
		}
	}
	if got := y.warnings("file_missing"); len(got) != 1 {
		t.Errorf("the file that discovery made up: %q", got)
	}
}

// storyStep is the builder of the story.
func storyStep(step, prompt string, n int) string {
	switch step {
	case "1":
		switch n {
		case 0:
			return `CALL read_file {"path":"stats.go"}`
		case 1: // occurs twice
			return built(edited("stats.go", "\tsort.Float64s(s)\n", "\tsort.Float64s(s) // sorted\n"), fileOf("median_test.go", medianTest))
		case 2: // the other file is held; this does not compile
			return built(edited("stats.go", minFunc, minFunc+strings.Replace(median, "sort.Float64s(s)", "sorted(s)", 1)))
		case 3: // compiles, and a test fails
			return built(edited("stats.go", "\tsorted(s)\n\tn := len(s)\n\tif n%2 == 0 {\n\t\treturn (s[n/2-1] + s[n/2]) / 2\n\t}\n", "\tsort.Float64s(s)\n\tn := len(s)\n"))
		}
		return built(edited("stats.go", "\tn := len(s)\n\treturn s[n/2]\n", "\tn := len(s)\n\tif n%2 == 0 {\n\t\treturn (s[n/2-1] + s[n/2]) / 2\n\t}\n\treturn s[n/2]\n"))
	case "2":
		if n < 3 {
			return "CUT " + built(fileOf(".statsrc", "median = tr"))[:300]
		}
		return built(fileOf(".statsrc", "median = true\n"))
	}
	return built(edited("stats.go", "import \"sort\"\n", "import (\n\t\"math\"\n\t\"sort\"\n)\n"),
		edited2("stats.go", "func Median(xs []float64) float64 {\n", "func Median(xs []float64) float64 {\n\tfor _, x := range xs {\n\t\tif math.IsNaN(x) {\n\t\t\treturn x\n\t\t}\n\t}\n"),
		fileOf("nan_test.go", "package stats\n\nimport (\n\t\"math\"\n\t\"testing\"\n)\n\nfunc TestMedianNaN(t *testing.T) {\n\tif !math.IsNaN(Median([]float64{1, math.NaN(), 2})) {\n\t\tt.Error(\"NaN is lost\")\n\t}\n}\n"))
}

// edited2 is an edit that belongs to the artifact before it: models do that, too.
func edited2(path, search, replace string) object { return edited(path, search, replace) }

func needsGo(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
}
