package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Whatever models do, the program ends, in time, and calls success only what was measured.
func TestDeliveriesWithModelsOfAllKinds(t *testing.T) {
	for name, c := range map[string]struct {
		play    func(phase, step, prompt string, n int) string
		code    int
		outcome string
		most    int    // requests
		says    string // a reason or a claim
	}{
		"good": {goodWork, 0, "delivered", 7, ""},
		"bad edits, then good ones": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" && step == "1" && n == 0 {
				return builtFiles(fields{"name": "base.ok", "path": "base.ok", "type": "edit", "edits": []fields{{"search": "nothing like it", "replace": "x"}}})
			}
			if phase == "implementation" && step == "1" && n == 1 {
				return builtFiles(aFile("step1.ok", "bad\n"))
			}
			return goodWork(phase, step, prompt, n)
		}, 0, "delivered", 9, ""},
		"never right": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" {
				return builtFiles(aFile("step1.ok", strings.Repeat("bad ", n+1)+"\n"))
			}
			return goodWork(phase, step, prompt, n)
		}, 1, "failed", 14, "“First” failed"},
		"cut at first": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" && n < 4 {
				return "CUT " + builtFiles(aFile("step"+step+".ok", "good\n"))[:60]
			}
			return goodWork(phase, step, prompt, n)
		}, 0, "delivered", 20, ""},
		"cut, and begun anew": {func(phase, step, prompt string, n int) string {
			if whole := goodWork(phase, step, prompt, n); phase != "implementation" || n > 0 {
				return whole
			}
			return "CUT " + builtFiles(aFile("step"+step+".ok", "good\n"))[:200]
		}, 0, "delivered", 9, ""},
		"a builder that asks": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" {
				return "Before I begin: how good is good?"
			}
			return goodWork(phase, step, prompt, n)
		}, 1, "failed", 16, "how good is good?"},
		"criteria without a list": {func(phase, step, prompt string, n int) string {
			if phase == "requirements" {
				return says(phase, fields{"user_stories": "As a user I want it", "acceptance_criteria": "It is good", "scope": "MVP", "constraints": "none"})
			}
			return goodWork(phase, step, prompt, n)
		}, 0, "delivered", 8, ""},
		"cut always": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" {
				return "CUT " + builtFiles(aFile("step"+step+".ok", "good\n"))[:60]
			}
			return goodWork(phase, step, prompt, n)
		}, 1, "failed", 40, "cut off"},
		"a builder that says it tested": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" {
				return strings.Replace(builtFiles(aFile("step1.ok", "bad\n")), "Did it.", "All tests pass.", 1)
			}
			return goodWork(phase, step, prompt, n)
		}, 1, "failed", 14, "“First” failed"},
		"a builder that only looks": {func(phase, step, prompt string, n int) string {
			if phase == "implementation" {
				return fmt.Sprintf(`CALL search_code {"pattern": "nothing %d"}`, n)
			}
			return goodWork(phase, step, prompt, n)
		}, 1, "failed", 110, "gave no answer"},
		"markdown and plain text": {func(phase, step, prompt string, n int) string {
			switch phase {
			case "requirements":
				return "# User Stories\n\n- As a user I want it\n\n## Acceptance Criteria\n\n- It is good\n\n## Scope\n\nMVP\n"
			case "planning":
				return "# Implementation Plan\n\n## Step 1: First\n\nDo it.\n\n## Step 2: Second\n\nDo that.\n"
			}
			return goodWork(phase, step, prompt, n)
		}, 0, "delivered", 11, ""},
		"a review that never accepts": {func(phase, step, prompt string, n int) string {
			if phase == "qa" {
				return reviewed("changes_required", fields{"id": "F1", "severity": "blocker", "path": "base.ok", "problem": "too few files, says review " + strings.Repeat("I", n+1)})
			}
			return goodWork(phase, step, prompt, n)
		}, 1, "partial", 14, "F1 must be put right"},
		"evidence that is not there": {func(phase, step, prompt string, n int) string {
			if phase == "qa" {
				return strings.Replace(reviewed("accept"), "base.ok:1", "made_up_test.go:7", 1)
			}
			return goodWork(phase, step, prompt, n)
		}, 0, "delivered", 7, "is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgency(t)
			a.plays(c.play)
			dir := a.newRepository(t)
			before := inRepository(t, dir, "git rev-parse HEAD main; git status --porcelain; sha256sum .git/index *.*")
			r, code := a.deliver(t, dir, "deliver", "Make it good")
			if code != c.code || r.Outcome != c.outcome || r.Success != (c.code == 0) {
				t.Errorf("exit %d, %s, success %t, because %q", code, r.Outcome, r.Success, r.Reasons)
			}
			if a.requests() > c.most {
				t.Errorf("%d requests, at most %d", a.requests(), c.most)
			}
			if all := strings.Join(append(r.Reasons, r.Claims...), "\n"); !strings.Contains(all, c.says) {
				t.Errorf("nothing says %q: %s", c.says, all)
			}
			if after := inRepository(t, dir, "git rev-parse HEAD main; git status --porcelain; sha256sum .git/index *.*"); after != before {
				t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
			}
			if c.outcome == "failed" && inRepository(t, dir, "git log --format=%s main.."+r.Branch+" | grep -vc ^docs: || true") != "0\n" {
				t.Error("a branch claims more than was reached")
			}
		})
	}
}

// Agents of one's own are asked for JSON by schema, too.
func TestAgentsOfOnesOwnAreBoundToTheSchema(t *testing.T) {
	a := newAgency(t)
	dir := a.repositoryOf(t, "  phases: [{name: requirements, agent: pm}]\nagents:\n  pm: {instructions: You are a product owner who writes short stories.}\n", map[string]string{"base.ok": "good\n"})
	p := start(t, dir, a.environment(dir), nil, "deliver", "Make it good")
	if code := p.code(); code != 0 || a.formats["requirements"] != "json_schema" {
		t.Errorf("exit %d, and JSON was asked for as %q:\n%s%s", code, a.formats, &p.out, &p.err)
	}
}

// Two deliveries at the same time, in one repository and one data directory.
func TestTwoDeliveriesAtTheSameTime(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	var reports [2]deliveryReport
	var both sync.WaitGroup
	// Neither comes to its first step before the other has got there.
	met := make(chan struct{}, 2)
	var meeting sync.Once
	together := make(chan struct{})
	a.plays(func(phase, step, prompt string, n int) string {
		if phase == "implementation" && step == "1" {
			met <- struct{}{}
			if len(met) == 2 {
				meeting.Do(func() { close(together) })
			}
			<-together
		}
		return goodWork(phase, step, prompt, n)
	})
	for i, request := range []string{"Make it good", "Make it better"} {
		both.Go(func() {
			var code int
			if reports[i], code = a.deliver(t, dir, "deliver", request); code != 0 {
				t.Errorf("%s: exit %d, %q", request, code, reports[i].Reasons)
			}
		})
	}
	both.Wait()
	if reports[0].Branch == reports[1].Branch || reports[0].Branch == "" {
		t.Fatalf("branches %q and %q", reports[0].Branch, reports[1].Branch)
	}
	for _, r := range reports {
		if got := inRepository(t, dir, "git log --format=%s main.."+r.Branch+" -- '*.ok'"); got != "Second\nFirst\n" {
			t.Errorf("%s has %q", r.Branch, got)
		}
	}
	p := start(t, dir, a.environment(dir), nil, "deliveries", "list")
	if p.code() != 0 || strings.Count(p.out.String(), "delivered") != 2 {
		t.Errorf("the list is %s%s", &p.out, &p.err)
	}
}

// A document or a plan that a person has edited is what is used from then on.
func TestWhatWasEditedByHandIsUsed(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	start(t, dir, a.environment(dir), nil, "deliver", "--approve", "plan", "Make it good").code()
	stories, err := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "documents", "specs", "user-stories", "*.md"))
	if err != nil || len(stories) != 1 {
		t.Fatalf("the stories are %q: %v", stories, err)
	}
	if a.holds("BMAD planning", "zebra") == 0 {
		t.Error("planning does not see the stories")
	}
	if err := os.WriteFile(stories[0], []byte("# Stories\n\nThey speak of a walrus.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	session := filepath.Base(strings.Split(stories[0], "/documents/")[0])
	// Planning once more: it sees the edited stories, and nothing before it is run again.
	p := start(t, dir, a.environment(dir), nil, "deliveries", "resume", session[:8], "--from", "planning")
	if code := p.code(); code != 4 {
		t.Fatalf("exit %d\n%s%s", code, &p.out, &p.err)
	}
	if a.holds("BMAD planning", "walrus") == 0 || a.holds("BMAD requirements") != 1 {
		t.Errorf("planning sees the walrus %d times; requirements were asked %d times", a.holds("BMAD planning", "walrus"), a.holds("BMAD requirements"))
	}
	plan := filepath.Join(dir, "data", "deliveries", session, "plan.yaml")
	data, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plan, []byte(strings.Replace(string(data), "Second.", "Mind the penguin.", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	r, code := a.deliver(t, dir, "deliveries", "resume", session[:8], "-m", "go on")
	if code != 0 || a.holds("BMAD implementation", "penguin") == 0 || a.holds("BMAD implementation", "walrus") == 0 {
		t.Errorf("exit %d, %q", code, r.Reasons)
	}
	if got := inRepository(t, dir, "git show "+r.Branch+":specs/user-stories/"+filepath.Base(stories[0])); !strings.Contains(got, "walrus") {
		t.Errorf("the branch has other stories: %s", got)
	}
}

// A mistake in a plan is told by its line, the draft is opened again, and a plan that was
// broken in its file stops the delivery until it is mended.
func TestAMistakeInAPlanIsMended(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	start(t, dir, a.environment(dir), nil, "deliver", "--approve", "plan", "Make it good").code()
	plans, err := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "plan.yaml"))
	if err != nil || len(plans) != 1 {
		t.Fatalf("the plans are %q: %v", plans, err)
	}
	id := filepath.Base(filepath.Dir(plans[0]))[:8]
	before, err := os.ReadFile(plans[0])
	if err != nil {
		t.Fatal(err)
	}
	edits := func(sed string) (int, string) {
		p := start(t, dir, append(a.environment(dir), "EDITOR=sed -i '"+sed+"'"), nil, "deliveries", "plan", id, "--edit")
		return p.code(), p.out.String() + p.err.String()
	}
	line := strings.Count(strings.Split(string(before), "title: Second")[0], "\n") + 1
	if code, said := edits("s/title: Second/title: Second: more/"); code != 1 || !strings.Contains(said, fmt.Sprintf("line %d: ", line)) || !strings.Contains(said, "needs quotes") {
		t.Errorf("exit %d: %s", code, said)
	}
	if now, _ := os.ReadFile(plans[0]); string(now) != string(before) {
		t.Errorf("a broken draft has become the plan:\n%s", now)
	}
	if code, said := edits("s/Second: more/Second, and more/"); code != 0 || !strings.Contains(said, "changed: 2 Second, and more") {
		t.Errorf("exit %d: %s", code, said)
	}
	good, err := os.ReadFile(plans[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plans[0], []byte(strings.Replace(string(good), "      title: Second", "\ttitle: Second", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, a.environment(dir), nil, "deliveries", "resume", id, "-m", "go on")
	if code := p.code(); code == 0 || !strings.Contains(p.out.String()+p.err.String(), "with spaces, not with a tab") {
		t.Errorf("with a broken plan: exit %d\n%s%s", code, &p.out, &p.err)
	}
	if err := os.WriteFile(plans[0], good, 0o644); err != nil {
		t.Fatal(err)
	}
	if r, code := a.deliver(t, dir, "deliveries", "resume", id); code != 0 || a.holds("BMAD implementation", "Second, and more") == 0 {
		t.Errorf("mended: exit %d, %q", code, r.Reasons)
	}
}

// The checks that were found are written to troupe.yaml, whose comments stay.
func TestChecksAreSaved(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	yaml := "# ours\nmodel: local/m\nproviders: {local: {base_url: \"" + a.URL + "/v1\", key_env: CANARY}}\npipeline:\n  rounds: 3 # enough\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	inRepository(t, dir, `printf 'check:\n\tsh check.sh\n' > Makefile && git add -A && git commit -qm make`)
	p := start(t, dir, a.environment(dir), nil, "deliver", "--save-checks", "Make it good")
	if code := p.code(); code != 0 || !strings.Contains(p.err.String(), "The checks are in troupe.yaml now.") {
		t.Fatalf("exit %d\n%s%s", code, &p.out, &p.err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "troupe.yaml"))
	if err != nil || !strings.Contains(string(got), "# ours") || !strings.Contains(string(got), "# enough") || !strings.Contains(string(got), `checks: [{name: check, run: "make check"}]`) {
		t.Errorf("%s %v", got, err)
	}
	p = start(t, dir, a.environment(dir), nil, "deliver", "--save-checks", "Make it good")
	if code := p.code(); code != 0 || !strings.Contains(p.err.String(), "not saved: they are configured already") {
		t.Errorf("exit %d\n%s%s", code, &p.out, &p.err)
	}
}

// What a delivery costs is counted, and it stops where the money ends: with the next answer
// that was under way, nothing more.
func TestADeliveryKeepsToItsMoney(t *testing.T) {
	a := newAgency(t)
	dir := a.repositoryOf(t, "  cost: 0.01\n  checks: [{name: test, run: \"true\"}]\n", map[string]string{"base.ok": "good\n"})
	name := filepath.Join(dir, "troupe.yaml")
	yaml, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	priced := strings.Replace(string(yaml), "key_env: CANARY", "key_env: CANARY, models: {m: {price: {input: 5, output: 5}}}", 1)
	if err := os.WriteFile(name, []byte(priced), 0o644); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, a.environment(dir), nil, "--json", "deliver", "Make it good")
	code := p.code()
	var r struct {
		Success bool
		State   string
		Cost    float64
	}
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil || code == 0 || r.Success || r.Cost < 0.01 || a.requests() > 3 {
		t.Errorf("exit %d, %+v, %d requests, %v\n%s", code, r, a.requests(), err, &p.err)
	}
	if !strings.Contains(p.err.String(), "troupe deliveries resume") {
		t.Errorf("nobody is told how it goes on:\n%s", &p.err)
	}

	// It goes on as far again, or as far as is said.
	sites, err := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "delivery.json"))
	if err != nil || len(sites) != 1 {
		t.Fatal(sites, err)
	}
	id, asked := filepath.Base(filepath.Dir(sites[0]))[:8], a.requests()
	p = start(t, dir, a.environment(dir), nil, "deliveries", "resume", id)
	if code := p.code(); code == 0 || a.requests() <= asked || !strings.Contains(p.err.String(), "may cost another $0.01.") {
		t.Errorf("exit %d, %d requests\n%s", code, a.requests()-asked, &p.err)
	}
	p = start(t, dir, a.environment(dir), nil, "deliveries", "resume", id, "--budget", "5")
	if code := p.code(); code != 0 || !strings.Contains(p.err.String(), "may cost another $5.") {
		t.Errorf("exit %d\n%s\n%s", code, &p.out, &p.err)
	}
}

// The checks of the base run while the first phases think: here they end only once the
// second phase was asked.
func TestTheBaselineRunsBesideTheFirstPhases(t *testing.T) {
	a := newAgency(t)
	asked := filepath.Join(t.TempDir(), "asked")
	a.plays(func(phase, step, prompt string, n int) string {
		if phase == "architecture" {
			if err := os.WriteFile(asked, nil, 0o644); err != nil {
				t.Error(err)
			}
		}
		return goodWork(phase, step, prompt, n)
	})
	dir := a.repositoryOf(t, "  sandbox: off\n  checks: [{name: test, timeout: 5m, run: \"while [ ! -e '"+asked+"' ]; do sleep 0.05; done\"}]\n", map[string]string{"base.ok": "good\n"})
	if r, code := a.deliver(t, dir, "deliver", "Make it good"); code != 0 {
		t.Errorf("exit %d, because %q", code, r.Reasons)
	}
}
