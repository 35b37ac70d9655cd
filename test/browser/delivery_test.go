package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

type fields = map[string]any

// phaseSays is an answer of a phase with outputs of its own.
func phaseSays(phase string, outputs fields, artifacts ...fields) string {
	if artifacts == nil {
		artifacts = []fields{}
	}
	data, err := json.Marshal(fields{
		"status": "success", "phase": phase, "artifacts": artifacts, "outputs": outputs, "validation": fields{"checks": []string{}, "passed": []string{}, "failed": []string{}},
		"next_phase": fields{"ready": true, "blockers": []string{}, "requirements": []string{}}, "errors": []string{},
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func fileArtifact(path, content string) fields {
	return fields{"name": "file", "path": path, "type": "file", "content": content}
}

// repository is a project in a git repository that checks itself with a line of shell.
func repository(t *testing.T, m *model) string {
	t.Helper()
	dir := project(t, map[string]string{
		"base.ok": "good\n", ".gitignore": "/data/\n/.cache/\n/.config/\n",
		"check.sh":    "for f in *.ok; do grep -qx good \"$f\" || { echo \"$f:1: not good\"; exit 1; }; done; echo \"# tests $(ls *.ok | wc -l)\"\n",
		"troupe.yaml": "model: stub/stub-1\nproviders: {stub: {base_url: " + m.URL + "/v1, models: {stub-1: {price: {input: 2, output: 8}}}}}\nlimits: {model_tries: 1}\nagents: {critic: {instructions: You are the critic of all work., tools: [], skills: false}}\npipeline:\n  checks: [{name: test, run: sh check.sh}]\n",
	})
	git(t, dir, "init -q -b main . && git add -A && git -c user.name=Ada -c user.email=ada@example.org commit -qm begin && git config user.name Ada && git config user.email ada@example.org")
	return dir
}

func git(t *testing.T, dir, command string) string {
	t.Helper()
	c := exec.Command("sh", "-c", "git "+command)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", command, err, out)
	}
	return string(out)
}

// chooses takes an option of a list.
func (b *tab) chooses(selector, value string) {
	b.t.Helper()
	b.holds(`(() => { const list = document.querySelector(%s); if (!list) return false; list.value = %s; list.dispatchEvent(new Event("change", {bubbles: true})); return list.value === %s })()`, selector, value, value)
}

// thinks plays the phases up to planning.
func (m *model) thinks(t *testing.T) {
	t.Helper()
	m.answers(t, phaseSays("requirements", fields{"user_stories": []string{"As a user I want it"}, "acceptance_criteria": []fields{{"id": "AC1", "text": "It is good", "how": "test"}}, "scope": "MVP", "constraints": []string{}}, fields{"name": "s.md", "type": "file", "content": "# Stories of ours\n"}))
	m.answers(t, phaseSays("architecture", fields{"components": []string{"a"}, "technologies": []string{"sh"}, "patterns": []string{}, "decisions": []string{}}, fields{"name": "a.md", "type": "file", "content": "# Design\n"}))
	m.answers(t, phaseSays("discovery", fields{"relevant_files": []fields{{"path": "base.ok", "relevance": "x", "priority": "high"}}, "gkchatty_context": []string{}, "entry_points": []string{}, "dependencies": []string{}}, fields{"name": "d.json", "type": "file", "content": "{}"}))
	m.answers(t, phaseSays("planning", fields{"total_steps": 2, "estimated_time": "1h", "complexity": "low", "risk_level": "low", "steps": []fields{{"id": "1", "title": "The first file", "goal": "Write it."}, {"id": "2", "title": "The second file", "goal": "Write that, too."}}}))
}

func (m *model) builds(t *testing.T, path, content string) {
	t.Helper()
	m.answers(t, phaseSays("implementation", fields{"summary": "Did it.", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}}, fileArtifact(path, content)))
}

// A delivery into a repository on the page: the plan is looked at and changed, the change
// is read step by step, checks show their output, and the branch is taken.
func TestADeliveryIntoARepository(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	dir := repository(t, m)
	before := git(t, dir, "rev-parse HEAD")
	git(t, dir, "show HEAD:base.ok > notes.md")
	b := open(t, serve(t, dir).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.chooses(`[aria-label="Where it stops for you"]`, "plan")
	b.write("#delivery-budget", "much")
	b.sees("form [role=alert]", "A budget is a number of dollars")
	b.write("#delivery-budget", "$7,50")
	b.lacks("form [role=alert]", "A budget")
	b.write("#delivery-project", "../elsewhere")
	b.click("form button", "Deliver")
	b.sees("form [role=alert]", "is not a directory of this project")
	b.write("#delivery-project", ".")
	b.chooses("#phase-qa", "critic")
	b.do(chromedp.Reload()) // what was written and chosen is kept until it is sent
	b.holds("find('#delivery-budget')?.value === '$7,50' && find('#delivery-project').value === '.' && find('#request').value === 'Make it good'")
	b.holds("document.getElementById('phase-qa').value === 'critic' && find('#delivery-stops').value === 'plan'")
	b.picture("delivery-new")
	b.click("form button", "Deliver")
	b.sees(".bar", "of $7.5")
	m.thinks(t)
	b.sees("[aria-label=Gate]", "The plan is ready.")
	b.sees("[aria-label=Plan] .plan", "The second file")
	b.sees("[aria-label=Checks]", "before the change")
	b.sees("[aria-label=Documents]", "Plan")
	b.sees("aside", "1 file that was changed and not committed is not in it.")
	b.sees("[aria-label=Gate] .steps-asked", "Write that, too.") // what is asked about is there
	b.picture("delivery-plan")

	b.click("[aria-label=Plan] button", "Change the plan")
	b.write(`[aria-label="Title of step 1"]`, "My first file")
	b.write(`[aria-label="Title of step 2"]`, "Another file")
	b.do(chromedp.Reload())
	b.holds(`find('[aria-label="Title of step 2"]')?.value === 'Another file'`)
	elsewhere := b.beside(value[string](b, "location.href"))
	elsewhere.click("[aria-label=Plan] button", "Change the plan")
	elsewhere.write(`[aria-label="Goal of step 1"]`, "Write it well.")
	elsewhere.write(`[aria-label="Title of step 1"]`, "Their first file")
	elsewhere.write(`[aria-label="Title of step 2"]`, "Their file")
	elsewhere.click("[aria-label='Change the plan'] button", "Save the plan")
	elsewhere.toasted("The plan is saved.")
	elsewhere.holds("document.activeElement.textContent === 'Change the plan'")
	elsewhere.close()
	b.holds(`find('[aria-label="Goal of step 1"]')?.value === 'Write it well.'`) // at once, where nobody writes here
	b.sees("[aria-label='Change the plan'] .met", "“The second file” became “Their file”.")
	b.picture("delivery-plan-clash")
	b.click("[aria-label='Change the plan'] .met .row button", "Take that") // the first of two
	b.holds(`document.activeElement === find('[aria-label="Title of step 1"]') && document.activeElement.value === 'Their first file'`)
	b.click("[aria-label=Gate] button", "Carry it out") // which would be the plan before that
	b.toasted("Your changes of the plan are not saved.")
	b.holds(`find('[aria-label="Title of step 2"]')?.value === 'Another file'`)
	b.click("[aria-label='Change the plan'] button", "Save the plan")
	b.toasted("The plan is saved, with your words where it was changed elsewhere, too.")
	b.sees("[aria-label=Plan] .plan", "Another file")
	b.sees("[aria-label=Gate] .steps-asked", "Write it well.")
	b.click("[aria-label=Gate] button", "Carry it out")
	b.lacks("[aria-label=Gate]", "")
	b.sees(".stepper [data-phase=implementation]", "working")

	m.builds(t, "one.ok", "bad\n")
	m.builds(t, "one.ok", "good\n")
	second := m.asked(t)
	if !strings.Contains(second.user, "Another file") {
		t.Error("the plan that was changed on the page is not what is carried out")
	}
	b.sees("[aria-label=Plan] [data-status=done]", "Their first file")
	b.sees("[aria-label=Plan] [data-status=done]", "one.ok") // which it has changed
	second.say(phaseSays("implementation", fields{"summary": "Did it.", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}}, fileArtifact("two.ok", "good\n")))
	second.end()
	qa := m.asked(t)
	if !strings.Contains(qa.all, "You are the critic of all work.") {
		t.Error("somebody else checks than was chosen")
	}
	qa.say(phaseSays("qa", fields{
		"tests_passed": true, "code_quality": "A", "security_issues": []string{}, "performance_concerns": []string{}, "recommendations": []string{}, "verdict": "accept",
		"criteria": []fields{{"id": "AC1", "state": "met", "evidence": "one.ok:1"}}, "findings": []fields{{"id": "F1", "severity": "minor", "path": "one.ok", "line": 1, "problem": "It could be better"}},
	}))
	qa.end()

	b.sees("[data-outcome=delivered]", "Delivered")
	b.sees("[aria-label=Review]", "It is good")
	b.sees("[aria-label=Review]", "It could be better")
	b.sees("[aria-label=Checks]", "the result, on a clean checkout")
	b.click(".checks .before summary", "1 round before that")
	b.sees(".check-run[data-ok=false]", "failed")
	b.click(".check-run[data-ok=false] button", "Output")
	b.sees(".check-run .term", "one.ok:1: not good")
	b.click("[aria-label='The change'] button", "Show it")
	b.sees(".change .diff .a", "+good")
	b.chooses(`[aria-label="Which step"]`, "2")
	b.lacks(".change .diff .f", "one.ok")
	b.sees(".change .diff .f", "two.ok, new")
	b.picture("delivery-delivered")
	b.click("[aria-label=Documents] button", "User stories")
	b.sees(".panel .prose", "Stories of ours")
	if git(t, dir, "rev-parse HEAD") != before {
		t.Error("the checkout was touched before anybody took the branch")
	}

	b.sees("[aria-label=Outcome]", "onto the branch that is checked out")
	b.click("[aria-label=Outcome] button", "Take it")
	b.sees("[aria-label=Outcome] .chip", "taken")
	b.sees("[aria-label='What happened']", "It was taken")
	b.sees("[aria-label=Outcome]", "in "+strings.TrimSpace(git(t, dir, "rev-list --count "+strings.TrimSpace(before)+"..HEAD"))+" commits")
	if got := git(t, dir, "show HEAD:two.ok"); got != "good\n" {
		t.Errorf("two.ok is %q", got)
	}
	for _, again := range []bool{true, false} {
		b.click("[aria-label=Outcome] button", "Take it back")
		b.sees("[aria-label=Outcome] .chip", "delivered")
		b.sees("[aria-label='What happened']", "It was taken back")
		if got := git(t, dir, "ls-tree --name-only HEAD"); strings.Contains(got, "two.ok") {
			t.Errorf("it was not taken back: %s", got)
		}
		if again {
			b.click("[aria-label=Outcome] button", "Take it")
			b.sees("[aria-label=Outcome] .chip", "taken")
			if got := git(t, dir, "show HEAD:two.ok"); got != "good\n" {
				t.Errorf("taken again, two.ok is %q", got)
			}
		}
	}

	b.write(`[aria-label="Guidance for going on"]`, "Speak of a walrus, too")
	b.click("[aria-label=Outcome] button", "Ask for changes")
	if wish := m.asked(t); !strings.Contains(wish.user, "Speak of a walrus, too") || !strings.Contains(wish.user, "wish-1") {
		t.Errorf("the builder is asked for\n%s", wish.user)
	}
	b.sees("[aria-label=Plan]", "Speak of a walrus, too")
}

// A delivery is deleted with its documents and worktrees. What nobody has taken stays on its
// branch, and the toast says so, without the names of folders that only Troupe knows.
func TestADeliveryIsDeletedOnThePage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := repository(t, m)
	b := open(t, serve(t, dir).link)
	deliver := func() {
		b.click(".side nav a", "Deliveries")
		b.write("#request", "Make it good")
		b.write("#delivery-budget", "3")
		b.click("form button", "Deliver")
	}
	remove := func(said string) {
		value[any](b, "void new MutationObserver(() => find('.toast button', 'Undo')?.focus()).observe(document.body, { childList: true, subtree: true })")
		b.click(".bar button", "More")
		b.click(".pop button", "Delete")
		b.sees(".toast", said)
		b.do(chromedp.Reload()) // a tab that is left does not wait
		b.lacks(".side .item", "Make it good")
	}
	left := func(branches int, files ...string) {
		t.Helper()
		eventually(t, func() error {
			var there []string
			paths, _ := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "*"))
			for _, path := range paths {
				there = append(there, filepath.Base(path))
			}
			trees, n := strings.Fields(git(t, dir, "worktree list")), len(strings.Fields(git(t, dir, "branch --list 'troupe/*'")))
			if !slices.Equal(there, files) || len(trees) != 3 || n != branches {
				return fmt.Errorf("left are %q, worktrees %q, and %d branches", there, trees, n)
			}
			return nil
		})
	}

	deliver()
	m.answers(t, phaseSays("requirements", fields{"user_stories": []string{"As a user I want it"}, "acceptance_criteria": []fields{{"id": "AC1", "text": "It is good", "how": "test"}}, "scope": "MVP", "constraints": []string{}}, fields{"name": "s.md", "type": "file", "content": "# Stories of ours\n"}))
	a := m.asked(t)
	b.sees("[aria-label=Documents]", "User stories")
	remove("“Make it good” stopped and deleted, with its file specs/user-stories/")
	a.isLeft()
	left(0)

	deliver()
	m.thinks(t)
	m.builds(t, "one.ok", "good\n")
	a = m.asked(t)
	b.sees("[aria-label=Plan] [data-status=done]", "one.ok")
	remove("files. The branch troupe/make-it-good-")
	a.isLeft()
	left(1, "delivery.json", "tree")
}

// A delivery that is at its limit asks nobody more: the page says which limit, and what goes on begins
// the phase for which there was no room.
func TestADeliveryAtItsLimitGoesOnFurther(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, repository(t, m)).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.write("#delivery-budget", "0.003")
	b.click("form button", "Deliver")
	m.answers(t, phaseSays("requirements", fields{"user_stories": []string{"As a user I want it"}, "acceptance_criteria": []fields{{"id": "AC1", "text": "It is good", "how": "test"}}, "scope": "MVP", "constraints": []string{}}, fields{"name": "s.md", "type": "file", "content": "# Stories of ours\n"}))
	b.sees(".trouble b", "The limit of $0.003 is reached")
	b.lacks("main", "troupe deliveries")
	b.picture("delivery-at-its-limit")
	b.click(".trouble button", "Go on to $0.006")
	a := m.asked(t)
	if !strings.Contains(a.all, "BMAD architecture") {
		t.Errorf("who goes on asks\n%s", a.all)
	}
	b.lacks(".trouble", "")
	b.click("[data-act=stop], .card button", "Stop") // which is how it stands then
	b.sees(".stepper", "stopped")
	b.lacks(".trouble", "The limit of")
}

// A delivery that fails says why, and goes on with what a person says.
func TestADeliveryThatFailsGoesOnWithGuidance(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, repository(t, m)).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.write("#delivery-budget", "3")
	b.click("form button", "Deliver")
	m.thinks(t)
	for n := range 4 {
		m.builds(t, "one.ok", strings.Repeat("bad ", n+1)+"\n")
	}
	b.sees("[data-outcome=failed]", "“The first file” failed: the check “test” still failed after 4 rounds")
	b.sees(".stepper .bad", "Implementation") // it is not done
	b.picture("delivery-failed")
	b.write(`[aria-label="Guidance for going on"]`, "Write the word good")
	b.click("[aria-label=Outcome] button", "Go on")
	again := m.asked(t)
	if !strings.Contains(again.user, "Write the word good") {
		t.Error("the builder does not see the guidance")
	}
	again.say(phaseSays("implementation", fields{"summary": "Did it.", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}}, fileArtifact("one.ok", "good\n")))
	again.end()
	b.sees("[aria-label='What happened']", "You had it go on: Write the word good")
	b.lacks("[aria-label='What happened']", "partly done") // it failed, and every place says so
	b.sees("[aria-label='What happened']", "Implementation failed")
	b.sees("[aria-label=Plan] [data-status=done]", "The first file")
	b.sees(".bar", "of $6") // what goes on may cost as much again
}

// dependent is a repository whose setup fetches what package.json names, and whose check
// wants what uses.txt names.
func dependent(t *testing.T, m *model) string {
	t.Helper()
	dir := repository(t, m)
	for name, content := range map[string]string{
		"install.sh":   "mkdir -p deps; for name in $(grep -o 'dep-[a-z]*' package.json); do echo fetched > deps/$name; echo setup fetched $name; done\n",
		"check.sh":     "while read -r name; do test -e deps/$name || { echo \"uses.txt:1: $name is not installed\"; exit 1; }; done < uses.txt; echo '# tests 1'\n",
		"package.json": "{\n  \"name\": \"shop\",\n  \"dependencies\": {\n    \"dep-one\": \"1\"\n  }\n}\n",
		"uses.txt":     "dep-one\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	settings := filepath.Join(dir, "troupe.yaml")
	data, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, append(data, "  setup: [sh install.sh]\n  setup_again: ask\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "-c core.excludesFile=/dev/null add -A && echo /deps/ >> .gitignore && git add -A && git commit -qm dependencies")
	return dir
}

// needs plays a builder that adds a dependency.
func (m *model) needs(t *testing.T, name string) {
	t.Helper()
	edits := func(path, search, replace string) fields {
		return fields{"name": path, "path": path, "type": "edit", "edits": []fields{{"search": search, "replace": replace}}}
	}
	m.answers(t, phaseSays("implementation", fields{"summary": "Uses " + name, "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}},
		edits("uses.txt", "dep-one\n", "dep-one\n"+name+"\n"), edits("package.json", "    \"dep-one\": \"1\"\n", "    \"dep-one\": \"1\",\n    \""+name+"\": \"2\"\n")))
}

// A change that wants other dependencies is shown to a person, who has the setup run again
// with a click, goes on without, or says what should be different.
func TestADeliveryAsksBeforeItFetchesDependencies(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := dependent(t, m)
	b := open(t, serve(t, dir).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Use the second one")
	b.click("form button", "Deliver")
	m.thinks(t)
	m.needs(t, "dep-two")
	b.sees("[aria-label=Gate] header", "fetch these dependencies?")
	b.sees("[aria-label=Gate]", "The change wants other dependencies.")
	b.sees("[aria-label=Gate] .prose", "sh install.sh")
	b.sees("[aria-label=Gate] .prose pre", `+    "dep-two": "2"`)
	b.lacks("[aria-label=Gate] .prose pre", "uses.txt") // only what the setup would see
	b.rests()
	b.picture("delivery-dependencies")

	b.click(".side nav a", "Home")
	b.sees("[aria-label='Waiting for you']", "Fetch these dependencies?")
	b.click("[aria-label='Waiting for you'] a", "Look and decide")

	b.write(`[aria-label="What should be different"]`, "Take dep-three, dep-two is dead")
	b.click("[aria-label=Gate] button", "Ask for changes")
	again := m.asked(t)
	if !strings.Contains(again.user, "Take dep-three, dep-two is dead") {
		t.Errorf("the builder is told\n%s", again.user)
	}
	again.say(phaseSays("implementation", fields{"summary": "Uses dep-three", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}},
		fileArtifact("uses.txt", "dep-one\ndep-three\n"), fileArtifact("package.json", "{\n  \"name\": \"shop\",\n  \"dependencies\": {\n    \"dep-one\": \"1\",\n    \"dep-three\": \"3\"\n  }\n}\n")))
	again.end()
	b.sees("[aria-label=Gate] .prose pre", `+    "dep-three": "3"`)
	b.click("[aria-label=Gate] button", "Run the setup again")
	b.sees("[aria-label=Plan] [data-status=done]", "The first file")
	b.lacks("[aria-label=Gate]", "")

	m.builds(t, "two.ok", "good\n") // what was fetched is asked about once
	m.answers(t, phaseSays("qa", fields{
		"tests_passed": true, "code_quality": "A", "security_issues": []string{}, "performance_concerns": []string{}, "recommendations": []string{}, "verdict": "accept",
		"criteria": []fields{{"id": "AC1", "state": "met", "evidence": "two.ok:1"}}, "findings": []fields{},
	}))
	b.sees("[data-outcome=delivered]", "Delivered")
	b.picture("delivery-dependencies-delivered")
	b.click("[aria-label=Outcome] button", "Take it")
	b.sees("[aria-label=Outcome] .chip", "taken")
	if got := git(t, dir, "show HEAD:uses.txt"); got != "dep-one\ndep-three\n" {
		t.Errorf("uses.txt is %q", got)
	}
}
