package pipeline_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// shellYard is a repository whose check is a line of shell: every file *.ok must say
// "good", and there must be a result.
func shellYard(t testing.TB) *yard {
	y := newYard(t, map[string]string{"README.md": "# Ok\n", "base.ok": "good\n", "notes.txt": "one\ntwo\nthree\n"})
	y.config.Repository.Checks = []pipeline.Check{{Name: "test", Run: `for f in *.ok; do grep -qx good "$f" || { echo "$f:1: not good"; exit 1; }; done; echo "# tests $(ls *.ok | wc -l)"`}}
	y.answer = func(phase, step, prompt string, n int) string { return y.usual(phase, step) }
	return y
}

// usual is what good agents answer: two steps, a file each.
func (y *yard) usual(phase, step string) string {
	switch phase {
	case "planning":
		return thought(phase, yardStep("1", "First", object{"files": []string{"notes.txt"}}), yardStep("2", "Second", object{"depends_on": []string{"1"}}))
	case "implementation":
		return built(fileOf("step"+step+".ok", "good\n"))
	case "qa":
		return reviewed("accept", []object{{"id": "AC1", "state": "met", "evidence": "step1.ok:1"}, {"id": "AC2", "state": "met", "evidence": "base.ok"}}, nil)
	}
	return thought(phase)
}

// with has one phase answered otherwise.
func (y *yard) with(phase string, answer func(step, prompt string, n int) string) *yard {
	usual := y.answer
	y.answer = func(p, step, prompt string, n int) string {
		if p == phase {
			return answer(step, prompt, n)
		}
		return usual(p, step, prompt, n)
	}
	return y
}

func TestAModelThatNeverGetsItRight(t *testing.T) {
	for name, c := range map[string]struct {
		asked  int // how often, in two conversations unless it is hopeless
		reason string
		answer func(step, prompt string, n int) string
	}{
		"the check fails":      {4, "the check “test” still failed after 4 rounds", func(_, _ string, n int) string { return built(fileOf("a.ok", strings.Repeat("bad ", n+1)+"\n")) }},
		"the same failure":     {6, "the builder's answers change nothing any more, and the check “test” still fails", func(_, _ string, n int) string { return built(fileOf("a.ok", "bad\n")) }},
		"edits that never fit": {8, "the builder was asked 8 times, and none of its answers could be used: notes.txt: the text that was to be replaced is not in it", func(string, string, int) string { return built(edited("notes.txt", "nothing like it", "x")) }},
		"no JSON":              {8, "the builder was asked 8 times, and none of its answers could be used: they were not in the form that was asked for; it said: I have written the file.", func(string, string, int) string { return "I have written the file." }},
		"always cut off":       {24, "the builder was asked 8 times, and none of its answers could be used: they were cut off, because they are longer than the model can write", func(string, string, int) string { return "CUT {\"status\": \"success\", \"phase\"" }},
		"no change at all":     {4, "the builder's answers change nothing", func(string, string, int) string { return built() }},
		"always more to come": {18, "the builder did not come to an end: it sent more than 8 parts", func(string, string, int) string {
			return strings.Replace(built(fileOf("a.ok", "good\n")), `"done":true`, `"done":true,"more":true`, 1)
		}},
		"it gives up": {1, "the builder says that it cannot be done: too hard", func(string, string, int) string {
			return `{"status":"failed","phase":"implementation","errors":["too hard"]}`
		}},
		"escapes":               {8, "the builder was asked 8 times, and none of its answers could be used: ../../escaped: the path leads upwards", func(string, string, int) string { return built(fileOf("../../escaped", "x\n")) }},
		"rewrites git's folder": {8, "the builder was asked 8 times, and none of its answers could be used: .git/hooks/pre-commit: it is in the repository's own folder", func(string, string, int) string { return built(fileOf(".git/hooks/pre-commit", "x\n")) }},
		"not read":              {8, "the builder was asked 8 times, and none of its answers could be used: base.ok: it was about to be replaced without having been read whole", func(string, string, int) string { return built(fileOf("base.ok", "good\n")) }},
		"half a file":           {8, "the builder was asked 8 times, and none of its answers could be used: notes.txt: only a part of it was written", func(string, string, int) string { return built(fileOf("notes.txt", "one\n// ... rest of the code\n")) }},
		"weakens the test count": {10, "the builder was asked 10 times, and 8 of its answers could not be used: base.ok: there is no such file", func(string, string, int) string {
			return built(object{"name": "base.ok", "path": "base.ok", "type": "delete"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			before := y.fingerprint()
			y.with("implementation", c.answer)
			r := y.mustRun(pipeline.OutcomeFailed)
			if len(r.Reasons) == 0 || !strings.HasPrefix(r.Reasons[0], "“First” failed: "+c.reason) || len(r.Commits) != 0 {
				t.Errorf("%+v", r)
			}
			if got := y.sh("git log --format=%s " + r.Branch); got != "docs: specification of add a median to the stats package\nbegin\n" {
				t.Errorf("the branch claims %s", got)
			}
			if n := len(y.prompts("BMAD implementation")); n != c.asked {
				t.Errorf("the builder was asked %d times", n)
			}
			if len(y.prompts("BMAD qa")) != 0 {
				t.Error("nothing was built, and it was reviewed")
			}
			if y.fingerprint() != before {
				t.Error("the checkout has changed")
			}
			s := pipeline.Summarize(y.events())
			if s.Success {
				t.Errorf("success: %+v", s)
			}
			if r.Advice == "" || s.Ledger[0].Cause == "" {
				t.Errorf("nobody is told what to do: %+v", s.Ledger[0])
			}
			for _, told := range append(append(r.Reasons, s.Errors...), s.Ledger[0].Reason, r.Advice) {
				if pipeline.ForAgents.MatchString(told) {
					t.Errorf("a person is told what was meant for the agent: %s", told)
				}
			}
			if strings.HasPrefix(name, "the ") && !strings.Contains(y.sh("git for-each-ref"), "refs/troupe/"+r.ID+"/attempts/1-1") {
				t.Error("the attempt is not kept")
			}
		})
	}
}

func TestAReviewThatLies(t *testing.T) {
	y := shellYard(t)
	y.config.Repository.Checks[0].Run = "false" // red before, and still
	y.with("qa", func(string, string, int) string {
		return reviewed("accept", []object{{"id": "AC1", "state": "met", "evidence": "made_up_test.go:3"}, {"id": "AC2", "state": "met", "evidence": "step1.ok"}}, nil)
	})
	r := y.mustRun(pipeline.OutcomeDelivered) // nothing fails that passed before
	if len(r.Claims) != 1 || !strings.Contains(r.Claims[0], "made_up_test.go") || r.Criteria[0].State != "unproven" {
		t.Errorf("%q %+v", r.Claims, r.Criteria)
	}
	if len(y.prompts("BMAD qa", "test ✗")) == 0 {
		t.Error("the review was not told that the check fails")
	}
}

// Evidence may be a file or a test. One that is not there proves nothing, however it is
// written; one that is there does.
func TestEvidenceIsLookedFor(t *testing.T) {
	for evidence, proven := range map[string]bool{
		"TestMedian": true, "TestMedian/even": true, "stats.TestMedian": true, "median_test.go:3": true, "median_test.go: TestMedian passes": true, "seen in the diff": true,
		"TestMode": false, "example.org/stats.TestMode": false, "mode_test.go": false, "median_test.go, TestMode": false, "tests/test_mode.py::test_mode": false,
	} {
		t.Run(evidence, func(t *testing.T) {
			y := shellYard(t)
			y.with("implementation", func(step, _ string, _ int) string {
				return built(fileOf("step"+step+".ok", "good\n"), fileOf("median_test.go", "package x\n\nfunc TestMedian() {}\n"))
			}).with("qa", func(string, string, int) string {
				return reviewed("accept", []object{{"id": "AC1", "state": "met", "evidence": evidence}}, nil)
			}).with("planning", func(string, string, int) string { return thought("planning", yardStep("1", "First", nil)) })
			r := y.mustRun(pipeline.OutcomeDelivered)
			if got := r.Criteria[0].State == "met"; got != proven || proven != (len(r.Claims) == 0) {
				t.Errorf("%s is %s, claims %q", evidence, r.Criteria[0].State, r.Claims)
			}
		})
	}
}

func TestAReviewThatNeverAccepts(t *testing.T) {
	for name, c := range map[string]struct {
		reviews, commits int
		reason           string
		finding          func(n int) object
	}{
		"the same again": {2, 3, "the finding F1 came back after its fix", func(int) object {
			return object{"id": "F1", "severity": "blocker", "path": "notes.txt", "problem": "it is not right"}
		}},
		"always another": {3, 4, "1 finding is still to be put right after 3 reviews", func(n int) object {
			return object{"id": "F1", "severity": "major", "path": "notes.txt", "problem": "problem " + strings.Repeat("x", n+1)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			y.with("qa", func(_, _ string, n int) string {
				return reviewed("changes_required", nil, []object{c.finding(n)})
			})
			r := y.mustRun(pipeline.OutcomePartial)
			if n := len(y.prompts("BMAD qa")); n != c.reviews || len(r.Commits) != c.commits || len(r.Findings) != 1 || len(r.Reasons) != 2 || r.Reasons[0] != c.reason {
				t.Errorf("%d reviews: %+v", n, r)
			}
		})
	}
}

func TestChecksDecide(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(y *yard)
		outcome string
		reason  string
	}{
		"green":                {func(*yard) {}, pipeline.OutcomeDelivered, ""},
		"red before":           {func(y *yard) { y.write("base.ok", "bad\n"); y.sh("git commit -qam red") }, pipeline.OutcomeDelivered, ""},
		"no checks":            {func(y *yard) { y.config.Repository.Checks = nil }, pipeline.OutcomePartial, "nothing was checked"},
		"no checks, unchecked": {func(y *yard) { y.config.Repository.Checks, y.config.Repository.Unchecked = nil, true }, pipeline.OutcomeDelivered, ""},
		"an answer in blocks": {func(y *yard) {
			y.with("implementation", func(step, _ string, _ int) string {
				return strings.Replace(built(fileOf("step"+step+".ok", "X")), `"content":"X"`, `"content":{"block":"b1"}`, 1) + "\n<<<b1\ngood\n>>>b1\n"
			})
		}, pipeline.OutcomeDelivered, ""},
		"in parts": {func(y *yard) {
			y.with("implementation", func(step, _ string, n int) string {
				if n == 0 {
					return strings.Replace(built(fileOf("part"+step+".ok", "good\n")), `"done":true`, `"done":true,"more":true`, 1)
				}
				return built(fileOf("step"+step+".ok", "good\n"))
			})
		}, pipeline.OutcomeDelivered, ""},
		"a formatter": {func(y *yard) {
			y.config.Repository.Format = []string{"for f in *.ok; do tr A-Z a-z <$f >x.tmp; cat x.tmp >$f; done; rm -f x.tmp"}
			y.with("implementation", func(step, _ string, _ int) string { return built(fileOf("step"+step+".ok", "GOOD\n")) })
		}, pipeline.OutcomeDelivered, ""},
		"what a check leaves behind": {func(y *yard) { y.config.Repository.Checks[0].Run = "echo junk >left.behind; exit 0" }, pipeline.OutcomeDelivered, ""},
		"protected": {func(y *yard) {
			y.config.Repository.Protect = []string{"notes.txt"}
			y.with("implementation", func(step, _ string, n int) string {
				if n == 0 {
					return built(edited("notes.txt", "one", "uno"))
				}
				return built(fileOf("step"+step+".ok", "good\n"))
			})
		}, pipeline.OutcomeDelivered, ""},
	} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			c.prepare(y)
			r := y.mustRun(c.outcome)
			if !strings.Contains(strings.Join(r.Reasons, "\n"), c.reason) {
				t.Errorf("%q", r.Reasons)
			}
			if files := y.sh("git ls-tree -r --name-only " + r.Branch); strings.Contains(files, "left.behind") || !strings.Contains(files, "step2.ok") {
				t.Errorf("the branch has %s", files)
			}
		})
	}
}

// A check that cannot run is a question, and the delivery goes on at that very place.
func TestACheckThatCannotRunIsAQuestion(t *testing.T) {
	y := shellYard(t)
	y.config.Repository.Checks[0].Run = "no-such-program"
	r, end, err := y.run(nil)
	if err != nil || r != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "Install it") {
		t.Fatalf("%+v %+v %v", r, end, err)
	}
	if len(y.prompts("BMAD implementation")) != 0 {
		t.Error("the builder was held responsible")
	}
	// It is put right: in the site, as the checks are those of the base.
	site, err := pipeline.ReadSite(filepath.Join(y.data, y.session))
	if err != nil {
		t.Fatal(err)
	}
	site.Checks[0].Shell = "true"
	if err := site.Save(filepath.Join(y.data, y.session)); err != nil {
		t.Fatal(err)
	}
	if r, _, err = y.say("go on"); err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestPlansAreEditedByHand(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApprovePlan
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "The plan has 2 steps") {
		t.Fatalf("%+v %v", end, err)
	}
	file := filepath.Join(y.data, y.session, pipeline.PlanFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pipeline.ReadPlan(data)
	if err != nil {
		t.Fatal(err)
	}
	// The second step is dropped, one is added in front, and the first gets another goal.
	plan.Steps = []pipeline.PlanStep{{ID: "new", Title: "By a person", Goal: "Mind the walrus."}, plan.Steps[0]}
	plan.Steps[1].Goal = "Mind the penguin."
	if err := os.WriteFile(file, plan.YAML(), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered {
		t.Fatalf("%+v %v", r, err)
	}
	var steps []string
	for _, c := range r.Commits {
		steps = append(steps, c.Step)
	}
	if !slices.Equal(steps, []string{"new", "1"}) || len(y.prompts("BMAD implementation", "walrus")) == 0 || len(y.prompts("BMAD implementation", "penguin")) == 0 {
		t.Errorf("%q", steps)
	}
}

func TestPlansThatCannotBeCarriedOutAreRefused(t *testing.T) {
	for text, complaint := range map[string]string{
		"steps: []\n":                          "no steps",
		"steps:\n- {id: a, depends_on: [b]}\n": "no such step",
		"steps:\n- {id: a, depends_on: [b]}\n- {id: b, depends_on: [a]}\n": "wait for each other",
		"steps:\n- {id: a}\n- {id: a}\n":                                   "two steps",
		"steps:\n- {id: a, status: almost}\n":                              "none of todo",
		"steps:\n- {id: a, colour: red}\n":                                 "colour",
	} {
		if _, err := pipeline.ReadPlan([]byte(text)); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A mistake in a plan is told with its own line, and with what to do about it.
func TestMistakesInPlansAreToldWithTheirLine(t *testing.T) {
	const begin = "# The plan of a delivery.\nsteps:\n    - id: \"1\"\n      title: First\n" // four lines
	for text, complaint := range map[string]string{
		begin + "\t  goal: x\n":                                      "line 5: \"\\t  goal: x\" cannot be read. Indent it with spaces",
		begin + "      goal: Do it: now\n      files: [a]\n":         "line 5: \"      goal: Do it: now\" cannot be read. A text with a colon in it needs quotes",
		begin + "     goal: x\n    - id: \"2\"\n":                    "line 5: \"     goal: x\" cannot be read. Indent it as far",
		begin + "        goal: x\n":                                  "line 5: \"        goal: x\" cannot be read. Indent it as far",
		begin + "      goal: \"x\n      status: todo\n":              "line 5: \"      goal: \\\"x\" cannot be read. A quote is opened",
		begin + "      files: [a, b\n      status: todo\n":           "line 5: \"      files: [a, b\" cannot be read. A bracket is opened",
		begin + "      goal: *all* of it\n":                          "line 5: \"      goal: *all* of it\" cannot be read. A text that begins with such a sign",
		begin + "      goal: `x`\n":                                  "line 5: \"      goal: `x`\" cannot be read. A text that begins",
		begin + "    -id: \"2\"\n":                                   "line 5: \"    -id: \\\"2\\\"\" cannot be read. After the dash",
		begin + "      goal: |\n        one\n     two\n":             "line 7: \"     two\" cannot be read. Indent it as far",
		begin + "      titel: x\n":                                   "line 5: there is no field \"titel\"; a step has id, title",
		begin + "      files: a.go\n":                                "line 5: a list is wanted, and \"a.go\" is none: write it in brackets",
		begin + "      rounds: many\n":                               "line 5: a number is wanted, and \"many\" is none",
		begin + "      title: Second\n":                              "line 5: mapping key \"title\" already defined at line 4",
		"- id: \"1\"\n  title: First\n":                              "line 1: a plan begins with the line 'steps:'",
		"steps:\n- Do it\n":                                          "line 2: each step begins with a dash and has fields",
		begin + "    - id: \"2\"\n      depends_on: [\"7\"]\n":       "line 5: step 2 depends on \"7\", and there is no such step",
		begin + "    - id: \"1\"\n      title: Second\n":             "line 5: there are two steps with the id \"1\"",
		begin + "---\nsteps:\n- id: a\n":                             "line 5: the plan ends at '---'",
		"":                                                           "it has no steps",
		strings.ReplaceAll(begin+"      goal: a: b\n", "\n", "\r\n"): "line 5: \"      goal: a: b\" cannot be read. A text with a colon",
	} {
		if _, err := pipeline.ReadPlan([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "plan: "+complaint) {
			t.Errorf("%q\n%v\nwant: %s", text, err, complaint)
		}
	}
}

// Planning that gives no steps is asked again; a plan in any of the usual forms is read.
func TestStepsAreRecognisedInAllForms(t *testing.T) {
	for name, document := range map[string]string{
		"headings": "# Plan\n\n## Step 1: First\n\na\n\n## Step 2: Second\n\nb\n", "tasks": "### Task 1 - First\n\na\n\n### Task 2 - Second\n\nb\n",
		"numbers": "## 1. First\n\na\n\n## 2. Second\n\nb\n", "a list": "1. First\n2. Second\n", "boxes": "- [ ] First\n- [ ] Second\n", "bold": "**Step 1: First**\na\n**Step 2: Second**\nb\n",
		"plain": "Step 1: First\na\nStep 2: Second\nb\n",
	} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			y.with("planning", func(string, string, int) string {
				out := output("planning")
				out["artifacts"].([]object)[0]["content"] = document
				return encode(out)
			})
			r := y.mustRun(pipeline.OutcomeDelivered)
			if len(r.Commits) != 2 || !strings.Contains(r.Commits[0].Title, "First") {
				t.Errorf("%+v", r.Commits)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		y := shellYard(t)
		y.with("planning", func(string, string, int) string {
			out := output("planning")
			out["artifacts"].([]object)[0]["content"] = "We will see.\n"
			return encode(out)
		})
		_, end, err := y.run(nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := pipeline.ReportOf(y.events()); r != nil && r.Outcome != pipeline.OutcomeFailed {
			t.Errorf("%+v %+v", r, end)
		}
		if len(y.prompts("BMAD planning", "outputs.steps")) == 0 || len(y.prompts("BMAD implementation")) != 0 {
			t.Error("a plan of nothing was carried out, or not asked for again")
		}
	})
}

func TestGatesShowTheDiff(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveDiff
	_, end, err := y.run(nil)
	if err != nil || end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "+++ b/step1.ok") || !strings.Contains(end.Output.Summary, "test ✓") {
		t.Fatalf("%+v %v", end, err)
	}
	if r, _, err := y.say("stop"); err != nil || r.Outcome != pipeline.OutcomePartial {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestWithoutARepositoryOneIsMade(t *testing.T) {
	y := shellYard(t)
	dir := filepath.Join(t.TempDir(), "delivery", "<date>-<feature>-<id>")
	y.config.Repository.Dir, y.config.Repository.Create, y.config.Repository.Checks = dir, true, nil
	y.config.Repository.Unchecked = true
	y.mustRun(pipeline.OutcomeDelivered)
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "step2.ok"))
	if len(found) != 1 {
		t.Errorf("the files are not there: %q", found)
	}
}

// What is built in a new repository is checked with what its own tool chain has, not with
// what the agent spells out.
func TestWhatIsBuiltInANewRepositoryIsChecked(t *testing.T) {
	y := shellYard(t)
	y.config.Repository.Dir, y.config.Repository.Create, y.config.Repository.Checks = filepath.Join(t.TempDir(), "new"), true, nil
	y.with("implementation", func(step, prompt string, n int) string {
		body := "require('node:test')('adds', () => require('node:assert').equal(1 + 1, %s));\n"
		if n == 0 && step == "1" {
			return built(fileOf("package.json", `{"scripts":{"test":"exit 0"}}`), fileOf("1.test.js", fmt.Sprintf(body, "3")))
		}
		if step == "2" {
			return built(fileOf("2.test.js", fmt.Sprintf(body, "2")))
		}
		return built(edited(step+".test.js", "3", "2"))
	})
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	r := y.mustRun(pipeline.OutcomeDelivered)
	if len(r.Checks) != 1 || !r.Checks[0].OK || r.Checks[0].Tests != 2 || len(y.prompts("BMAD implementation", "YOUR LAST ANSWER", "not ok")) == 0 {
		t.Errorf("%+v", r.Checks)
	}
}

func TestTwoDeliveriesAtOnce(t *testing.T) {
	y := shellYard(t)
	a := y.mustRun(pipeline.OutcomeDelivered)
	b := y.mustRun(pipeline.OutcomeDelivered)
	if a.Branch == b.Branch || y.sh("git rev-parse "+a.Branch) == y.sh("git rev-parse "+b.Branch) {
		t.Errorf("%s %s", a.Branch, b.Branch)
	}
}
