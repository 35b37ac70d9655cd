package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Who goes through the files by key opens one, goes into its preview and back to its row, and
// chooses files where they are.
func TestFilesAreReadAndChosenByKey(t *testing.T) {
	t.Parallel()
	h := office(t, newModel(t), "")
	for _, name := range []string{"brief.md", "notes.md", "plan.md"} {
		h.post(t, "/api/documents", map[string]any{"name": name, "data": "IyBPbmU="})
	}
	b := open(t, h.link)
	b.sees(".agent", "Ada")
	b.at("#/files")
	const row = ".library tbody tr:nth-child(2)"
	b.enter(row, "")
	b.sees(".glance button", "Open")
	b.hasFocus(row)
	for _, key := range []string{kb.Enter, "]"} {
		b.press(key)
		b.hasFocus(".glance")
		b.press(kb.Escape)
		b.lacks(".panel", "")
		b.hasFocus(row)
		b.press(kb.Enter)
		b.sees(".glance", "")
	}
	b.press(kb.Escape)
	b.lacks(".panel", "")
	b.press("]")
	b.hasFocus(".glance")
	b.press(kb.Escape)
	b.hasFocus(row)

	value[any](b, "void addEventListener('keydown', (event) => (globalThis.scrolls = !event.defaultPrevented))")
	b.press(" ")
	b.sees("[aria-label='What was chosen']", "1 chosen")
	b.holds("!globalThis.scrolls")
	b.hasFocus(row)
	b.press(" ")
	b.lacks("[aria-label='What was chosen']", "")
	value[any](b, "void find(%s).focus()", row+" input")
	b.press(" ")
	b.sees("[aria-label='What was chosen']", "1 chosen")
}

// Who opens a document from the list of all files is in it, and is given back to where the list
// was opened.
func TestADocumentOpenedFromTheListHasTheFocus(t *testing.T) {
	t.Parallel()
	_, b := besideABrief(t)
	b.press(kb.Escape)
	b.lacks(".panel", "")
	const files = ".bar [aria-label^='Files of this']"
	for _, from := range []struct {
		opens func()
		back  string // where the focus is once it is closed: not in the box, where letters are no keys
	}{{func() { b.enter(files, "") }, files}, {func() { value[any](b, "void document.activeElement.blur()"); b.press("]") }, "#main h1"}} {
		from.opens()
		b.sees(".panel h2", "Files")
		b.hasFocus(".panel")
		b.enter(".panel .recent a", "Lockers")
		b.sees(".panel .pick", "Version 1")
		b.hasFocus(".panel")
		b.enter(".panel button", "All files")
		b.sees(".panel h2", "Files")
		b.hasFocus(".panel")
		b.enter(".panel .recent a", "Lockers")
		b.sees(".panel .pick", "Version 1")
		b.hasFocus(".panel")
		b.press(kb.Escape)
		b.lacks(".panel", "")
		b.holds("document.activeElement.matches(%s)", from.back)
	}
}

// Where one conversation waits, w goes around in it, where it is seen.
func TestWStaysWhereNothingElseWaits(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesOften("writer", 1), savesOften("poet", 1))
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both of you")
	b.looksAt(session, "flow")
	b.holds("all('.graph .needs').length === 2")
	for _, card := range []int{0, 1, 0} {
		b.press("w")
		b.holds("location.hash.endsWith('/flow') && document.activeElement === all('.graph .needs')[%v]", card)
	}
}

// Who allows something for the whole conversation in the picture of a flow is at the step that
// goes on.
func TestWhoAllowsAllInAFlowIsAtWhatGoesOn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the writer", []reply{savesOnce("writer"), {text: "Saved", held: true}}},
		script{"You are the poet", []reply{savesOnce("poet"), {text: "Saved", held: true}}})
	h, b := m.servesTwo(t)
	b.looksAt(h.runs(t, "both", "Both of you"), "flow")
	b.holds("all('.graph .needs').length === 2")
	b.enter(".graph .needs button", "Allow in this conversation")
	b.lacks(".graph .needs", "")
	b.sees(".node[data-state=run]", "")
	b.holds("document.activeElement.matches('.node.run')")
}
