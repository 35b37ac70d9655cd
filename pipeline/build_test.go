package pipeline_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
)

// planDocument is a plan of n steps as planners write it.
func planDocument(n int) string {
	var b strings.Builder
	b.WriteString("# Plan\n\nSECRET of the whole plan.\n")
	for i := range n {
		fmt.Fprintf(&b, "\n## Step %d: part %d\n\nDo what is only said in step %d.\n", i+1, i+1, i+1)
	}
	return b.String()
}

// planned is a yard whose planner writes a document of n steps and no data.
func planned(t *testing.T, n int, change func(document string) string) (*yard, *shelf) {
	t.Helper()
	y := shellYard(t)
	base := newShelf()
	y.config.Knowledge = base
	y.with("planning", func(string, string, int) string {
		answer := output("planning")
		answer["artifacts"].([]object)[0]["content"] = change(planDocument(n))
		answer["outputs"].(object)["total_steps"] = 99
		return encode(answer)
	})
	return y, base
}

func asItIs(document string) string { return document }

// Each step is looked up in the knowledge base, and its builder gets that passage.
func TestStepsAreRetrievedOneByOne(t *testing.T) {
	y, base := planned(t, 3, asItIs)
	y.mustRun(pipeline.OutcomeDelivered)
	const feature = "add a median to the stats package"
	if want := []string{feature, feature + " step 1", feature + " step 2", feature + " step 3"}; !slices.Equal(base.queries, want) {
		t.Errorf("the knowledge base was asked %q", base.queries)
	}
	for n := 1; n <= 3; n++ {
		passage := fmt.Sprintf(`"passage": "## Step %d: part %d\n\nDo what is only said in step %d.`, n, n, n)
		if len(y.prompts("BMAD implementation", passage)) != 1 {
			t.Errorf("the builder of step %d does not get its passage", n)
		}
	}
}

func TestAPlanIsReadFromItsFileWhereTheKnowledgeBaseHasNone(t *testing.T) {
	for name, change := range map[string]func(*yard, *shelf){
		"there is none": func(y *yard, _ *shelf) { y.config.Knowledge = nil },
		"it is down":    func(_ *yard, base *shelf) { base.failing = 4 },
		"it has another": func(_ *yard, base *shelf) {
			base.failing = 2 // what discovery asks, and the upload
			base.documents["other"] = knowledgeOf("other.md", "## Step 1: other\n\nWrong.\n\n## Step 2: other\n\nWrong.\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			y, base := planned(t, 2, asItIs)
			change(y, base)
			r := y.mustRun(pipeline.OutcomeDelivered)
			if len(r.Commits) != 2 || len(y.prompts("BMAD implementation", `"passage": "## Step 2: part 2`)) == 0 {
				t.Errorf("got %+v", r.Commits)
			}
			if len(pipeline.Failed(y.events())) != 1 {
				t.Error("the upload is not on record as failed")
			}
		})
	}
}

// A passage that is nowhere is said to be missing, and the step's goal is what the
// builder gets.
func TestAStepWithoutAPassageIsSaidToHaveNone(t *testing.T) {
	for heading, want := range map[string]int{"Step 2: Page": 0, "The page": 1} {
		y, _ := planned(t, 2, asItIs)
		y.with("planning", func(string, string, int) string {
			return strings.Replace(thought("planning", yardStep("1", "First", nil), yardStep("2", "Second", nil)), "Step 2: Page", heading, 1)
		})
		y.mustRun(pipeline.OutcomeDelivered)
		if said := y.warnings("plan_step_not_found"); len(said) != want || want == 1 && !strings.Contains(said[0], "step 2 (Second)") {
			t.Errorf("%s: warned %q", heading, said)
		}
	}
}

// A step that fails ends the work; with KeepGoing those that do not need it are done.
func TestAFailedStepAndWhatDependsOnIt(t *testing.T) {
	for keepGoing, want := range map[bool]string{false: "1 done, 2 failed, 3 skipped, 4 skipped", true: "1 done, 2 failed, 3 skipped, 4 done"} {
		y := shellYard(t)
		y.config.Repository.KeepGoing = keepGoing
		y.with("planning", func(string, string, int) string {
			return thought("planning", yardStep("1", "A", nil), yardStep("2", "B", nil), yardStep("3", "C", object{"depends_on": []string{"2"}}), yardStep("4", "D", nil))
		}).with("implementation", func(step, _ string, _ int) string {
			if step == "2" {
				return `{"status":"failed","phase":"implementation","errors":["no compiler"]}`
			}
			return y.usual("implementation", step)
		})
		y.mustRun(pipeline.OutcomePartial)
		var states []string
		for _, s := range pipeline.Summarize(y.events()).Ledger {
			states = append(states, s.ID+" "+s.State)
		}
		if got := strings.Join(states, ", "); got != want {
			t.Errorf("keep going %t: %s", keepGoing, got)
		}
	}
}

// The embedded knowledge base finds each step of a plan that it was given, long ones
// in several passages too.
func TestStepsAreFoundInTheEmbeddedBase(t *testing.T) {
	y, _ := planned(t, 12, func(document string) string {
		return strings.ReplaceAll(document, "Do what is", strings.Repeat("This is what there is to know. ", 80)+"\n\n### Details\n\nDo what is")
	})
	base, err := knowledge.Open(t.Context(), filepath.Join(t.TempDir(), "kb.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	y.config.Knowledge, y.config.Repository.Checks, y.config.Repository.Unchecked = base, nil, true
	y.mustRun(pipeline.OutcomeDelivered)
	found := 0
	for _, e := range y.events() {
		b, ok := e.Body.(*troupe.ToolReturned)
		if !ok || b.Tool != "query_plan" {
			continue
		}
		var got struct {
			Step          int
			Passage, Note string
			Found         bool
		}
		if err := json.Unmarshal([]byte(b.Content), &got); err != nil {
			t.Fatal(err)
		}
		found++
		if !got.Found || got.Note != "" || !strings.HasPrefix(got.Passage, fmt.Sprintf("## Step %d: ", got.Step)) || !strings.Contains(got.Passage, fmt.Sprintf("only said in step %d.", got.Step)) {
			t.Errorf("step %d: %s", got.Step, b.Content)
		}
	}
	if found != 12 {
		t.Errorf("%d steps were looked up", found)
	}
}

// A builder may rename a file and change it in one answer; the report names it once, as git does.
func TestAFileThatIsRenamedAndChangedIsOne(t *testing.T) {
	y := shellYard(t).with("implementation", func(step, _ string, _ int) string {
		if step == "2" {
			return built(fileOf("step2.ok", "good\n"))
		}
		return built(object{"name": "notes.txt", "path": "notes.txt", "to": "docs/notes.txt", "type": "rename"}, edited("docs/notes.txt", "two", "2"), fileOf("step1.ok", "good\n"))
	})
	r := y.mustRun(pipeline.OutcomeDelivered)
	i := slices.IndexFunc(r.Files, func(f git.Stat) bool { return f.From == "notes.txt" })
	if i < 0 || r.Files[i] != (git.Stat{Path: "docs/notes.txt", From: "notes.txt", Added: 1, Removed: 1}) {
		t.Errorf("%+v", r.Files)
	}
	if slices.ContainsFunc(r.Files, func(f git.Stat) bool { return f.Path == "notes.txt" }) || y.sh("git show "+r.Branch+":docs/notes.txt") != "one\n2\nthree\n" {
		t.Errorf("%+v", r.Files)
	}
}
