package pipeline_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
)

// steps is a plan of n steps.
func steps(n int) string {
	var b strings.Builder
	b.WriteString("# Plan\n\nSECRET of the whole plan.\n")
	for i := range n {
		fmt.Fprintf(&b, "\n## Step %d: part %d\n\nDo what is only said in step %d.\n", i+1, i+1, i+1)
	}
	return b.String()
}

// planned is a world whose plan has n steps, and whose builder may be overruled.
func planned(t *testing.T, n int, build func(step, prompt string, answer object) object) *world {
	t.Helper()
	w := newWorld(t)
	w.answer = func(phase, prompt string) string {
		answer := output(phase, prompt)
		switch phase {
		case "planning":
			answer["artifacts"].([]object)[0]["content"] = steps(n)
			answer["outputs"].(object)["total_steps"] = 99
		case "implementation":
			if build != nil {
				answer = build(stepInPrompt.FindStringSubmatch(prompt)[1], prompt, answer)
			}
		}
		return encode(answer)
	}
	return w
}

func TestTheBuilderSeesOneStepAtATime(t *testing.T) {
	w := planned(t, 3, nil)
	s, _ := mustEnd(t, deliver(t, w.config()))
	if want := []string{"create a simple todo app fur zoe", "create a simple todo app fur zoe step 1", "create a simple todo app fur zoe step 2", "create a simple todo app fur zoe step 3"}; !slices.Equal(w.shelf.queries, want) {
		t.Errorf("the knowledge base was asked %q", w.shelf.queries)
	}
	prompt := w.prompt("implementation")
	for _, part := range []string{"only said in step 3", "src/step1.go", "src/step2.go"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the builder of step 3 is not told %q: %s", part, prompt)
		}
	}
	for _, part := range []string{"SECRET", "only said in step 1", "package step1"} {
		if strings.Contains(prompt, part) {
			t.Errorf("the builder of step 3 is told %q: %s", part, prompt)
		}
	}
	var outputs struct {
		pipeline.Implementation
		Steps []pipeline.StepRecord
	}
	if err := json.Unmarshal(s.result("implementation").Outputs, &outputs); err != nil {
		t.Fatal(err)
	}
	if len(outputs.StepsCompleted) != 3 || len(outputs.FilesChanged) != 3 || outputs.Steps[2].Title != "part 3" || outputs.Steps[2].State != pipeline.StepDone {
		t.Errorf("got %+v", outputs)
	}
}

func TestAFailingStepIsOnRecordAndTheRestGoesOn(t *testing.T) {
	w := planned(t, 3, func(step, _ string, answer object) object {
		if step == "2" {
			answer["status"], answer["errors"], answer["artifacts"] = "failed", []string{"no compiler"}, []object{}
		}
		return answer
	})
	s, end := mustEnd(t, deliver(t, w.config()))
	ledger := pipeline.Summarize(s.events()).Ledger
	var states []string
	for _, l := range ledger {
		states = append(states, l.State)
	}
	if !slices.Equal(states, []string{"done", "failed", "done"}) || ledger[1].Reason != "no compiler" {
		t.Errorf("got %+v", ledger)
	}
	if end.Output.Meta.Status != "partial" || s.result("implementation").Status != "partial" {
		t.Errorf("got %+v", end.Output)
	}
}

func TestAStepWhoseAnswerIsNotUnderstoodIsNotDone(t *testing.T) {
	w := planned(t, 2, nil)
	good := w.answer
	w.answer = func(phase, prompt string) string {
		if phase == "implementation" && !strings.Contains(prompt, `"step": 2`) {
			return "Done!"
		}
		return good(phase, prompt)
	}
	s, _ := mustEnd(t, deliver(t, w.config()))
	if r := s.result("implementation"); r.Steps[0].State != pipeline.StepFailed || r.Steps[0].Reason == "" || r.Steps[1].State != pipeline.StepDone || r.JSON != pipeline.LevelRaw {
		t.Errorf("got %+v", r)
	}
}

func TestABlockedStepSkipsTheRest(t *testing.T) {
	w := planned(t, 4, func(step, _ string, answer object) object {
		if step == "2" {
			answer["next_phase"] = object{"ready": false, "blockers": []string{"no key"}}
		}
		return answer
	})
	s, end, err := begin(t, deliver(t, w.config()), nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "no key") {
		t.Fatalf("got %+v, %v", end, err)
	}
	var states []string
	for _, l := range s.result("implementation").Steps {
		states = append(states, l.State+" "+l.Reason)
	}
	if want := []string{"done ", "failed no key", "skipped step 2 is blocked", "skipped step 2 is blocked"}; !slices.Equal(states, want) {
		t.Errorf("got %q", states)
	}
}

func TestAPlanIsReadFromItsFileWhereTheKnowledgeBaseHasNone(t *testing.T) {
	for name, change := range map[string]func(*world, *pipeline.Config){
		"there is none": func(_ *world, c *pipeline.Config) { c.Knowledge = nil },
		"it is down":    func(w *world, _ *pipeline.Config) { w.shelf.failing = 4 },
		"it has another": func(w *world, c *pipeline.Config) {
			w.shelf.failing = 2 // what discovery asks, and the upload
			w.shelf.documents["other"] = knowledgeOf("other.md", "## Step 1: other\n\nWrong.\n\n## Step 2: other\n\nWrong.\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := planned(t, 2, nil)
			c := w.config()
			change(w, &c)
			s, end := mustEnd(t, deliver(t, c))
			if len(s.result("implementation").Steps) != 2 || !strings.Contains(w.prompt("implementation"), "only said in step 2") {
				t.Errorf("got %+v: %s", s.result("implementation"), w.prompt("implementation"))
			}
			if end.Output.Meta.Status != "partial" || len(pipeline.Failed(s.events())) != 1 {
				t.Errorf("the upload did not fail: %+v", end.Output)
			}
		})
	}
}

// A delivery may begin with the implementation: then the knowledge base alone knows
// how many steps there are.
func TestStepsAreCarriedOutUntilThereIsNone(t *testing.T) {
	w := planned(t, 0, nil)
	w.shelf.documents["plan"] = knowledgeOf("plan.md", steps(3))
	c := w.config()
	c.From, c.To = "implementation", "implementation"
	s, _ := mustEnd(t, deliver(t, c))
	if n := len(s.result("implementation").Steps); n != 3 {
		t.Errorf("%d steps", n)
	}
}

func TestNoPlanIsAFailure(t *testing.T) {
	w := planned(t, 0, nil)
	c := w.config()
	c.From, c.To = "implementation", "implementation"
	_, end, err := begin(t, deliver(t, c), nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "there is no plan") {
		t.Errorf("got %+v, %v", end, err)
	}
}

// The embedded knowledge base finds each step of a plan that it was given, long ones
// in several passages too.
func TestStepsAreFoundInTheEmbeddedBase(t *testing.T) {
	w := planned(t, 12, nil)
	good := w.answer
	w.answer = func(phase, prompt string) string {
		return strings.ReplaceAll(good(phase, prompt), "Do what is", strings.Repeat("This is what there is to know. ", 80)+"\\n\\n### Details\\n\\nDo what is")
	}
	base, err := knowledge.Open(t.Context(), filepath.Join(t.TempDir(), "kb.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	c := w.config()
	c.Knowledge = base
	s, _ := mustEnd(t, deliver(t, c))
	for _, e := range s.events() {
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
		if !got.Found || got.Note != "" || !strings.HasPrefix(got.Passage, fmt.Sprintf("## Step %d: ", got.Step)) || !strings.Contains(got.Passage, fmt.Sprintf("only said in step %d.", got.Step)) {
			t.Errorf("step %d: %s", got.Step, b.Content)
		}
	}
}
