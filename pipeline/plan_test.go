package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func planOfSteps(steps ...PlanStep) *Plan { return &Plan{Steps: steps} }

func TestAPlanIsCompleted(t *testing.T) {
	p := planOfSteps(PlanStep{}, PlanStep{ID: " b ", Title: " T ", Status: StepDone}, PlanStep{Goal: "## Do it\nwell"})
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.ID+"|"+s.Title+"|"+s.Status)
	}
	if want := []string{"1|Step 1|todo", "b|T|done", "3|Do it|todo"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAPlanHasSoManySteps(t *testing.T) {
	if err := planOfSteps(make([]PlanStep, maxSteps)...).Check(); err != nil {
		t.Error(err)
	}
	if err := planOfSteps(make([]PlanStep, maxSteps+1)...).Check(); err == nil || err.Error() != "plan: it has 201 steps, and at most 200 are carried out" {
		t.Error(err)
	}
}

func TestStepsThatWaitForEachOtherAreNamed(t *testing.T) {
	p := planOfSteps(PlanStep{ID: "1"}, PlanStep{ID: "2", DependsOn: []string{"1", "4"}}, PlanStep{ID: "3", DependsOn: []string{"2"}}, PlanStep{ID: "4", DependsOn: []string{"3"}})
	if err := p.Check(); err == nil || err.Error() != "plan: the steps 2, 3, 4 wait for each other" {
		t.Error(err)
	}
	if err := planOfSteps(PlanStep{ID: "1", DependsOn: []string{"3"}}, PlanStep{ID: "2", DependsOn: []string{"1"}}, PlanStep{ID: "3"}).Check(); err != nil {
		t.Error(err)
	}
}

func TestTheNextStepIsTheFirstThatCanBeDone(t *testing.T) {
	for want, p := range map[string]*Plan{
		"1": planOfSteps(PlanStep{ID: "1", Status: StepTodo}, PlanStep{ID: "2", Status: StepTodo}),
		"2": planOfSteps(PlanStep{ID: "1", Status: StepDone}, PlanStep{ID: "2", Status: StepDoing, DependsOn: []string{"1"}}),
		"3": planOfSteps(PlanStep{ID: "1", Status: StepFailed}, PlanStep{ID: "2", Status: StepTodo, DependsOn: []string{"3", "1"}}, PlanStep{ID: "3", Status: StepTodo}),
		"":  planOfSteps(PlanStep{ID: "1", Status: StepSkipped}, PlanStep{ID: "2", Status: StepTodo, DependsOn: []string{"1"}}, PlanStep{ID: "3", Status: StepTodo, DependsOn: []string{"gone"}}),
	} {
		got := ""
		if s := p.next(); s != nil {
			got = s.ID
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestStepsAreSkippedThatWaitForOneThatIsNotDone(t *testing.T) {
	p := planOfSteps(
		PlanStep{ID: "0", Status: StepTodo, DependsOn: []string{"3"}}, PlanStep{ID: "1", Status: StepFailed}, PlanStep{ID: "2", Status: StepDone, DependsOn: []string{"1"}},
		PlanStep{ID: "3", Status: StepDoing, DependsOn: []string{"2", "1"}}, PlanStep{ID: "4", Status: StepTodo, DependsOn: []string{"2"}})
	p.skipWaiting()
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.ID+" "+s.Status+" "+s.Reason)
	}
	if want := []string{"0 skipped step 3 is not done", "1 failed ", "2 done ", "3 skipped step 1 is not done", "4 todo "}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAStepIsReadAsAgentsWriteIt(t *testing.T) {
	for text, want := range map[string]PlanStep{
		`"Build: the page\nwith care"`: {Title: "the page", Goal: "Build: the page\nwith care"},
		`{"step": 2, "name": "N", "description": "D", "files": ["a.go", {"path": "b.go"}], "dependencies": [1], "acceptance_criteria": ["AC1"], "checks": "test"}`: {
			ID: "2", Title: "N", Goal: "D", Files: []string{"a.go", "b.go"}, DependsOn: []string{"1"}, Acceptance: []string{"AC1"}, Checks: []string{"test"}},
		`{"id": "x", "title": "T", "name": "N", "goal": "G", "description": "D", "depends_on": ["1"], "dependencies": ["2"], "acceptance": ["AC1"], "acceptance_criteria": ["AC2"]}`: {
			ID: "x", Title: "T", Goal: "G", DependsOn: []string{"1", "2"}, Acceptance: []string{"AC1", "AC2"}},
		`{"title": ["of", "another", "kind"], "goal": "G"}`: {Goal: "G"},
		`7`: {},
	} {
		got := readStep(json.RawMessage(text))
		if fmt.Sprint(got) != fmt.Sprint(want) || (got.DependsOn == nil) != (want.DependsOn == nil) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestAPlanIsMadeOfTheStepsElseOfTheDocument(t *testing.T) {
	document := "## Step 1: One\na\n### Step 1.2: Part\nb\n## Step 2: Two\nc\n"
	p, err := planOf(json.RawMessage(`{"steps": ["From the steps"]}`), document)
	if err != nil || len(p.Steps) != 1 || p.Steps[0].Title != "From the steps" {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = planOf(json.RawMessage(`{"steps": 2}`), document)
	if err != nil || len(p.Steps) != 2 || p.Steps[0].Goal != "## Step 1: One\na\n### Step 1.2: Part\nb" || p.Steps[1].ID != "2" || p.Steps[1].Goal != "## Step 2: Two\nc" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := planOf(nil, "no steps"); err == nil {
		t.Error("a plan of nothing")
	}
	p, err = planOf(nil, "- [ ] One\n- [x] Two\n")
	if err != nil || len(p.Steps) != 2 || p.Steps[0].ID != "1" || p.Steps[1].ID != "2" || p.Steps[1].Title != "Two" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAPlanIsWrittenAsADocument(t *testing.T) {
	p := planOfSteps(PlanStep{ID: "a", Title: "One", Goal: "Do one."}, PlanStep{ID: "b", Title: "Two", Goal: "Do two.", Files: []string{"a.go", "b.go"}, DependsOn: []string{"a"}, Acceptance: []string{"AC1"}})
	want := "# Implementation plan\n\n## Step 1: One\n\nDo one.\n\n## Step 2: Two\n\nDo two.\n\nFiles: a.go, b.go\n\nDepends on: a\n\nAcceptance: AC1\n"
	if got := p.Markdown(); got != want {
		t.Errorf("got %q", got)
	}
}

// The document of a plan is amended in whatever form it has.
func TestTheDocumentOfAPlanIsAmended(t *testing.T) {
	was := []PlanStep{{ID: "1", Title: "One", Goal: "Do one."}, {ID: "2", Title: "Two", Goal: "Do two."}}
	changed := []PlanStep{{ID: "1", Title: "One", Goal: "New:\n\n## Step 7: no step\n\n# Part\n\n```\n# code\n```", Files: []string{"a.go"}}, was[1]}
	const section = "Step 1: One\n\nNew:\n\nStep 7: no step\n\n### Part\n\n```\n# code\n```\n\nFiles: a.go\n"
	for name, c := range map[string]struct {
		text string
		now  []PlanStep
		want string
	}{
		"nothing":    {"Head\n\n## Step 1: One\n\nA\n\n## Step 2: Two\n\nB\n", was, "Head\n\n## Step 1: One\n\nA\n\n## Step 2: Two\n\nB\n"},
		"changed":    {"## Step 1: One\nA\n## Step 2 - Two\nB\n### Step 2.1: Half\nC\n", changed, "## " + section + "\n## Step 2 - Two\nB\n### Step 2.1: Half\nC\n"},
		"reordered":  {"## Step 1: One\nA\n## Step 2: Two\nB\n### Step 2.1: Half\nC\n## Step 2.2: More\nD\n## Risks\nE", []PlanStep{was[1], was[0]}, "## Step 1: Two\nB\n### Step 1.1: Half\nC\n## Step 1.2: More\nD\n\n## Step 2: One\nA\n\n## Risks\nE\n"},
		"dropped":    {"## Step 1: One\nA\n## Step 2: Two\n```\n# code\n```\n# End\n", was[1:], "## Step 1: Two\n```\n# code\n```\n\n# End\n"},
		"a list":     {"Plan:\n1. One\n   A\n2. Two\n   B\n\n# End\n", changed, "Plan:\n## " + section + "\n## Step 2: Two\n\n   B\n\n# End\n"},
		"deeper":     {"# Plan\n### 1. One\nA\n### 2. Two\nB\n", []PlanStep{was[1]}, "# Plan\n### Step 1: Two\n\nB\n"},
		"no steps":   {"We do it.\n", was, "# Implementation plan\n\n## Step 1: One\n\nDo one.\n\n## Step 2: Two\n\nDo two.\n"},
		"none of it": {"## Step 1: One\nA\n", was, "## Step 1: One\nA\n\n## Step 2: Two\n\nDo two.\n"},
	} {
		got := amendDocument(c.text, false, "", was, c.now)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if again := amendDocument(got, false, "", c.now, c.now); again != got {
			t.Errorf("%s: amended again it is %q", name, again)
		}
	}
}

// Steps that the document names, by id or by title, keep what it says of them, and so does
// what a person has put between them.
func TestADocumentWhoseStepsHaveNamesIsAmended(t *testing.T) {
	was := []PlanStep{{ID: "step-1", Title: "One", Goal: "Do one."}, {ID: "step-2", Title: "Two", Goal: "Do two."}}
	now := []PlanStep{{ID: "step-1", Title: "One", Goal: "Other."}, was[1]}
	const end = "## Step 1: One\n\nOther.\n\n## By hand\n\nMine.\n\n## Step 2: Two\n\nB\n\n1. first\n\n## Risks\n\nMany.\n"
	for name, c := range map[string]struct{ text, want string }{
		"an id in a heading":    {"# Plan\n\nIntro.\n\n## step-1 One\n\nA\n\n## By hand\n\nMine.\n\n## step-2\n\nB\n\n1. first\n\n## Risks\n\nMany.\n", "# Plan\n\nIntro.\n\n" + end},
		"an id and a colon":     {"### step-1: One\n\nA\n\n### `Step-2`: Two\n\nB\n#### step-2.1\nC\n", "### Step 1: One\n\nOther.\n\n### Step 2: Two\n\nB\n#### step-2.1\nC\n"},
		"a title":               {"Intro.\n\n## One\n\nA\n\n## By hand\n\nMine.\n\n## **Two**\n\nB\n\n1. first\n\n## Risks\n\nMany.\n", "Intro.\n\n" + end},
		"a list of ids":         {"Intro.\n\n- **step-1**: One\n  A\n- **step-2**: Say more.\n  B\n\n## Risks\n\nMany.\n", "Intro.\n\n## Step 1: One\n\nOther.\n\n## Step 2: Two\n\nSay more.\n  B\n\n## Risks\n\nMany.\n"},
		"a list of titles":      {"1. **One**\n2. **Two:** say more\n", "## Step 1: One\n\nOther.\n\n## Step 2: Two\n\nsay more\n"},
		"a number with by hand": {"## Step 1: One\n\nA\n\n## By hand\n\nMine.\n\n## Step 2: Two\n\nB\n\n1. first\n\n## Risks\n\nMany.\n", end},
	} {
		if got := amendDocument(c.text, true, "A\n- **step-1**: One\n1. **One**", was, now); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got, want := amendDocument("## step-1\n\nA\n\n## By hand\n\nMine.\n\n## step-2\n\nB\n", true, "A", was, was[1:]), "## Step 1: Two\n\nB\n\n## By hand\n\nMine.\n"; got != want {
		t.Errorf("dropped: got %q, want %q", got, want)
	}
	words := []PlanStep{{ID: "parser", Title: "Read it"}, {ID: "writer", Title: "Write it"}}
	if marks := marksOf("## Parser: Read it\n## Parser notes\n## writer\n", words); len(marks) != 2 {
		t.Errorf("%+v", marks)
	}
}

// What a person has written below a step stays below it when that step is changed: now, and when
// it is changed again.
func TestWhatIsWrittenBelowAStepStaysWhenItIsChanged(t *testing.T) {
	was := []PlanStep{{ID: "1", Title: "One", Goal: "Do one."}, {ID: "2", Title: "Two", Goal: "Do two."}}
	now := []PlanStep{{ID: "2", Title: "Two", Goal: "Other.", Files: []string{"a.go"}}, was[0]}
	again := []PlanStep{{ID: "2", Title: "Zwei", Goal: "Once more."}, was[0]}
	for name, c := range map[string]struct{ made, text, want, again string }{
		"a paragraph": {"## Step 1: One\n\nA\n\n## Step 2: Two\n\nB\nC\n", "## Step 1: One\n\nA\n\n## Step 2: Two\n\nB\nC\n\nMind the seal.\n\n## By hand\n\nMine.\n",
			"## Step 1: Two\n\nOther.\n\nFiles: a.go\n\nMind the seal.\n\n## Step 2: One\n\nA\n\n## By hand\n\nMine.\n", "## Step 1: Zwei\n\nOnce more.\n\nMind the seal.\n\n## Step 2: One\n\nA\n\n## By hand\n\nMine.\n"},
		"within what was made": {"## Step 1: One\nA\n## Step 2: Two\nB\nC\n", "## Step 1: One\nA\n## Step 2: Two\nB\nMind the seal.\nC\n",
			"## Step 1: Two\n\nOther.\n\nFiles: a.go\n\nB\nMind the seal.\nC\n\n## Step 2: One\nA\n", "## Step 1: Zwei\n\nOnce more.\n\nB\nMind the seal.\nC\n\n## Step 2: One\nA\n"},
		"code, and a part": {"## Step 1: One\n\nA\n\n## Step 2: Two\n\n```\nB\n```\n", "## Step 1: One\n\nA\n\n## Step 2: Two\n\n```\nB\n```\n\n### Step 2.1: Mine\n\n```\nB\n\n# seal\n```\n",
			"## Step 1: Two\n\nOther.\n\nFiles: a.go\n\n### Step 1.1: Mine\n\n```\nB\n\n# seal\n```\n\n## Step 2: One\n\nA\n", "## Step 1: Zwei\n\nOnce more.\n\n### Step 1.1: Mine\n\n```\nB\n\n# seal\n```\n\n## Step 2: One\n\nA\n"},
		"the line of its title": {"- **1**: One\n  A\n- **2**: B\n", "- **1**: One\n  A\n- **2**: B, and mind the seal.\n",
			"## Step 1: Two\n\nOther.\n\nFiles: a.go\n\nB, and mind the seal.\n\n## Step 2: One\n\n  A\n", "## Step 1: Zwei\n\nOnce more.\n\nB, and mind the seal.\n\n## Step 2: One\n\n  A\n"},
		"it is not known what was made": {"", "## Step 1: One\n\nA\n\n## Step 2: Two\n\nB\n",
			"## Step 1: Two\n\nOther.\n\nFiles: a.go\n\nB\n\n## Step 2: One\n\nA\n", "## Step 1: Zwei\n\nOnce more.\n\nB\n\n## Step 2: One\n\nA\n"},
	} {
		got := amendDocument(c.text, true, c.made, was, now)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if got = amendDocument(got, true, c.made+(&Plan{now}).Markdown(), now, again); got != c.again {
			t.Errorf("%s: changed again it is %q, want %q", name, got, c.again)
		}
	}
}

// What looks like a step within one is no other step: a heading of another level, and code.
func TestWhatLooksLikeAStepWithinOneIsNone(t *testing.T) {
	was := []PlanStep{{ID: "1", Title: "One", Goal: "Do one."}, {ID: "2", Title: "Two", Goal: "Do two."}}
	now := []PlanStep{was[0], {ID: "2", Title: "Two", Goal: "Other."}}
	for name, part := range map[string]string{
		"a heading":           "### Step 2 needs this first\n\nMine.",
		"code":                "```sh\n## Step 2: no step\necho\n```\n\nMine.",
		"code of tildes":      "~~~\n```\n# Step 2\n~~~\n\nMine.",
		"a long fence":        "````md\n```\n## Step 1\n```\n## Step 2\n````\n\nMine.",
		"a fence in a list":   "- a\n\n  ```\n## Step 2\n  ```\n\nMine.",
		"a level in between":  "#### Step 2 is tricky\n\n### Step 2.1: and this\n\nMine.",
		"a list and a number": "1. Step 2: no\n2. Two\n\n**Step 2:** Mine.",
	} {
		text := "# Plan\n\n## Step 1: One\n\nA\n\n" + part + "\n\n## Step 2: Two\n\nB\n"
		want := "## Step 1: One\n\nA\n\n" + part
		if got := stepOf(text, 1); got != want {
			t.Errorf("%s: step 1 is %q", name, got)
		}
		if got := stepOf(text, 2); got != "## Step 2: Two\n\nB" {
			t.Errorf("%s: step 2 is %q", name, got)
		}
		if got := planFromText(text).Steps; len(got) != 2 || got[0].Goal != want {
			t.Errorf("%s: the plan is %+v", name, got)
		}
		if got := amendDocument(text, true, "A\nB", was, now); got != "# Plan\n\n"+want+"\n\n## Step 2: Two\n\nOther.\n" {
			t.Errorf("%s: amended it is %q", name, got)
		}
	}
	if got := stepOf("## Step 1: One\n\n```\nA\n\n## Step 2: Two\n\nB\n", 2); got != "## Step 2: Two\n\nB" {
		t.Errorf("after a fence that nothing ends step 2 is %q", got)
	}
	if got := stepOf("## Step 1: One\n\nA\n\n"+leftHeading+"\n\nMine.\n", 1); got != "## Step 1: One\n\nA" {
		t.Errorf("with what was left out the last step is %q", got)
	}
}

// What a person has written at a step that is left out may be about another one: it stays.
func TestWhatIsWrittenAtAStepThatIsLeftOutStays(t *testing.T) {
	was := []PlanStep{{ID: "1", Title: "One", Goal: "Do one."}, {ID: "2", Title: "Two", Goal: "Do two."}, {ID: "3", Title: "Three", Goal: "Do three."}}
	const made = "## Step 1: One\n\nA\n\n## Step 2: Two\n\nB\n\n## Step 3: Three\n\nC\n\n## Risks\n\nMany.\n"
	text := strings.Replace(made, "B\n", "B\n\n### Step 2.1: Mine\n\nMind the seal.\n\n```\n# seal\n```\n", 1)
	const want = "## Step 1: One\n\nA\n\n## Step 2: Three\n\nC\n\n## Risks\n\nMany.\n\n" + leftHeading + "\n\n**Step 2.1: Mine**\n\nMind the seal.\n\n```\n# seal\n```\n"
	now := []PlanStep{was[0], was[2]}
	got := amendDocument(text, true, made, was, now)
	if got != want {
		t.Errorf("got %q", got)
	}
	got = strings.Replace(got, "A\n", "A\n\nMind the otter.\n", 1)
	if again, want := amendDocument(got, true, made, now, now[1:]), "## Step 1: Three\n\nC\n"+want[strings.Index(want, "\n## Risks"):]+"\nMind the otter.\n"; again != want {
		t.Errorf("left out again, got %q, want %q", again, want)
	}
	if got := amendDocument(text, false, made, was, now); strings.Contains(got, "seal") {
		t.Errorf("what nobody has written is kept: %q", got)
	}
}

// What somebody has written into a document whose steps are not recognised is not lost.
func TestADocumentWithoutStepsKeepsWhatSomebodyWrote(t *testing.T) {
	was := []PlanStep{{ID: "1", Title: "One", Goal: "Do one."}}
	const made = "# Implementation plan\n\n## Step 1: One\n\nOther.\n"
	now := []PlanStep{{ID: "1", Title: "One", Goal: "Other."}}
	for _, c := range []struct {
		text     string
		isEdited bool
		want     string
	}{{"We do it.\n", false, made}, {"", true, made}, {"# Ours\n\nWe do it.\n", true, made + "\n## What the document said before\n\n# Ours\n\nWe do it.\n"}} {
		got := amendDocument(c.text, c.isEdited, "", was, now)
		if got != c.want {
			t.Errorf("%q: got %q", c.text, got)
		}
		if again := amendDocument(got, true, "", now, now); again != got {
			t.Errorf("%q: amended again it is %q", c.text, again)
		}
	}
}

func TestPlansAreComparedStepByStep(t *testing.T) {
	was := planOfSteps(PlanStep{ID: "1", Title: "One"}, PlanStep{ID: "2", Title: "Two", Status: StepTodo}, PlanStep{ID: "3", Title: "Three", Files: []string{"a"}}, PlanStep{ID: "4", Title: "Four"})
	for name, c := range map[string]struct {
		was, now *Plan
		want     []string
	}{
		"the same":   {was, was, nil},
		"all is new": {nil, planOfSteps(PlanStep{ID: "1", Title: "One"}), []string{"added: 1 One"}},
		"dropped":    {was, planOfSteps(was.Steps[0], was.Steps[1], was.Steps[2]), []string{"dropped: 4 Four"}},
		"reordered":  {was, planOfSteps(was.Steps[1], was.Steps[0], was.Steps[2], was.Steps[3]), []string{"order: 2, 1, 3, 4"}},
		"in between": {planOfSteps(was.Steps[:2]...), planOfSteps(was.Steps[0], PlanStep{ID: "n", Title: "New"}, was.Steps[1]), []string{"added: n New"}},
		"status":     {planOfSteps(was.Steps[1]), planOfSteps(PlanStep{ID: "2", Title: "Other", Status: StepDone}), []string{"step 2: done, was todo"}},
		"title":      {planOfSteps(was.Steps[0]), planOfSteps(PlanStep{ID: "1", Title: "Uno"}), []string{"changed: 1 Uno"}},
		"goal":       {planOfSteps(was.Steps[0]), planOfSteps(PlanStep{ID: "1", Title: "One", Goal: "g"}), []string{"changed: 1 One"}},
		"files":      {planOfSteps(was.Steps[2]), planOfSteps(PlanStep{ID: "3", Title: "Three"}), []string{"changed: 3 Three"}},
		"depends on": {planOfSteps(was.Steps[2]), planOfSteps(PlanStep{ID: "3", Title: "Three", Files: []string{"a"}, DependsOn: []string{"1"}}), []string{"changed: 3 Three"}},
		"acceptance": {planOfSteps(was.Steps[0]), planOfSteps(PlanStep{ID: "1", Title: "One", Acceptance: []string{"AC1"}}), []string{"changed: 1 One"}},
	} {
		if got := ComparePlans(c.was, c.now); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestATitleIsTheFirstLineOfAPassage(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n## **Step 1: Do it**\nmore": "Do it", "No colon": "No colon", strings.Repeat("é", 100): strings.Repeat("é", 60), "x" + strings.Repeat("é", 100): "x" + strings.Repeat("é", 59),
	} {
		if got := titleOf(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestFixesOfReviewsAreCounted(t *testing.T) {
	if n := planOfSteps(PlanStep{ID: "fix-1"}, PlanStep{ID: "1"}, PlanStep{ID: "fix-2"}, PlanStep{ID: "wish-1"}).countFixes(); n != 2 {
		t.Errorf("got %d", n)
	}
}

// A plan has as many steps as its headings count, else as many as planning says.
func TestThePathOfThePlanIsThatOfItsSteps(t *testing.T) {
	for name, c := range map[string]struct {
		earlier []Result
		path    string
		steps   int
	}{
		"no planning": {[]Result{{Phase: "requirements", Artifacts: []Saved{{Path: "a.md", Steps: 3}}}}, "", 0},
		"headings":    {[]Result{{Phase: phasePlanning, Outputs: json.RawMessage(`{"total_steps": 5}`), Artifacts: []Saved{{Path: "a.md"}, {Path: "b.md", Steps: 3}, {Path: "c.md", Steps: 4}}}}, "b.md", 3},
		"a number":    {[]Result{{Phase: phasePlanning, Outputs: json.RawMessage(`{"total_steps": 5}`), Artifacts: []Saved{{Path: "a.md"}, {Path: "b.md"}}}}, "a.md", 5},
		"below zero":  {[]Result{{Phase: phasePlanning, Outputs: json.RawMessage(`{"total_steps": -5}`)}}, "", 0},
		"words":       {[]Result{{Phase: phasePlanning, Outputs: json.RawMessage(`{"total_steps": "a few"}`)}}, "", 0},
	} {
		if path, steps := (&work{earlier: c.earlier}).planned(); path != c.path || steps != c.steps {
			t.Errorf("%s: got %q and %d", name, path, steps)
		}
	}
}

func TestTheLedgerSaysHowTheImplementationWent(t *testing.T) {
	done, failed := StepRecord{Step: 1, Title: "One", State: StepDone, Files: []string{"a.go", "b.go"}}, StepRecord{Step: 2, Title: "Two", State: StepFailed, Files: []string{"a.go"}}
	for _, c := range []struct {
		steps  []StepRecord
		status Status
		errors int
	}{
		{[]StepRecord{done}, "success", 0}, {[]StepRecord{done, failed}, "partial", 0}, {[]StepRecord{failed}, "failed", 0}, {nil, "failed", 1},
	} {
		w := &work{phase: &Phase{Name: phaseImplementation}, Result: Result{Steps: c.steps}}
		if err := w.conclude(); err != nil || w.Status != c.status || len(w.Errors) != c.errors || w.NextPhase.Ready != (c.status != "failed") {
			t.Errorf("%+v: %v, %+v", c.steps, err, w.Result)
		}
		if len(c.steps) == 2 {
			var outputs Implementation
			_ = json.Unmarshal(w.Outputs, &outputs)
			if got := fmt.Sprint(outputs.StepsCompleted.Strings(), outputs.StepsRemaining.Strings(), outputs.FilesChanged.Strings()); got != "[Step 1: One] [Step 2: Two] [a.go b.go]" {
				t.Errorf("got %s", got)
			}
		}
	}
}
