package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// hasFocus waits until an element has the focus, and keeps it while the page draws.
func (b *tab) hasFocus(selector string) {
	b.t.Helper()
	b.holds("document.activeElement === find(%s)", selector)
}

// enter presses Enter on a button that has the focus, as somebody does who has no mouse.
func (b *tab) enter(selector, name string) {
	b.t.Helper()
	b.holds("(() => { const e = find(%s, %s); if (!e || e.disabled) return false; e.focus(); return document.activeElement === e; })()", selector, name)
	b.press(kb.Enter)
}

// Ctrl J is a new conversation: the box at home has the focus, from wherever it was pressed.
func TestANewConversationByKeyIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	b.sees(".agent", "clerk")
	for range 200 { // keys are listened to once what is seen first is there
		if b.press("j", kb.ModifierCtrl); value[bool](b, "document.activeElement.matches('.ask textarea')") {
			break
		}
	}
	b.hasFocus(".ask textarea")
	b.at("#/settings/look")
	b.holds("find('.set [role=switch]')")
	b.press("j", kb.ModifierCtrl)
	b.hasFocus(".ask textarea")
}

// What was begun has the focus at its headline: the field that it was begun from is gone.
func TestWhatWasBegunHasTheFocus(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.at("#/flows")
	b.write("[aria-label='Task for review']", "Look at it")
	b.press(kb.Enter)
	b.sees(".node", "clerk")
	b.hasFocus("#main h1")
	b.at("#/deliveries")
	b.write("#request", "Make it good")
	b.enter("form button", "Deliver")
	b.holds("find('.stepper')")
	b.hasFocus("#main h1")
}

// besideABrief is a conversation with the document that was written in it open beside it.
func besideABrief(t *testing.T) (*model, *tab) {
	t.Helper()
	m := newModel(t)
	b := begin(t, office(t, m, "").link, "Ada")
	b.say("Write the brief")
	saves(t, m, "brief.md", "# Lockers\n\nMany readers pay.\n", "The brief is written.")
	b.sees(answers, "The brief is written.")
	b.click(".doc button", "Lockers")
	b.sees(".panel .pick", "Version 1")
	return m, b
}

// Who edits a document has the cursor in its text, and at the button again afterwards.
func TestAnEditBeginsInTheText(t *testing.T) {
	t.Parallel()
	m, b := besideABrief(t)
	const text, edit = ".editor textarea", ".panel [aria-label=Edit]"
	b.enter(".panel button", "Edit")
	b.hasFocus(text)
	b.holds("document.activeElement.selectionEnd === 0")
	b.enter(".editor button", "Cancel")
	b.hasFocus(edit)

	b.press(kb.Enter)
	b.write(text, "# Lockers\n\nMine.\n")
	b.enter(".panel .seg button", "Read")
	b.enter(".panel button", "Go on editing")
	b.hasFocus(text)
	b.enter(".editor button", "Cancel")
	b.toasted("Your changes are put away.")
	b.hasFocus(edit)
	b.enter(".toast button", "Undo")
	b.hasFocus(text)

	b.say("Be exact")
	saves(t, m, "brief.md", "# Lockers\n\nNine of fourteen.\n", "Now it is exact.")
	b.sees(".clash", "saved version 2 meanwhile")
	b.enter(".clash button", "Take version 2")
	b.hasFocus(edit)
	b.sees(".panel .prose", "Nine of fourteen.")
}

// To take back a dropped edit takes back nothing that was written since.
func TestUndoOfAnEditKeepsWhatWasWrittenSince(t *testing.T) {
	t.Parallel()
	_, b := besideABrief(t)
	const text = ".editor textarea"
	has := func(words string) { b.holds("find('.editor textarea')?.value === %s", words) }
	b.click(".panel button", "Edit")
	b.write(text, "First.")
	b.click(".editor button", "Cancel")
	b.click(".toast button", "Undo")
	has("First.")
	b.lacks(".toast button", "Undo")

	b.click(".editor button", "Cancel")
	b.click(".panel button", "Edit")
	b.write(text, "Second.")
	b.click(".toast button", "Undo")
	has("First.")
	b.click(".toast button", "Undo")
	has("Second.")
}

// Who takes back a deletion is at the conversation that is there again.
func TestADeletionThatIsUndoneHasTheFocus(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Hello")
	m.answers(t, "Good morning.")
	b.sees(answers, "Good morning.")
	address := value[string](b, "location.hash")
	b.click(".bar button", "More")
	b.enter(".pop button", "Delete")
	b.sees("h1", "Who would you like to work with?")
	b.enter(".toast button", "Undo")
	b.hasFocus(`a[href="` + address + `"]`)
}

// Who stops an answer, or no longer wants to edit a message, is in the box again. So is
// whoever edits one, by a button that is elsewhere.
func TestTheBoxHasTheFocusOfWhatGoes(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, two")
	b.reads(answers, "One, two")
	b.enter(".composer button", "Stop")
	a.isLeft()
	b.sees(".trouble", "Stopped")
	b.hasFocus(composer)

	b.click(".said button", "Edit and try again")
	b.sees(".editing", "This begins a conversation of its own")
	b.hasFocus(composer)
	b.enter(".editing button", "Cancel")
	b.lacks(".editing", "")
	b.hasFocus(composer)
}

// What is watched is watched on, though something that was watched before is still being looked at.
func TestTheBoxHasTheFocusOfWhatIsPressedRightAfterIt(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Hello")
	m.answers(t, "Good morning.")
	b.sees(answers, "Good morning.")
	b.holds("performance.getEntriesByType('resource').some((r) => r.name.endsWith('/focus.js') && r.responseEnd)")
	value[any](b, `void (async () => {
		const box = find(%s), frame = () => new Promise(requestAnimationFrame);
		await frame(), await frame();
		box.focus();
		box.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
		const button = document.body.appendChild(document.createElement("button"));
		await null; // it is seen, and looked at in the next frame
		button.focus();
		button.click();
		await frame(), await frame();
		button.remove();
		globalThis.isGone = true;
	})()`, composer)
	b.holds("globalThis.isGone")
	b.hasFocus(composer)
}

// reviewing is a flow that was begun by keyboard, while its first agent is at work.
func reviewing(t *testing.T) (*model, *tab) {
	t.Helper()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.at("#/flows")
	b.write("[aria-label='Task for review']", "Look at it")
	b.press(kb.Enter)
	m.asked(t)
	b.sees(".node[data-state=run]", "clerk")
	return m, b
}

// Who stops a flow is at what can be done then.
func TestAFlowThatIsStoppedKeepsTheFocus(t *testing.T) {
	t.Parallel()
	_, b := reviewing(t)
	b.enter(".bar button", "Stop")
	b.sees(".graph .trouble", "Stopped")
	b.holds("document.activeElement === find('.graph .trouble button', 'Go on')")
}

// Who leaves a document by Esc while they edit it is in the box, where nothing opened it here.
func TestADocumentThatIsLeftByKeyGivesTheFocusBack(t *testing.T) {
	t.Parallel()
	_, b := besideABrief(t)
	const text = ".editor textarea"
	b.enter(".panel button", "Edit")
	b.hasFocus(text)
	b.press(kb.Escape)
	b.lacks(".panel", "")
	b.holds("document.activeElement.matches('.doc button')")

	b.enter(".doc button", "Lockers")
	b.sees(".panel .pick", "Version 1")
	value[any](b, "void ((window.isOld = true), location.reload())")
	b.holds("!window.isOld && find('.editor textarea')")
	b.write(text, "# Lockers\n\nMine.\n")
	b.press(kb.Escape)
	b.lacks(".panel", "")
	b.hasFocus(composer)
}

// Who dismisses what was reported is where they were before.
func TestAToastThatIsDismissedGivesTheFocusBack(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Hello")
	m.answers(t, "Good morning.")
	b.sees(answers, "Good morning.")
	const copies = ".said [aria-label='Copy the message']"
	b.enter(copies, "")
	b.sees(".toast", "")
	b.enter(".toast button", "Dismiss")
	b.lacks(".toast", "")
	b.hasFocus(copies)
}

// A headline that has the focus has no ring around it where a mouse was used.
func TestWhatWasBegunByMouseHasNoRing(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	ring := func() string { return value[string](b, "getComputedStyle(find('#main h1')).outlineStyle") }
	b.at("#/flows")
	b.write("[aria-label='Task for review']", "Look at it")
	b.click("[aria-label=review] button", "Run")
	b.sees(".node", "clerk")
	b.hasFocus("#main h1")
	if got := ring(); got != "none" {
		t.Errorf("by mouse, the ring around the headline is %s", got)
	}
	b.at("#/flows")
	b.write("[aria-label='Task for review']", "Look at it")
	b.press(kb.Enter)
	b.sees(".node", "clerk")
	b.hasFocus("#main h1")
	if got := ring(); got == "none" {
		t.Error("by key, the headline has no ring around it")
	}
}

// Who closes the preview of a file is at its row again, and goes on from there.
func TestAPreviewOfAFileGivesTheFocusBackToItsRow(t *testing.T) {
	t.Parallel()
	h := office(t, newModel(t), "")
	for _, name := range []string{"brief.md", "notes.md", "plan.md"} {
		h.post(t, "/api/documents", map[string]any{"name": name, "data": "IyBPbmU="})
	}
	b := open(t, h.link)
	b.sees(".agent", "Ada")
	b.at("#/files")
	b.enter(".library tbody tr:nth-child(2)", "")
	b.enter(".glance button", "Open")
	b.sees(".panel .pick", "Version 1")
	b.press(kb.Escape)
	b.holds("find('.glance')?.closest('.panel') === document.activeElement?.closest('.panel')")
	b.press(kb.Escape)
	b.lacks(".panel", "")
	b.hasFocus(".library tbody tr:nth-child(2)")
}

// Who decides to keep something is at the button again that asked.
func TestWhatIsKeptGivesTheFocusBack(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	ann, _, _ := ofTwoOperators(t, m)
	ann.sees(".agent", "clerk")
	for place, button := range map[string]string{"#/settings/models": "Remove spare", "#/settings/people": "Remove bob"} {
		ann.at(place)
		ann.enter(".rows button", button)
		ann.sees("dialog.removal", button+"?")
		ann.enter("dialog.removal button", "Keep")
		ann.lacks("dialog", "")
		ann.hasFocus(".rows [aria-label='" + button + "']")
	}

	ann.at("#/")
	ann.click(".agent header button", "clerk")
	ann.say("First")
	a := m.asked(t)
	a.say("One")
	ann.reads(answers, "One")
	ann.write(composer, "Second")
	ann.press(kb.Enter)
	ann.enter(".queues button", "Edit the queued message")
	ann.hasFocus(".queues textarea")
	ann.write(".queues textarea", "Third")
	ann.enter(".queues button", "Keep")
	ann.sees(".queues", "Next: “Third”")
	ann.hasFocus("[aria-label='Edit the queued message']")
	a.end()
	m.answers(t, "Three.")
	ann.sees(answers, "Three.")
}
