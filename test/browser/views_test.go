package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestTheFlowLightsUpWhereSomebodyWorks(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.write("[aria-label='Task for review']", "Check the plan\n\n- of lockers")
	b.click("[aria-label=Flows] button", "Run")
	first := m.asked(t)
	if !strings.Contains(first.user, "Check the plan\n\n- of lockers") {
		t.Errorf("it is told %q", first.user)
	}
	b.sees(".node[data-state=run]", "clerk")
	b.sees(".node[data-state=idle]", "critic")
	first.say("Filed.")
	first.end()
	second := m.asked(t)
	second.say("Looking")
	b.sees(".node[data-state=done]", "clerk")
	b.sees(".node[data-state=run]", "critic")
	b.sees(".chip", "1 of 2 done")
	b.holds("document.querySelectorAll('.stage path.go').length === 1") // what is handed over marches
	b.click(".node", "critic")
	b.sees(".panel", "Looking")
	b.picture("flow")
	b.do(chromedp.EmulateViewport(800, 800)) // less room than it takes: it is scrolled, not shrunk
	b.holds("find('.ground').scrollWidth > find('.ground').clientWidth && getComputedStyle(find('.canvas')).scale === '1'")
	b.holds("find('.node[aria-current]').getBoundingClientRect().right <= find('.ground').getBoundingClientRect().right + 1")
	b.holds("find('.zoom').getBoundingClientRect().right <= find('.stage').getBoundingClientRect().right")
	b.do(chromedp.EmulateViewport(1280, 800))
	b.click(".zoom button", "As a list")
	b.sees(".flow-nodes", "critic")
	b.click(".flow-list button", "As a graph")
	second.say(" good.")
	second.end()
	b.sees(".node[data-state=done]", "critic")
	b.click(".tabs a", "Conversation")
	b.reads(answers, "Filed.", "Looking good.")

	// From a node on it is done again, in a conversation of its own.
	b.click(".tabs a", "Flow")
	original := value[string](b, "location.hash")
	b.click(".node", "critic")
	b.click(".panel button", "Run again from here")
	again := m.asked(t)
	if !strings.Contains(again.all, "You are the critic") || !strings.Contains(again.all, "Filed.") {
		t.Errorf("it was asked: %s", again.all)
	}
	b.sees(".node[data-state=run]", "critic")
	b.holds("location.hash !== %s", original)
	again.say("On second thoughts.")
	again.end()
	b.sees(".node[data-state=done]", "On second thoughts.")
}

// phaseAnswer is what the agent of a phase answers.
func phaseAnswer(phase, verdict string) string {
	return strings.NewReplacer("PHASE", phase, "VERDICT", verdict).Replace(`{"status": "success", "phase": "PHASE", "outputs": {"verdict": "VERDICT"}, "artifacts": [{"name": "notes", "path": "notes/PHASE.md", "content": "# Notes of PHASE", "type": "file"}],
		"validation": {"checks": [], "passed": [], "failed": [], "warnings": []}, "next_phase": {"ready": true, "blockers": [], "requirements": []}, "errors": []}`)
}

func TestADeliveryShowsItsPhasesAndAsksAtItsGates(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.sees(".agent", "clerk")
	b.click(".side nav a", "Deliveries")
	b.sees("h1", "Deliveries")
	b.picture("deliver")
	b.write("#request", "As a customer I want to export my data")
	b.click("form button", "Deliver")
	m.answers(t, phaseAnswer("legal", "MIT is fine."))
	b.sees("[aria-label=Gate]", "Legal is ready")
	b.sees(".stepper [data-phase=legal][data-state=waiting]", "waits for you")
	b.sees(".side .item[data-status=waiting]", "")
	b.picture("delivery-gate")
	b.write("[aria-label=Gate] textarea", "Say it shorter")
	b.click("[aria-label=Gate] button", "Ask for changes")
	again := m.asked(t)
	b.sees(".stepper [data-phase=legal][data-state=running]", "working")
	b.holds("document.activeElement.matches('h1')") // the button is gone
	again.say(phaseAnswer("legal", "MIT."))
	again.end()
	b.sees(".stepper [data-phase=legal]", "2 rounds")
	b.holds("document.activeElement === find('[aria-label=Gate]')")
	b.click("[aria-label=Gate] button", "Go on to finance")
	m.answers(t, phaseAnswer("finance", "Nothing."))
	b.sees("[aria-label=Gate]", "Finance is ready")
	b.click("[aria-label=Gate] button", "Approve and finish")
	b.lacks("[aria-label=Gate]", "")
	b.sees(".stepper [data-phase=finance][data-state=completed]", "done")
	b.sees(".stepper [data-phase=legal][data-state=completed]", "done")
	b.picture("delivery-done")
	b.click(".phase-result .link", "notes/legal.md")
	b.sees(".panel .prose", "Notes of legal")
}

func TestTheLogAndTheTimelineShowWhatHappened(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Look it up")
	m.calls(t, "read_file", map[string]any{"file_path": "{session-folder}/absent.md"})
	m.answers(t, "There is no such file.")
	b.reads(answers, "There is no such file.")
	b.sees(".acts", "Did not find absent.md")
	b.lacks("main", "read_file")
	b.click(".did > summary", "Did not find absent.md")
	b.click(".call summary", "Did not find absent.md")
	b.sees(".call dd", "absent.md")
	b.picture("tool-call")

	b.click(".tabs a", "Run")
	b.sees(".figures", "2,560")
	b.sees(".memory .legend", "descriptions of tools")
	b.sees(".lane[data-kind=model]", "Model, turn 2")
	b.sees(".lane[data-kind=tool]:not([data-failed=true])", "Did not find absent.md") // that it is not there is an answer
	b.click(".lane[data-kind=model]", "Model, turn 2")
	b.sees(".panel .facts", "1,200")
	b.sees(".part", "You are the clerk.")
	b.sees(".part .chip", "new")
	b.picture("run")
	for _, width := range []int64{390, 1280} { // a long time stays in its line
		b.do(chromedp.EmulateViewport(width, 800))
		b.holds("all('.lane:not(.axis) > :nth-child(2)').filter((e) => e.checkVisibility()).every((e) => ((e.textContent = '23 h 59 min'), e.scrollWidth <= e.clientWidth && e.offsetHeight < 30))")
	}
	b.do(chromedp.Reload())
	b.sees(".part", "You are the clerk.")
	for _, copied := range []string{"Copy as JSON", "Copy as a curl command"} { // who copies is told what is not in it
		b.click(".panel button", copied)
		b.toasted(strings.Replace(copied, "Copy", "Copied", 1) + ": the messages as they were sent. What is not on record is not in it: the descriptions of tools")
	}
	b.click(".panel .seg button", "What changed")
	b.sees(".panel .diff .a", "absent.md")
	b.click(".panel .seg button", "Came back")
	b.sees(".panel .came", "There is no such file.")
	b.click(".panel button", "The call before")
	b.sees(".panel h2", "Did not find absent.md") // as its row says

	b.click(".side nav a", "Activity")
	b.sees(".hits li", "There is no such file.")
	b.picture("logs")
	b.write("[name=agent]", "critic")
	b.sees(".nothing", "No event fits.")
	b.write("[name=agent]", "clerk")
	b.sees(".hits li", "user_said")
	b.write("[name=tool]", "read_file")
	b.lacks(".hits li", "user_said")
	b.sees(".hits li[data-level=error]", "tool_returned")
	b.write("[name=tool]", " ")
	b.sees(".hits li", "user_said")
	b.click(".check", "Only errors")
	b.lacks(".hits li", "user_said")
	b.sees(".hits li", "tool_returned")
	b.click(".check", "Only errors")
	b.write("[name=q]", "such")
	b.lacks(".hits li", "user_said")
	b.sees(".hits li", "There is no such file.")
	b.click(".hits summary", "model_replied")
	b.click(".hits a", "Show the conversation")
	b.reads(said, "Look it up")
}
