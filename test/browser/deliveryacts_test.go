package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// plans opens a delivery of two steps in a repository, up to where its plan waits for a decision.
func plans(t *testing.T) (m *model, dir string, b *tab) {
	t.Helper()
	m = newModel(t)
	dir = repository(t, m)
	b = open(t, serve(t, dir).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.chooses(`[aria-label="Where it stops for you"]`, "plan")
	b.click("form button", "Deliver")
	m.thinks(t)
	b.sees("[aria-label=Gate]", "The plan is ready.")
	b.sees("[aria-label=Plan] .plan", "The second file")
	return m, dir, b
}

// carriesOut plays all that comes after a plan of two steps.
func (m *model) carriesOut(t *testing.T) {
	t.Helper()
	m.builds(t, "one.ok", "good\n")
	m.builds(t, "two.ok", "good\n")
	m.reviews(t, "accept")
}

const outcome = "[aria-label=Outcome]"

// What is done with a result in one window is seen in the others. A window that is behind takes
// back what is taken, or nothing; what is dropped can be had back for a while, also while its
// owner looks at something else, and is then said to be dropped, for good.
func TestAResultIsDroppedOnlyByWhoeverMeansIt(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m, dir, b := plans(t)
	b.click("[aria-label=Gate] button", "Carry it out")
	m.carriesOut(t)
	b.sees("[data-outcome=delivered]", "Delivered")
	branches := func() int { return len(strings.Fields(git(t, dir, "branch --list 'troupe/*'"))) }

	other := b.beside(value[string](b, "location.href"))
	other.click(outcome+" button", "Take it")
	other.sees(outcome+" .chip", "taken")
	b.sees(outcome+" .chip", "taken")
	b.lacks(outcome+" button", "Drop it")

	// A window that hears of nothing any more.
	value[any](other, "void (globalThis.well = fetch, globalThis.fetch = (path, how) => (String(path).endsWith('/act') ? well(path, how) : new Promise(() => {})))")
	b.front()
	b.click(outcome+" button", "Take it back")
	b.sees(outcome+" .chip", "delivered")
	value[any](other, "void [...document.querySelectorAll('.outcome button')].find((e) => e.textContent === 'Take it back').click()")
	other.toasted("It was taken back already.")
	if branches() == 0 {
		t.Fatal("what was built is gone")
	}
	other.close()

	comesBack := func() { value[any](b, "void dispatchEvent(new Event('focus'))") } // from a terminal
	git(t, dir, "revert --no-edit HEAD")
	comesBack()
	b.sees(outcome+" .chip", "taken")
	git(t, dir, "reset -q --hard HEAD~1")
	comesBack()
	b.sees(outcome+" .chip", "delivered")

	b.click(outcome+" button", "Drop it")
	b.sees(".toast", "What “Make it good” has built is dropped")
	b.sees("[data-outcome=dropped]", "Until then it can be undone.")
	b.lacks("[data-outcome=dropped]", "are not there any more")
	b.lacks(".toast", "taken back") // what was said before that is over
	b.lacks(outcome+" button", "")
	b.click(".toast button", "Undo")
	b.sees(outcome+" button", "Take it")
	b.holds("document.activeElement.textContent === 'Drop it'")
	b.click(outcome+" button", "Drop it")
	b.sees(".toast button", "Undo")
	value[any](b, "void find('.toast button', 'Undo').focus()") // it stays for as long as it has the focus
	b.click(".side nav a", "Deliveries")
	value[any](b, "void find('.toast button', 'Undo').focus()")
	value[any](b, "void history.back()")
	b.sees("[data-outcome=dropped]", "Dropped")
	if branches() == 0 {
		t.Error("it is dropped while that can be undone")
	}
	b.click(".toast button", "Dismiss")
	eventually(t, func() error {
		if n := branches(); n > 0 {
			return fmt.Errorf("there are %d branches", n)
		}
		return nil
	})
	b.do(chromedp.Reload())
	b.sees("[data-outcome=dropped]", "What it had built was dropped.")
	b.sees("[aria-label='What happened']", "What it had built was dropped")
	b.sees(".stepper [data-phase=implementation]", "done")
	b.sees("[aria-label=Plan] [data-status=done]", "The second file")
	b.lacks("[aria-label=Plan] button", "Change the plan")
	b.click("[aria-label=Documents] button", "User stories")
	b.sees(".panel .prose", "Stories of ours")
	b.picture("delivery-dropped")
}

// A result that was taken in another window while it was about to be dropped stays, and whoever
// dropped it is told.
func TestAResultThatWasTakenMeanwhileIsNotDropped(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m, dir, b := plans(t)
	b.click("[aria-label=Gate] button", "Carry it out")
	m.carriesOut(t)
	b.sees("[data-outcome=delivered]", "Delivered")
	other := b.beside(value[string](b, "location.href"))
	other.sees(outcome+" button", "Take it")
	b.front()
	b.click(outcome+" button", "Drop it")
	b.sees(".toast button", "Undo")
	value[any](b, "void find('.toast button', 'Undo').focus()")
	other.front()
	other.click(outcome+" button", "Take it")
	other.sees(outcome+" .chip", "taken")
	b.front()
	b.click(".toast button", "Dismiss")
	b.toasted("Something was done with the delivery meanwhile, so what it has built is not dropped.")
	b.sees(outcome+" .chip", "taken")
	if got := git(t, dir, "branch --list 'troupe/*'"); got == "" {
		t.Error("the branch is gone")
	}
}

// A delivery that goes on in another window while it is about to be deleted is not, and whoever
// deletes it is told.
func TestADeliveryThatGoesOnElsewhereIsNotDeleted(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m, _, b := plans(t)
	other := b.beside(value[string](b, "location.href"))
	other.sees("[aria-label=Gate]", "The plan is ready.")
	b.front()
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.sees(".toast", "“Make it good” deleted")
	other.front()
	other.click("[aria-label=Gate] button", "Carry it out")
	m.builds(t, "one.ok", "good\n")
	b.front()
	b.toasted("“Make it good” is at work again, so it is not deleted")
	b.sees(".side .item", "Make it good")
}

// What the command line does with a result is seen by whoever has it open, and in lists.
func TestAResultThatIsTakenInATerminalIsSeen(t *testing.T) {
	t.Parallel()
	m, dir, b := plans(t)
	b.click("[aria-label=Gate] button", "Carry it out")
	m.carriesOut(t)
	b.sees("[data-outcome=delivered]", "Delivered")
	b.sees(outcome+" .chip", "delivered")
	id := value[string](b, "location.hash.split('/')[2].slice(0, 8)")
	troupe(t, dir, "deliveries", "apply", id)
	b.sees(outcome+" .chip", "taken")
	troupe(t, dir, "deliveries", "undo", id)
	b.sees(outcome+" .chip", "delivered")
	b.sees(outcome+" button", "Take it")
}
