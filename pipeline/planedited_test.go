package pipeline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
)

// editPlan changes the plan on file, as a person does.
func (y *yard) editPlan(change func(*pipeline.Plan)) {
	y.t.Helper()
	file := filepath.Join(y.data, y.session, pipeline.PlanFile)
	data, err := os.ReadFile(file)
	if err != nil {
		y.t.Fatal(err)
	}
	plan, err := pipeline.ReadPlan(data)
	if err != nil {
		y.t.Fatal(err)
	}
	change(plan)
	if err := os.WriteFile(file, plan.YAML(), 0o644); err != nil {
		y.t.Fatal(err)
	}
}

// isPlanAhead says whether the plan's document is said to be behind it.
func (y *yard) isPlanAhead() bool {
	y.t.Helper()
	folder := filepath.Join(y.data, y.session)
	data, err := os.ReadFile(filepath.Join(folder, pipeline.PlanFile))
	if err != nil {
		y.t.Fatal(err)
	}
	plan, err := pipeline.ReadPlan(data)
	if err != nil {
		y.t.Fatal(err)
	}
	return pipeline.IsPlanAhead(folder, plan)
}

// editedYard has a plan of three steps, whose document has more to say of each, with steps
// as data or in the document alone.
func editedYard(t *testing.T, isData bool) (*yard, *knowledge.Base) {
	t.Helper()
	y := shellYard(t)
	base, err := knowledge.Open(t.Context(), filepath.Join(t.TempDir(), "kb.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	y.config.Knowledge, y.config.Approve = base, pipeline.ApprovePlan
	y.with("planning", func(string, string, int) string {
		answer := output("planning")
		answer["artifacts"].([]object)[0]["content"] = planDocument(3) + "\n## Risks\n\nMany.\n"
		if isData {
			answer["outputs"].(object)["steps"] = []object{yardStep("1", "part 1", nil), yardStep("2", "part 2", nil), yardStep("3", "part 3", nil)}
		}
		return encode(answer)
	})
	return y, base
}

// byPerson changes the first step, drops the second and adds one in front of the third.
func byPerson(p *pipeline.Plan) {
	p.Steps[0].Title, p.Steps[0].Goal = "Another beginning", "Mind the walrus."
	p.Steps = []pipeline.PlanStep{p.Steps[0], {ID: "4", Title: "Added", Goal: "Mind the penguin."}, p.Steps[2]}
}

const amendedPlan = "# Plan\n\nSECRET of the whole plan.\n\n## Step 1: Another beginning\n\nMind the walrus.\n\n## Step 2: Added\n\nMind the penguin.\n\n" +
	"## Step 3: part 3\n\nDo what is only said in step 3.\n\n## Risks\n\nMany.\n"

func (y *yard) committedPlan(branch string) string {
	y.t.Helper()
	return y.sh("git show " + branch + ":$(git ls-tree -r --name-only " + branch + " specs/plans)")
}

// All that comes after a plan that a person has changed uses the changed one.
func TestAnEditedPlanIsUsedEverywhere(t *testing.T) {
	for name, isData := range map[string]bool{"as data": true, "as a document": false} {
		t.Run(name, func(t *testing.T) {
			y, base := editedYard(t, isData)
			if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
				t.Fatalf("%+v %v", end, err)
			}
			if y.isPlanAhead() {
				t.Error("a plan that nobody has changed is said to be ahead of its document")
			}
			if y.editPlan(byPerson); !y.isPlanAhead() {
				t.Error("nobody is told that the document does not say so yet")
			}
			r, _, err := y.say("go on")
			if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1", "4", "3"}) {
				t.Fatalf("%+v %v", r, err)
			}
			if y.isPlanAhead() {
				t.Error("a document that was amended is said to be behind")
			}
			if got := y.committedPlan(r.Branch); got != amendedPlan {
				t.Errorf("the branch has %q", got)
			}
			if n := strings.Count(y.sh("git log --format=%s "+r.Branch), "docs: "); n != 1 {
				t.Errorf("%d commits of documents", n)
			}
			for _, want := range []string{`"passage": "## Step 1: Another beginning\n\nMind the walrus."`, `"passage": "## Step 2: Added\n\nMind the penguin."`, `"passage": "## Step 3: part 3\n\nDo what is only said in step 3.`} {
				if len(y.prompts("BMAD implementation", want)) != 1 {
					t.Errorf("no builder gets %s", want)
				}
			}
			if len(y.prompts("BMAD qa", "Mind the walrus")) == 0 {
				t.Error("the reviewer does not get the plan")
			}
			for _, phase := range []string{"BMAD implementation", "BMAD qa"} {
				for _, old := range []string{"part 1", "part 2"} {
					if len(y.prompts(phase, old)) != 0 {
						t.Errorf("%s still gets %s", phase, old)
					}
				}
			}
			found, err := base.Query(t.Context(), "add a median to the stats package step", 20)
			if err != nil || len(found) == 0 {
				t.Fatalf("%v %v", found, err)
			}
			for _, p := range found {
				if strings.Contains(p.Text, "step 1") || strings.Contains(p.Text, "part 2") {
					t.Errorf("the knowledge base has %q", p.Text)
				}
			}
		})
	}
}

// What a person writes in the plan's document, below the very step that they change, is built by.
func TestWhatIsWrittenBelowAChangedStepIsUsed(t *testing.T) {
	for name, isData := range map[string]bool{"as data": true, "as a document": false} {
		t.Run(name, func(t *testing.T) {
			y, _ := editedYard(t, isData)
			if _, _, err := y.run(nil); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(y.data, y.session, pipeline.DocumentsDir, "specs/plans/*"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(string(data), "\n## Step 2", "\nMind the seal.\n\n## Step 2", 1)
			if err := os.WriteFile(files[0], []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			y.editPlan(byPerson)
			r, _, err := y.say("go on")
			if err != nil || r == nil {
				t.Fatalf("%+v %v", r, err)
			}
			if got, want := y.committedPlan(r.Branch), strings.Replace(amendedPlan, "walrus.\n", "walrus.\n\nMind the seal.\n", 1); got != want {
				t.Errorf("the branch has %q", got)
			}
			if len(y.prompts("BMAD implementation", `"passage": "## Step 1: Another beginning\n\nMind the walrus.\n\nMind the seal."`)) != 1 {
				t.Error("no builder gets what was written")
			}
		})
	}
}

// A plan that nobody has changed costs nothing more.
func TestAPlanThatIsLeftAloneIsNotWrittenAgain(t *testing.T) {
	y, _ := editedYard(t, true)
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	if r, _, err := y.say("go on"); err != nil || r == nil || y.committedPlan(r.Branch) != planDocument(3)+"\n## Risks\n\nMany.\n" {
		t.Fatalf("%+v %v", r, err)
	}
	if n := y.calls("write_artifact", "specs/plans"); n != 1 {
		t.Errorf("the plan was written %d times", n)
	}
}

// calls counts the calls of a tool whose arguments hold a text.
func (y *yard) calls(tool, part string) (n int) {
	for _, e := range y.events() {
		if b, ok := e.Body.(*troupe.ToolCalled); ok && b.Tool == tool && strings.Contains(string(b.Arguments), part) {
			n++
		}
	}
	return n
}

// A plan may be changed again while it is carried out. Steps that are done stay, wishes are
// no part of the document, and the branch gets the document as it is then.
func TestAPlanIsEditedWhileItIsCarriedOut(t *testing.T) {
	y, base := editedYard(t, true)
	y.config.Approve = pipeline.ApproveManual
	_, end, err := y.run(nil)
	for err == nil && !strings.Contains(end.Output.Summary, "The plan has") {
		_, end, err = y.say("go on")
	}
	if err != nil {
		t.Fatal(err)
	}
	y.editPlan(func(p *pipeline.Plan) { p.Steps[1].Goal = "Mind the otter." })
	_, end, err = y.say("go on")
	if err != nil || !strings.Contains(end.Output.Summary, "“part 1” is done") {
		t.Fatalf("%+v %v", end, err)
	}
	_, end, err = y.say("Also greet the seal")
	if err != nil || !strings.Contains(end.Output.Summary, "seal") {
		t.Fatalf("%+v %v", end, err)
	}
	y.editPlan(func(p *pipeline.Plan) { // 1, wish-1, 2, 3
		p.Steps = []pipeline.PlanStep{p.Steps[0], p.Steps[1], p.Steps[3], p.Steps[2]}
		p.Steps[2].Title = "The last is first"
	})
	for err == nil && end.Stop == "input_requested" && !strings.Contains(end.Output.Summary, "is first” is done") {
		_, end, err = y.say("go on")
	}
	if err != nil {
		t.Fatal(err)
	}
	y.editPlan(func(p *pipeline.Plan) { p.Steps[3].Goal = "part 2." })
	r, end, err := y.say("go on")
	for err == nil && end.Stop == "input_requested" {
		r, end, err = y.say("go on")
	}
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !slices.Equal(stepsOf(r), []string{"1", "wish-1", "3", "2"}) {
		t.Fatalf("%+v %v", r, err)
	}
	want := "# Plan\n\nSECRET of the whole plan.\n\n## Step 1: part 1\n\nDo what is only said in step 1.\n\n## Step 2: The last is first\n\npart 3.\n\n## Step 3: part 2\n\npart 2.\n\n## Risks\n\nMany.\n"
	if got := y.committedPlan(r.Branch); got != want {
		t.Errorf("the branch has %q", got)
	}
	for step, passage := range map[string]string{"1": "## Step 1: part 1", "3": "## Step 2: The last is first", "2": `## Step 3: part 2\n\npart 2.`} {
		if len(y.prompts("BMAD implementation", `"id": "`+step+`"`, `"passage": "`+passage)) == 0 {
			t.Errorf("the builder of step %s does not get %s", step, passage)
		}
	}
	found, err := base.Query(t.Context(), "otter", 5)
	if err != nil || len(found) != 0 {
		t.Errorf("the knowledge base has %v, %v", found, err)
	}
}

// The same plan twice, with another in between, is what the knowledge base has in the end.
func TestAPlanIsEditedBackAndForth(t *testing.T) {
	y, base := editedYard(t, true)
	y.with("implementation", func(step, _ string, n int) string {
		goals := map[string]string{"1": "Mind the otter.", "2": "Mind the seal."}
		if goal := goals[step]; goal != "" {
			y.editPlan(func(p *pipeline.Plan) { p.Steps[2].Goal = goal })
		}
		return y.usual("implementation", step)
	})
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	y.editPlan(func(p *pipeline.Plan) { p.Steps[2].Goal = "Mind the seal." })
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || len(y.prompts("BMAD implementation", `## Step 3: part 3\n\nMind the seal.`)) == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	for word, n := range map[string]int{"seal": 1, "otter": 0} {
		if found, err := base.Query(t.Context(), word, 5); err != nil || len(found) != n {
			t.Errorf("%s: %v %v", word, found, err)
		}
	}
}

// Killed after any event that comes after the change, a delivery comes to the same branch.
func TestADeliveryOfAnEditedPlanIsKilledAnywhere(t *testing.T) {
	begin := func() (*yard, int) {
		y, _ := editedYard(t, true)
		if _, _, err := y.run(nil); err != nil {
			t.Fatal(err)
		}
		y.editPlan(byPerson)
		return y, len(y.events())
	}
	whole, first := begin()
	r, _, err := whole.say("go on")
	if err != nil || r == nil {
		t.Fatal(err)
	}
	want := whole.result(r)
	for i, e := range whole.events()[first:] {
		data, _ := json.Marshal(e)
		about := string(data)
		if os.Getenv("TROUPE_EVERY_EVENT") == "" && !strings.Contains(about, "documented") && !strings.Contains(about, `"upload_artifact"`) && !strings.Contains(about, `"write_artifact"`) && !strings.Contains(about, `"commit_documents"`) {
			continue
		}
		for _, isLate := range []bool{false, true} {
			y, _ := begin()
			y.goOnKilled(&mortal{Store: y.store, left: i + 1, isLate: isLate})
			got, end, err := y.resume()
			if err != nil || got == nil || y.result(got) != want || y.committedPlan(got.Branch) != amendedPlan {
				t.Errorf("killed at %s: %v %+v %+v", about[:min(len(about), 300)], err, got, end)
			}
		}
	}
}

// goOnKilled answers a gate in a process that is killed.
func (y *yard) goOnKilled(store troupe.Store) {
	y.t.Helper()
	engine := newEngine(y.t, store)
	for _, err := range engine.Run(y.t.Context(), deliver(y.t, y.config), troupe.Input{Session: y.session, Text: "go on"}) {
		if err != nil {
			break
		}
	}
	engine.Close()
	y.engine = newEngine(y.t, y.store)
}

// A knowledge base that did not take the changed plan is not asked about it.
func TestAnEditedPlanThatCouldNotBeUploaded(t *testing.T) {
	y, base := planned(t, 2, asItIs)
	y.config.Approve = pipeline.ApprovePlan
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	y.editPlan(func(p *pipeline.Plan) { p.Steps[1].Goal = "Mind the walrus." })
	base.failing = 1
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || len(pipeline.Failed(y.events())) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if len(y.prompts("BMAD implementation", `"passage": "## Step 2: part 2\n\nMind the walrus."`)) != 1 {
		t.Error("the builder does not get what was changed")
	}
}

// A person edits the document and the plan at the same gate: the document keeps what it says.
func TestAnEditedDocumentOfAnEditedPlanStays(t *testing.T) {
	for document, want := range map[string]string{
		"# Plan\n\n## step-1 One\n\nDo it.\n\n## step-2 Two\n\nDo that.\n": "# Plan\n\n## Step 1: Other\n\nOne.\n\n## Step 2: Two\n\nDo that.\n\n## By hand\n\nMind the heron.\n",
		"# Plan\n\nDo it all.\n": "# Implementation plan\n\n## Step 1: Other\n\nOne.\n\n## Step 2: Two\n\nTwo.\n\n## What the document said before\n\n# Plan\n\nDo it all.\n\n## By hand\n\nMind the heron.\n",
	} {
		y, _ := editedYard(t, true)
		y.with("planning", func(string, string, int) string {
			answer := output("planning")
			answer["artifacts"].([]object)[0]["content"] = document
			answer["outputs"].(object)["steps"] = []object{yardStep("step-1", "One", nil), yardStep("step-2", "Two", nil)}
			return encode(answer)
		})
		if _, _, err := y.run(nil); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(y.data, y.session, pipeline.DocumentsDir, "specs", "plans", "*"))
		if len(files) != 1 || os.WriteFile(files[0], []byte(document+"\n## By hand\n\nMind the heron.\n"), 0o644) != nil {
			t.Fatalf("documents: %q", files)
		}
		y.editPlan(func(p *pipeline.Plan) { p.Steps[0].Title = "Other" })
		r, _, err := y.say("go on")
		if err != nil || r == nil || y.committedPlan(r.Branch) != want {
			t.Fatalf("%+v %v\n%q", r, err, y.committedPlan(r.Branch))
		}
	}
}
