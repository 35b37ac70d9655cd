package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
	value[any](b, "void [1, 2].forEach(() => find('[aria-label=Gate] button', 'Go on without').click())")
	again := m.asked(t) // the check lacks what was not fetched
	if !strings.Contains(again.user, "dep-two is not installed") {
		t.Errorf("the builder is told\n%s", again.user)
	}
	b.holds("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/answers')).length === 1")
	b.do(chromedp.EmulateViewport(1280, 800))
	b.sees("[aria-label='What happened']", "You went on without it")

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
