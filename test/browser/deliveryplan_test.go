package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Changes of a plan that somebody else has carried out meanwhile are not lost, and change nothing
// of what is done.
func TestChangesOfAPlanThatWasCarriedOutMeanwhileAreKept(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m, _, b := plans(t)
	b.click("[aria-label=Plan] button", "Change the plan")
	b.write(`[aria-label="Title of step 2"]`, "Late words")
	b.write(`[aria-label="Goal of step 2"]`, "A late goal.")
	other := b.beside(value[string](b, "location.href"))
	other.click("[aria-label=Gate] button", "Carry it out")
	other.lacks("[aria-label=Gate]", "")
	b.front()
	unsaved := "[aria-label=Plan] .unsaved-plan"
	b.sees(unsaved, "The plan is being carried out. Your changes were not saved:")
	b.sees(unsaved, "Late words")
	b.sees(unsaved+" button", "Copy")
	b.picture("delivery-plan-unsaved")
	m.carriesOut(t)
	b.sees("[data-outcome=delivered]", "Delivered")
	b.sees(unsaved, "It was carried out meanwhile. Your changes were not saved:")
	b.sees(unsaved, "A late goal.")
	b.lacks("[aria-label='Change the plan']", "")
	b.sees("[aria-label=Plan] [data-status=done]", "The second file")
	b.do(chromedp.Reload())
	b.sees(unsaved, "Late words")
	b.click(unsaved+" button", "Drop it")
	b.lacks(unsaved, "")
}

// Whoever asks for changes of a plan saves their own first. A decision that could not be sent is
// said to be none. A step that is added can be written at once, and needs a title.
func TestADecisionAboutAPlanIsMadeKnowingly(t *testing.T) {
	t.Parallel()
	_, _, b := plans(t)
	value[any](b, "void (globalThis.well = fetch, globalThis.fetch = () => Promise.reject(new TypeError('offline')))")
	b.click("[aria-label=Gate] button", "Carry it out")
	b.toasted("Your decision was not taken. Troupe cannot be reached.")
	b.holds("!globalThis.toastsSeen.some((said) => said.includes('What you typed'))")
	value[any](b, "void (globalThis.fetch = globalThis.well)")
	b.hurries()

	b.lacks("[aria-label=Gate] [role=status]", "The plan was changed")
	b.click("[aria-label=Plan] button", "Change the plan")
	b.click("[aria-label='Change the plan'] button", "Add a step")
	b.hasFocus(`[aria-label="Title of step 3"]`)
	b.write(`[aria-label="Goal of step 3"]`, "And a third.")
	b.click("[aria-label='Change the plan'] button", "Save the plan")
	b.sees("[aria-label='Change the plan'] [role=alert]", "A step needs a title.")
	b.hasFocus(`[aria-label="Title of step 3"]`)
	b.write("[aria-label=Gate] textarea", "Plan it once more")
	b.click("[aria-label=Gate] button", "Ask for changes")
	b.toasted("Your changes of the plan are not saved. Save them first, or cancel them.")
	b.sees("[aria-label=Gate]", "The plan is ready.")
	b.write(`[aria-label="Title of step 3"]`, "The third file")
	b.lacks("[aria-label='Change the plan'] [role=alert]", "")
	b.click("[aria-label='Change the plan'] button", "Save the plan")
	b.sees("[aria-label=Plan] .plan", "The third file")
	b.sees("[aria-label=Gate] [role=status]", "The plan was changed. Its document will say so once it is carried out.")

	// Nothing is too small, neither to be read nor to be pressed.
	b.click(".checks summary", "How they are run")
	b.sees(".checks code", "sh check.sh")
	b.holds("all('.delivery *').filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).every((e) => parseFloat(getComputedStyle(e).fontSize) >= 12)")
	b.byTouch()
	b.sees(".phase-result .link", "specs/")
	b.holds("all('.phase-result .link').every((e) => e.getBoundingClientRect().height >= 44)")
}
