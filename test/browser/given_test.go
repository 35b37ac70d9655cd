package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// reviewed is a tab with a flow that has ended, and the model.
func reviewed(t *testing.T) (*tab, *model) {
	t.Helper()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.write("[aria-label='Task for review']", "Check the plan")
	b.click("[aria-label=Flows] button", "Run")
	m.answers(t, "Filed under A.")
	m.answers(t, "I miss B.")
	b.sees(".node[data-state=done]", "critic")
	return b, m
}

// A person changes what a step was given, on a large screen and on a phone, and the flow
// runs from there in a conversation of its own.
func TestAPersonChangesWhatAStepWasGiven(t *testing.T) {
	t.Parallel()
	b, m := reviewed(t)
	original := value[string](b, "location.hash")

	// What is shown is what the step got, and it is changed there.
	b.click(".node", "critic")
	b.click(".panel button", "Was given")
	b.sees(".panel .given", "Filed under A.")
	b.click(".panel button", "Change and run from here")
	b.holds("find('.change-given textarea')?.value === 'Check the plan'")
	b.picture("given-light")
	b.click(".change-given button", "Cancel")
	b.sees(".panel .given", "Filed under A.")
	b.click(".panel button", "Change and run from here")
	b.write(".change-given div:nth-of-type(2) textarea", "Filed under B.")
	b.click(".change-given button", "Run from here")

	// The step before it is not asked again, and the one that was chosen gets what was written.
	again := m.asked(t)
	if !strings.Contains(again.all, "You are the critic") || !strings.Contains(again.all, "Filed under B.") || strings.Contains(again.all, "Filed under A.") {
		t.Errorf("it was asked: %s", again.all)
	}
	b.sees(".node[data-state=done]", "clerk")
	b.sees(".node[data-state=run]", "critic")
	b.holds("!location.hash.startsWith(%s)", strings.TrimSuffix(original, "/flow"))
	b.sees(".graph a.chip", "Goes on from the run of") // so that nobody takes it for the first
	b.holds("find('.graph a.chip', 'Goes on from').getAttribute('href') === %s", original)
	again.say("Nothing is missing.")
	again.end()
	b.sees(".node[data-state=done]", "Nothing is missing.")
	b.click(".node", "critic")
	b.click(".panel button", "Was given")
	b.sees(".panel .given", "Filed under B.")
	b.sees(".panel", "Changed by you")
	b.click(".panel summary", "What it was before")
	b.sees(".panel details .given", "Filed under A.")
	b.picture("given-changed")
	b.click(".tabs a", "Conversation")
	b.sees(".flow", "What critic is given was changed by")

	// The other conversation is as it was, on a phone as well.
	b.do(chromedp.EmulateViewport(390, 844))
	value[any](b, "void (location.hash = %s)", original)
	b.sees(".flow-nodes .node[data-state=done]", "I miss B.")
	b.click(".flow-nodes .node", "critic")
	b.click(".panel button", "Change and run from here")
	b.holds("find('.change-given textarea')")
	b.holds("document.documentElement.scrollWidth <= 390 && all('.panel').every((e) => e.scrollWidth <= 390)")
	b.picture("given-phone")
	b.write(".change-given div:nth-of-type(2) textarea", "")
	b.click(".change-given button", "Run from here")
	m.answers(t, "There is nothing to look at.")
	b.sees(".flow-nodes .node[data-state=done]", "There is nothing to look at.")
}

// Where a manager ends a group chat before anybody has spoken, it is said to have answered alone.
func TestAGroupChatInWhichOnlyTheManagerAnswered(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(`model: stub/stub-1
providers: {stub: {base_url: URL, models: {stub-1: {}}}}
agents:
  clerk: {instructions: You are the clerk., skills: false, tools: []}
  critic: {instructions: You are the critic., skills: false, tools: []}
  chair: {instructions: You lead., skills: false, tools: []}
flows: {panel: {group_chat: [clerk, critic], manager: chair}}
`, "URL", m.URL+"/v1", 1)})).link)
	b.write("[aria-label='Task for panel']", "Talk about it")
	b.click("[aria-label=Flows] button", "Run")
	a := m.asked(t)
	b.sees(".graph .chip", "0 of 3 done")
	a.say("There is nothing to talk about.")
	a.end()
	b.sees(".graph .chip", "Only chair answered")
	b.lacks(".graph .chip", "of 3 done")
	b.picture("only-the-manager")
}

func TestAxeFindsNothingWhereSomebodyChangesWhatAStepWasGiven(t *testing.T) {
	t.Parallel()
	source := axe(t)
	b, _ := reviewed(t)
	see := func(view string) {
		t.Helper()
		b.rests()
		if found := b.axeFinds(source); len(found) > 0 {
			t.Errorf("%s:\n%s", view, strings.Join(found, "\n"))
		}
		b.picture("given-axe-" + view)
	}
	b.click(".node", "critic")
	b.click(".panel button", "Was given")
	see("shown")
	b.click(".panel button", "Change and run from here")
	b.holds("find('.change-given textarea')")
	see("light")
	b.inDarkness()
	see("dark")
	b.do(chromedp.EmulateViewport(390, 844))
	see("phone")
}
