package pipeline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/git"
)

func TestAnAnswerAtAGateIsReadByWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		kind   string
		rounds int
		said   troupe.Answer
		want   gateResult
	}{
		{"", 3, troupe.Answer{Text: " Go on! "}, gateResult{Decision: decisionGoOn}},
		{"", 3, troupe.Answer{Text: "approved"}, gateResult{Decision: decisionGoOn}},
		{"", 3, troupe.Answer{Text: "\"Stop.\""}, gateResult{Decision: decisionStop}},
		{"", 3, troupe.Answer{Text: "no"}, gateResult{Decision: decisionStop}},
		{"", 1, troupe.Answer{Text: " use Rust "}, gateResult{Decision: decisionAgain, Guidance: "use Rust"}},
		{"", 0, troupe.Answer{Text: "use Rust"}, gateResult{Decision: decisionStop}},
		{"", 0, troupe.Answer{Text: "yes"}, gateResult{Decision: decisionGoOn}},
		{"", 3, troupe.Answer{Approved: true}, gateResult{Decision: decisionGoOn}},
		{"", 3, troupe.Answer{Approved: true, Text: "use Rust"}, gateResult{Decision: decisionGoOn}},
		{"", 3, troupe.Answer{Denied: true}, gateResult{Decision: decisionStop}},
		{"", 3, troupe.Answer{Denied: true, Text: "use Rust"}, gateResult{Decision: decisionAgain, Guidance: "use Rust"}},
		{"", 3, troupe.Answer{Text: "skip"}, gateResult{Decision: decisionAgain, Guidance: "skip"}},
		{gateEnvironment, 0, troupe.Answer{Text: "it is fixed"}, gateResult{Decision: decisionAgain, Guidance: "it is fixed"}},
		{gateEnvironment, 0, troupe.Answer{Text: "quit"}, gateResult{Decision: decisionStop}},
		{gateDependencies, 3, troupe.Answer{Text: "No"}, gateResult{Decision: decisionWithout}},
		{gateDependencies, 3, troupe.Answer{Text: "without"}, gateResult{Decision: decisionWithout}},
		{gateDependencies, 3, troupe.Answer{Denied: true}, gateResult{Decision: decisionWithout}},
		{gateDependencies, 3, troupe.Answer{Denied: true, Text: "another one"}, gateResult{Decision: decisionAgain, Guidance: "another one"}},
		{gateDependencies, 3, troupe.Answer{Text: "stop"}, gateResult{Decision: decisionStop}},
		{gateDependencies, 3, troupe.Answer{Text: "go on"}, gateResult{Decision: decisionGoOn}},
	} {
		if got := (&gateRequest{Kind: c.kind, Rounds: c.rounds}).decide(c.said); got != c.want {
			t.Errorf("%q with %d rounds, %+v: got %+v", c.kind, c.rounds, c.said, got)
		}
	}
}

func TestAGateSaysWhyItAsks(t *testing.T) {
	for _, c := range []struct {
		request gateRequest
		want    string
	}{
		{gateRequest{Question: "Well?", Phase: "qa"}, "Well?"},
		{gateRequest{Phase: "planning", Next: "implementation", Status: "success", Ready: true, Rounds: 1},
			"Planning is done and waits for approval.\n\nAnswer \"go on\" to go on with implementation, \"stop\" to end here, or say what planning should do differently; it is then run once more."},
		{gateRequest{Phase: "qa", Status: "partial", Ready: true, Blockers: []string{"one", "two"}},
			"Checking is not ready for what comes next.\n\nAgainst going on:\n- one\n- two\n\nAnswer \"go on\" to finish; anything else ends the delivery here."},
		{gateRequest{Phase: "qa", Status: "failed", Ready: true, Errors: []string{"it broke"}, Said: "What\nnow?"},
			"Checking failed.\n\nWhat went wrong:\n- it broke\n\nIt said:\n> What\n> now?\n\nAnswer \"go on\" to finish; anything else ends the delivery here."},
		{gateRequest{Phase: "qa", Status: "success", Requirements: []string{"a key"}, Artifacts: []Saved{
			{Path: "a.md", Change: "changed", Size: 7, State: StateSaved, Diff: "+x\n"}, {Path: "b.md", State: StateFailed, Error: "no room"}}},
			"Checking is not ready for what comes next.\n\nRequired first:\n- a key\n\nDocuments:\n- a.md (changed, 7 bytes)\n- b.md could not be kept: no room\n\n```diff\n+x\n```\n\nAnswer \"go on\" to finish; anything else ends the delivery here."},
		{gateRequest{Phase: "planning", Next: "implementation", Status: "failed", Lacking: "there is no plan", Errors: []string{"there is no plan"}, Rounds: 1},
			"Planning failed.\n\nWhat went wrong:\n- there is no plan\n\nAnswer \"stop\" to end here, or say what planning should do differently; it is then run once more."},
		{gateRequest{Phase: "planning", Next: "implementation", Status: "failed", Lacking: "there is no plan", Errors: []string{"there is no plan"}},
			"Planning failed.\n\nWhat went wrong:\n- there is no plan\n\nAnswer \"stop\": the delivery ends here."},
	} {
		if got := c.request.question(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAPhaseIsCalledWhatPeopleCallIt(t *testing.T) {
	for name, want := range map[string]string{"qa": "Checking", "planning": "Planning", "legal-check": "Legal check", "überblick": "Überblick"} {
		if got := phaseTitle(name); got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestAPlanIsAskedAboutWithItsSteps(t *testing.T) {
	plan := &Plan{Steps: []PlanStep{
		{ID: "1", Title: "First", Goal: "First"},
		{ID: "2", Title: "Second", Goal: " Two\nlines ", Files: []string{"a.go", "b.go"}},
	}}
	want := "The plan has 2 steps:\n\n1. First\n\n2. Second\n   Two\n   lines\n   files: a.go, b.go\n\n" +
		"Answer \"go on\" to carry it out, \"stop\" to end here, or say what should be different. 'troupe deliveries plan abc --edit' changes it before you do."
	if got := planQuestion(plan, "abc", 1, nil); got != want {
		t.Errorf("got %q", got)
	}
	if got := planQuestion(&Plan{Steps: plan.Steps[:1]}, "abc", 0, []string{"a.go is not there"}); !strings.HasPrefix(got, "The plan has 1 step:\n") || !strings.Contains(got, "\"stop\" to end here; anything else ends it, too.") || !strings.Contains(got, "\nTo be aware of:\n- a.go is not there\n") {
		t.Errorf("got %q", got)
	}
}

func TestFilesAndLinesAreCounted(t *testing.T) {
	for want, files := range map[string][]git.Stat{
		"0 files +0 −0": nil,
		"1 file +3 −2":  {{Path: "a", Added: 3, Removed: 2}},
		"2 files +8 −3": {{Path: "a", Added: 3, Removed: 2}, {Path: "b", Added: 5, Removed: 1}},
	} {
		if got := statLine(files); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What a person wants changed is a step of its own, with a name that is free.
func TestAWishIsAStep(t *testing.T) {
	plan := &Plan{Steps: []PlanStep{{ID: "1"}, {ID: "wish-1"}}}
	got := plan.wish("Name it: better.\nAnd more.", []string{"a.go"})
	if got.ID != "wish-2" || got.Title != "Name it  better." || !strings.HasSuffix(got.Goal, "says: Name it: better.\nAnd more.") || len(got.Files) != 1 || got.Status != StepTodo {
		t.Errorf("got %+v", got)
	}
	if got := (&Plan{}).wish(strings.Repeat("long ", 40), nil); got.ID != "wish-1" || len(got.Title) > 70+len("…") {
		t.Errorf("got %+v", got)
	}
}

func TestTheQuestionAboutDependenciesSaysWhetherScriptsRun(t *testing.T) {
	for scripts, want := range map[bool]string{false: "no install scripts are run", true: "install scripts are run (pipeline.setup_scripts)"} {
		b := &builder{work: &work{delivery: &delivery{Config: Config{Repository: &Repository{Setup: []string{"npm ci", "make"}, SetupScripts: scripts}}}}, step: PlanStep{ID: "3", Title: "Third"}}
		got := b.dependencyQuestion(&dependencyChange{Paths: []string{"package.json", "package-lock.json"}, Diff: "+left-pad"})
		for _, part := range []string{"“Third” changes what the project depends on: package.json, package-lock.json.", "+left-pad", "(npm ci; make)", want} {
			if !strings.Contains(got, part) {
				t.Errorf("%q is not in %q", part, got)
			}
		}
	}
}

// What a phase answered is in the question: who decides in a terminal, or over MCP and A2A,
// has nothing else.
func TestAGateSaysWhatIsJudged(t *testing.T) {
	for phase, c := range map[string]struct{ outputs, want string }{
		"requirements": {`{"user_stories": ["As Zoë I add todos", {"id": "US-2", "as": "Ada", "i_want": "a list", "so_that": "I see all"}], "acceptance_criteria": [{"id": "AC1", "text": "it is shown"}]}`,
			"\nUser stories:\n- As Zoë I add todos\n- US-2: As Ada I want a list, so that I see all\n\nAcceptance criteria:\n- AC1: it is shown\n"},
		"architecture": {`{"decisions": [{"decision": "Go", "rationale": "small"}]}`, "\nDecisions:\n- Go: small\n"},
		"planning":     {`{"steps": [{"id": "1", "title": "Median", "goal": "Add it."}]}`, "\nSteps:\n- 1: Median: Add it.\n"},
		"qa": {`{"verdict": "changes_required", "criteria": [{"id": "AC1", "state": "not_met", "evidence": "a.go"}], "findings": [{"id": "F1", "severity": "major", "path": "a.go", "line": 3, "problem": "NaN is taken", "fix": "Refuse NaN"}]}`,
			"\nVerdict:\n- changes are required\n\nAcceptance criteria:\n- AC1: not met, a.go\n\nFindings:\n- Should be put right, in a.go, line 3: NaN is taken\n  What to do: Refuse NaN\n"},
		"legal": {`{"law_texts": ["one", "two"]}`, "\nLaw texts:\n- one\n- two\n"},
	} {
		r := Result{Phase: phase, Status: "success", Outputs: json.RawMessage(c.outputs), Warnings: []string{"file_missing: a.go is not there", "json_repaired: a comma"}}
		g := gateRequest{Phase: phase, Status: "success", Ready: true, Subject: r.subject(), Warnings: toldOf(r.Warnings)}
		if got := g.question(); !strings.Contains(got, c.want) || !strings.Contains(got, "\nTo be aware of:\n- a.go is not there\n") || strings.Contains(got, "comma") {
			t.Errorf("%s: got %s", phase, got)
		}
	}
}
