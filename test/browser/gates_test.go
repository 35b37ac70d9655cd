package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A gate within a phase is the page's spotlight like one between phases: all of what it
// asks can be read, every answer can be given on a phone, a second press is none, and
// what was decided, or stopped, is said as it was.
func TestAGateWithinAPhaseIsWholeAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := dependent(t, m)
	manifest := "{\n  \"name\": \"shop\",\n  \"dependencies\": {\n    \"dep-one\": \"1\"\n  },\n  \"description\": \"" + strings.Repeat("A very long line. ", 20) + "\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit -qam long")
	b := open(t, serve(t, dir).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Use the second one")
	b.click("form button", "Deliver")
	m.thinks(t)
	m.needs(t, "dep-two")
	b.sees("[aria-label=Gate] header", "fetch these dependencies?")
	b.sees(".stepper .wait[aria-current=step]", "Implementation")
	b.lacks("[aria-label=Gate] .prose", `Answer "go on"`) // there are buttons
	b.sees("[aria-label=Gate] .prose pre", "A very long line.")
	b.holds("(() => { const gate = find('[aria-label=Gate]').getBoundingClientRect(), code = find('[aria-label=Gate] pre'); return code.getBoundingClientRect().right <= gate.right && code.scrollWidth > code.clientWidth; })()")

	b.do(chromedp.EmulateViewport(390, 844))
	b.sees(".delivery > p.phone-only", "Implementation")
	b.sees(".delivery > p.phone-only", "waits for you")
	for _, answer := range []string{"Go on without", "Stop here"} {
		b.holds("find('[aria-label=Gate] button', %s)?.checkVisibility()", answer)
	}
	b.picture("delivery-dependencies-phone")
	value[any](b, "void find('[aria-label=Gate] button', 'Go on without').focus()")
	value[any](b, "void [1, 2].forEach(() => find('[aria-label=Gate] button', 'Go on without').click())")
	again := m.asked(t) // the check lacks what was not fetched
	if !strings.Contains(again.user, "dep-two is not installed") {
		t.Errorf("the builder is told\n%s", again.user)
	}
	b.holds("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/answers')).length === 1")
	b.do(chromedp.EmulateViewport(1280, 800))
	b.sees("[aria-label='What happened']", "You went on without it")
	b.holds("document.activeElement.matches('h1')") // and not at the top of the page: the button is gone

	b.click(".bar button", "Stop")
	b.sees(".delivery .trouble", "Every step that was finished is kept.")
	b.sees("[aria-label='What happened']", "Implementation was stopped")
	b.lacks("[aria-label='What happened']", "Implementation is done")
	b.picture("delivery-stopped")
}

// A change of dependencies that is long is read page by page: what was written first, all
// of what a tool wrote after it.
func TestALongChangeOfDependenciesIsReadPageByPage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, dependent(t, m)).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Use the second one")
	b.click("form button", "Deliver")
	m.thinks(t)
	var lock strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lock, "the sum of package-%d\n", i)
	}
	m.answers(t, phaseSays("implementation", fields{"summary": "Uses it", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}},
		fields{"name": "p", "path": "package.json", "type": "edit", "edits": []fields{{"search": "    \"dep-one\": \"1\"\n", "replace": "    \"dep-one\": \"1\",\n    \"dep-two\": \"2\"\n"}}},
		fileArtifact("package-lock.json", lock.String())))
	asked := "[aria-label=Gate] [aria-label='The question']"
	b.sees(asked, `+    "dep-two": "2"`)
	b.sees("[aria-label=Gate] .pages", "Page 1 of")
	for !value[bool](b, "find(%s).innerText.includes('+the sum of package-1999')", asked) {
		b.click("[aria-label=Gate] .pages button", "Next page")
	}
	b.picture("delivery-dependencies-long")
}

// reviews plays a review.
func (m *model) reviews(t *testing.T, verdict string, findings ...fields) {
	t.Helper()
	if findings == nil {
		findings = []fields{}
	}
	m.answers(t, phaseSays("qa", fields{
		"tests_passed": true, "code_quality": "A", "security_issues": []string{}, "performance_concerns": []string{}, "recommendations": []string{}, "verdict": verdict,
		"criteria": []fields{{"id": "AC-1", "state": "met", "evidence": "one.ok:1"}}, "findings": findings,
	}))
}

// At each gate a person sees what they are asked to accept: what the phase says, the plan,
// the change, what the review found. Times add up, and what was said is in the history.
func TestAGateShowsWhatItIsAbout(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, repository(t, m)).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.chooses(`[aria-label="Where it stops for you"]`, "manual")
	b.click("form button", "Deliver")
	gate := "[aria-label=Gate]"
	stories := fields{"user_stories": []fields{{"id": "US-1", "as": "a reader", "i_want": "good files", "so_that": "I can trust them"}}, "acceptance_criteria": []string{"AC-1: every file is good"}, "scope": "MVP", "constraints": []string{"No new tools"}}
	m.answers(t, phaseSays("requirements", stories))
	b.sees(gate, "Requirements is ready.")
	b.sees(gate+" .subject", "US-1: As a reader I want good files, so that I can trust them")
	b.sees(gate+" .subject", "AC-1: every file is good")
	b.sees(gate+" .subject", "No new tools")
	b.saysNothingForModels("the gate of requirements")
	b.looksEverywhere("gate-requirements")
	b.write(gate+" textarea", "Say it of readers")
	b.click(gate+" button", "Ask for changes")
	m.answers(t, phaseSays("requirements", stories))
	b.sees("[aria-label='What happened']", "You asked for changes: Say it of readers")
	b.sees(".stepper [data-phase=requirements]", "2 rounds")
	b.click(gate+" button", "Go on to architecture")
	m.answers(t, phaseSays("architecture", fields{"components": []string{"The files"}, "technologies": []string{"sh"}, "patterns": []string{}, "decisions": []fields{{"decision": "One file each", "rationale": "It is simple"}}}))
	b.sees(gate+" .subject", "One file each: It is simple")
	b.click(gate+" button", "Go on to discovery")
	m.answers(t, phaseSays("discovery", fields{"relevant_files": []fields{{"path": "base.ok", "relevance": "the pattern", "priority": "high"}}, "gkchatty_context": []string{}, "entry_points": []string{}, "dependencies": []string{}}))
	b.sees(gate+" .subject", "base.ok: the pattern")
	b.click(gate+" button", "Go on to planning")

	planned := func(steps ...fields) string {
		return phaseSays("planning", fields{"total_steps": len(steps), "estimated_time": "1h", "complexity": "low", "risk_level": "low", "steps": append([]fields{}, steps...)})
	}
	for range 3 { // it is asked twice to put it right
		m.answers(t, planned())
	}
	b.sees(gate, "it has no steps, so there is nothing to carry out")
	b.sees(gate, "Planning failed.")
	b.lacks(gate+" button", "Go on")
	b.sees(".phase-result[data-phase=planning] .chip", "failed")
	b.sees("[aria-label='What happened']", "Planning failed")
	b.looksEverywhere("gate-no-plan")
	b.write(gate+" textarea", "One step, please")
	b.click(gate+" button", "Ask for changes")
	m.answers(t, planned(fields{"id": "step-1", "title": "The first file", "goal": "Write it well.", "files": []string{"one.ok"}, "acceptance": []string{"AC1"}}))
	b.sees(gate+" .subject", "Write it well.")
	b.click(gate+" button", "Carry it out")
	m.builds(t, "one.ok", "good\n")
	b.sees(gate, "“The first file” is done.")
	b.sees(gate+" .subject .diff .a", "+good")
	b.lacks(gate+" .subject .diff", "diff --git")
	b.saysNothingForModels("the gate of a step")
	b.looksEverywhere("gate-step")
	b.click(gate+" button", "Go on")

	m.reviews(t, "changes_required", fields{"id": "F-1", "severity": "major", "path": "one.ok", "line": 1, "problem": "Nobody says why it is good", "fix": "Say why"})
	b.sees(gate, "The review found something to put right.")
	b.sees(gate+" .finding[data-severity=major]", "Nobody says why it is good")
	b.sees(gate+" .finding", "What to do: Say why")
	b.sees(gate+" .finding", "one.ok, line 1")
	b.sees("[aria-label=Review] .finding", "Nobody says why it is good")
	b.sees(gate+" .subject", "AC-1: every file is good")
	b.saysNothingForModels("the gate of a review")
	b.looksEverywhere("gate-review")
	b.click(gate+" button", "Put it right")
	b.sees(".stepper [data-phase=qa][data-state=wants]", "wants changes")
	b.sees("[aria-label='What happened']", "Checking wants something changed")
	m.builds(t, "why.ok", "good\n")
	b.sees(gate, "“Say why” is done.")
	b.sees("[aria-label=Review]", "Something was built since")
	b.sees("[aria-label=Checks] [data-label=verify] h3", "an earlier result: the code has changed since")
	b.click(gate+" button", "Go on")
	m.reviews(t, "accept")
	b.sees(gate, "The change is ready.")
	b.lacks("[aria-label=Review]", "Something was built since")
	b.sees("[aria-label=Checks] [data-label=verify] h3", "the result, on a clean checkout")
	b.saysNothingForModels("the last gate")
	b.looksEverywhere("gate-change")
	b.click(gate+" button", "Deliver it")
	b.sees("[data-outcome=delivered]", "Delivered")
	b.sees(".stepper [data-phase=implementation]", "2 rounds")
	b.looksEverywhere("gate-delivered")

	b.click(".tabs a", "Conversation")
	b.holds("(find('.earlier')?.click(), all('.phase-answer').length >= 9 && !find('.earlier'))")
	value[any](b, "void all('.turn').forEach((turn) => (turn.style.contentVisibility = 'visible'))")
	b.sees(".turn header b", "Reviewer")
	b.lacks(".turn header b", "Qa reviewer")
	b.saysNothingForModels("the conversation")
}

// Ctrl Enter sends the request of a new delivery, and gives the answer of the gate that has the
// focus: what is recommended, or what was written, or that of the button.
func TestAGateIsAnsweredByKey(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, repository(t, m)).link)
	b.at("#/deliveries")
	b.chooses(`[aria-label="Where it stops for you"]`, "manual")
	b.write("#request", "Make it good")
	b.press(kb.Enter, kb.ModifierCtrl)
	stories := func() {
		t.Helper()
		m.answers(t, phaseSays("requirements", fields{"user_stories": []fields{{"id": "US-1", "as": "a reader", "i_want": "good files", "so_that": "I can trust them"}}, "acceptance_criteria": []string{"AC-1: every file is good"}, "scope": "MVP", "constraints": []string{}}))
	}
	const gate = "[aria-label=Gate]"
	stories()
	b.sees(gate, "Requirements is ready.")
	b.write(gate+" textarea", "Say it of readers")
	b.holds("!find('[aria-label=Gate] button', 'Ask for changes').disabled") // the checks are done
	value[any](b, "void find('[aria-label=Gate] summary').focus()")          // inside, and no answer
	b.press(kb.Enter, kb.ModifierCtrl)
	stories()
	b.sees(gate, "You asked for changes: Say it of readers")
	value[any](b, "document.activeElement.blur()")
	b.press("w")
	b.hasFocus(gate)
	b.press(kb.Enter, kb.ModifierCtrl)
	m.answers(t, phaseSays("architecture", fields{"components": []string{"a"}, "technologies": []string{"sh"}, "patterns": []string{}, "decisions": []string{}}))
	b.sees(gate, "Architecture is ready.")
	b.sees("[aria-label='What happened']", "Say it of readers")
	b.holds("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/answers')).length === 2") // each answer once
	b.holds("!find('[aria-label=Gate] button', 'Stop here').disabled")
	value[any](b, "void find('[aria-label=Gate] button', 'Stop here').focus()")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.lacks(gate, "")
	b.sees("[aria-label='What happened']", "stopped")
	b.sees(".outcome li", "Stopped by you after architecture")
	b.picture("delivery-stopped-by-you")
	b.click(".bar .tabs a", "Conversation")
	b.sees(answers, "stopped by you after architecture")
}
