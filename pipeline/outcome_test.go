package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestADeliveryOfDocumentsSucceedsOnlyAsAWhole(t *testing.T) {
	good := Result{Phase: "requirements", Status: "success", Artifacts: []Saved{{}, {}}}
	blocked := Result{Phase: "planning", Status: "success", NextPhase: NextPhase{Blockers: Items{TextItem("x")}}, Proposals: []Proposal{{}}}
	for name, c := range map[string]struct {
		done          []Result
		stopped       string
		status, lines string
	}{
		"all succeeded":       {[]Result{good}, "", "success", "requirements: success, 2 artifacts"},
		"one is partial":      {[]Result{{Phase: "a", Status: "partial"}, good}, "", "partial", "a: partial\nrequirements: success, 2 artifacts"},
		"the last is blocked": {[]Result{good, blocked}, "", "partial", "requirements: success, 2 artifacts\nplanning: success, 1 proposal"},
		"another one was":     {[]Result{blocked, good}, "", "success", "planning: success, 1 proposal\nrequirements: success, 2 artifacts"},
		"stopped by somebody": {[]Result{good}, "stopped by a person", "partial", "requirements: success, 2 artifacts\nstopped by a person"},
	} {
		got := (&delivery{}).outcome(troupe.Handoff{Task: "t"}, c.done, c.stopped)
		if got.Meta.Status != c.status || got.Summary != c.lines || got.Task != "t" {
			t.Errorf("%s: %s, %q", name, got.Meta.Status, got.Summary)
		}
	}
}

func TestAGateIsOpenOnlyForWhatIsReady(t *testing.T) {
	for _, c := range []struct {
		result Result
		want   bool
	}{
		{Result{Status: "success", NextPhase: NextPhase{Ready: true}}, true}, {Result{Status: "partial", NextPhase: NextPhase{Ready: true}}, true},
		{Result{Status: "failed", NextPhase: NextPhase{Ready: true}}, false}, {Result{Status: "success"}, false},
		{Result{Status: "success", NextPhase: NextPhase{Ready: true, Blockers: Items{TextItem("x")}}}, false},
	} {
		if got := c.result.opens(); got != c.want {
			t.Errorf("%+v: got %t", c.result, got)
		}
	}
}

func TestAPhaseIsPartialWhereAnArtifactFailed(t *testing.T) {
	for _, c := range []struct {
		status Status
		state  string
		want   string
	}{
		{"success", StateSaved, "success"}, {"success", StateFailed, "partial"}, {"failed", StateFailed, "failed"},
	} {
		w := &work{Result: Result{Phase: "qa", Status: c.status, JSON: LevelStrict, Artifacts: []Saved{{Path: "a.md", State: c.state}}, Errors: []string{"e"}}}
		out := w.handoff(troupe.Handoff{Task: "t"})
		if out.Meta.Status != c.want || out.Custom["status"] != c.want || out.Custom["phase"] != "qa" || out.Custom["json"] != "strict" || out.Custom["ledger"] != nil || out.Summary != "qa: "+c.want+"\n- "+c.state+" a.md\n- error: e" {
			t.Errorf("%+v: got %+v", c, out)
		}
	}
	w := &work{Result: Result{Steps: []StepRecord{{ID: "1"}}}}
	if w.handoff(troupe.Handoff{}).Custom["ledger"] == nil {
		t.Error("there is no ledger")
	}
}

func TestWhatAnAgentSaidIsShownWhereItIsNoOutput(t *testing.T) {
	r := Result{JSON: LevelRaw, Outputs: []byte(`{"text": " Which one? "}`)}
	if got := r.said(); got != "Which one?" {
		t.Errorf("got %q", got)
	}
	if r.JSON = LevelStrict; r.said() != "" {
		t.Errorf("got %q", r.said())
	}
	if r = (Result{JSON: LevelRaw, Outputs: []byte(`{"text": " {\"status\": 7}"}`)}); r.said() != "" {
		t.Errorf("data is shown as what it said: %q", r.said())
	}
	r = Result{JSON: LevelRaw, Outputs: []byte(`{"text": "` + strings.Repeat("x", 1600) + `"}`)}
	if got := r.said(); len(got) != 1500+len("…") {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestAPartOfThePhasesIsNamedByItsEnds(t *testing.T) {
	phases := Six()
	for _, c := range []struct {
		from, to    string
		first, last int
		problem     string
	}{
		{"", "", 0, 5, ""}, {"discovery", "", 2, 5, ""}, {"", "planning", 0, 3, ""}, {"qa", "qa", 5, 5, ""},
		{"nope", "", -1, 5, "there is no phase \"nope\" to begin with; there are requirements, architecture, discovery, planning, implementation, qa"},
		{"", "nope", 0, -1, "there is no phase \"nope\" to end with"}, {"qa", "planning", 5, 3, "phase planning comes before phase qa"},
	} {
		first, last, err := span(phases, c.from, c.to)
		if first != c.first || last != c.last || (err == nil) != (c.problem == "") || err != nil && !strings.HasPrefix(err.Error(), c.problem) {
			t.Errorf("%s to %s: %d, %d, %v", c.from, c.to, first, last, err)
		}
	}
	if _, _, err := span(nil, "", ""); err == nil || err.Error() != "it has no phases" {
		t.Error(err)
	}
}

func TestARepositoryIsCompleted(t *testing.T) {
	whole := Repository{Dir: "d", Data: "e", Worktrees: "w", Cache: "c"}
	r := whole
	if err := r.complete(); err != nil {
		t.Fatal(err)
	}
	if r.Branch != defaultBranch || r.Documents != "branch" || r.Edits != editsAuto || r.SetupAgain != SetupAsk || r.Version != "devel" || r.Rounds != 4 || r.QARounds != 3 || !strings.HasPrefix(r.Dir, "/") {
		t.Errorf("got %+v", r)
	}
	r = whole
	r.Rounds, r.QARounds, r.Checks = 1, -1, []Check{{Name: "a", Run: "x", When: "*.go", Timeout: 7}, {Name: "b", Run: "x"}}
	if err := r.complete(); err != nil || r.Rounds != 1 || r.QARounds != -1 {
		t.Errorf("%v, %+v", err, r)
	}
	if got := r.configured(); len(got) != 2 || got[0].Name != "a" || got[0].Shell != "x" || got[0].When != "*.go" || got[0].Timeout != 7 {
		t.Errorf("got %+v", got)
	}
	for want, change := range map[string]func(r *Repository){
		"it needs Dir":                       func(r *Repository) { r.Dir = "" },
		"it needs Cache":                     func(r *Repository) { r.Cache = "" },
		`documents: "x" is none of`:          func(r *Repository) { r.Documents = "x" },
		`edits: "x" is none of`:              func(r *Repository) { r.Edits = "x" },
		`setup_again: "x" is none of`:        func(r *Repository) { r.SetupAgain = "x" },
		"a check needs a name and a command": func(r *Repository) { r.Checks = []Check{{Name: "a"}} },
		"repository: a check needs a name":   func(r *Repository) { r.Checks = []Check{{Run: "a"}} },
		`there are two checks "a"`:           func(r *Repository) { r.Checks = []Check{{Name: "a", Run: "x"}, {Name: "a", Run: "y"}} },
	} {
		r := whole
		change(&r)
		if err := r.complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	r = whole
	r.Rounds = -1
	if err := r.complete(); err != nil || r.Rounds != 4 {
		t.Errorf("%v, %d", err, r.Rounds)
	}
}

func TestChecksThatDiscoveryProposes(t *testing.T) {
	var names []string
	for _, c := range proposedChecks([]byte(`{"checks": [{"name": "Unit Tests", "argv": ["go", "test"]}, {"name": "unit tests", "argv": ["x"]}, {"name": "empty"}, {"name": "blank", "argv": [""]},
		{"name": "c", "argv": ["x"]}, {"name": "d", "argv": ["x"]}, {"name": "e", "argv": ["x"]}, {"name": "f", "argv": ["x"]}, {"name": "g", "argv": ["x"]}, {"name": "h", "argv": ["x"]}, {"name": "i", "argv": ["x"]}, {"name": "j", "argv": ["x"]}]}`)) {
		names = append(names, c.Name)
	}
	if want := []string{"unit-tests", "c", "d", "e", "f", "g", "h", "i"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	if got := proposedChecks([]byte(`{"checks": "make"}`)); got != nil {
		t.Errorf("got %+v", got)
	}
}
