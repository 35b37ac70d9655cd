package browser

import (
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

// forModels is what only a model or a program can make sense of: what it is told to do,
// how its answers are written, what its tools are called.
var forModels = regexp.MustCompile(`\byou have not seen|Read it whole first|metadata\.|/outputs/|next_phase|"status"|user_stories|required, but missing|\bJSON\b|Used \w|_plan\b|\{[\w-]+\}|context deadline|no such file or directory|\bEOF\b` +
	`|\(status |\bstep [0-9a-z-]+ (failed|is)\b|in 0 commits|sandbox full|diff --git|pipeline\.\w|Artifacts|Qa reviewer|Plan planning|\b[0-9a-f]{7}\b`)

// saysNothingForModels looks at all that is shown.
func (b *tab) saysNothingForModels(where string) {
	b.t.Helper()
	shown := value[string](b, "document.querySelector('main').innerText")
	if found := forModels.FindString(shown); found != "" {
		b.t.Errorf("%s says %q to a person:\n%s", where, found, shown)
	}
	if len(shown) < 100 {
		b.t.Errorf("%s shows only %q", where, shown)
	}
}

// looksEverywhere takes pictures of what is shown, in both themes and on a telephone.
func (b *tab) looksEverywhere(name string) {
	b.t.Helper()
	b.inLight()
	b.rests()
	b.picture(name + "-light")
	b.inDarkness()
	b.picture(name + "-dark")
	b.do(chromedp.EmulateViewport(390, 844))
	b.rests()
	b.picture(name + "-phone")
	if width := value[int](b, "Math.max(document.documentElement.scrollWidth, ...all('.flow, .page').map((e) => e.scrollWidth))"); width > 390 {
		b.t.Errorf("%s scrolls sideways: %d px", name, width)
	}
	if found := value[[]string](b, cutPlaceholders); len(found) > 0 {
		b.t.Errorf("%s: hints that are cut: %v", name, found)
	}
	b.inLight()
	b.do(chromedp.EmulateViewport(1280, 800))
}

// A delivery whose builder does not do as it is told says to people what happened and what
// they can do. What the models answered is said in words, and is there as it was written
// for whoever wants it.
func TestADeliverySpeaksToPeople(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, repository(t, m)).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.click("form button", "Deliver")
	m.answers(t, "{\"status\": \"success\", \"phase\": \"requirements\", \"outputs\": {\"user_stories\": []}, \"next_phase\": {\"ready\": true}}") // it is asked to correct that
	m.thinks(t)
	for range 8 { // two conversations, each of which is ended after the fourth
		m.builds(t, "base.ok", "good\ngood\n")
	}
	b.sees("[data-outcome=failed]", "base.ok: it was about to be replaced without having been read whole")
	b.sees("[data-outcome=failed] .advice", "say what should be done differently. Or leave the step out") // there is no other model
	b.sees("[aria-label=Plan] [data-status=failed]", "The first file")
	b.sees("[data-outcome=failed]", "asked 8 times, and none of its answers could be used")
	b.sees("[data-outcome=failed]", "“The second file” is still to be done")
	b.sees("[aria-label=Plan] [data-status=todo]", "The second file")
	b.saysNothingForModels("the delivery")
	b.lacks(".delivery", "troupe/make-it")
	b.looksEverywhere("plain-delivery")
	b.click("[aria-label=Outcome] summary", "For developers") // one click away
	b.sees("[aria-label=Outcome] .where", "troupe/make-it-good-")
	b.click("[aria-label=Outcome] summary", "For developers")

	b.click(".tabs a", "Conversation")
	b.holds("(find('.earlier')?.click(), all('.phase-answer').length >= 13 && !find('.earlier'))")
	value[any](b, "void all('.turn').forEach((turn) => (turn.style.contentVisibility = 'visible'))") // else what is not in view has no text
	b.sees(".turn .phase-answer", "Its answer could not be used and is asked for again: it says nothing usable about user stories.")
	b.sees(".turn .phase-answer[data-phase=requirements]", "As a user I want it")
	b.sees(".turn .phase-answer[data-phase=requirements]", "AC1: It is good")
	b.sees(".turn .phase-answer[data-phase=planning]", "The second file")
	b.sees(".turn .phase-answer[data-phase=implementation]", "writes base.ok")
	b.sees(".turn header b", "Requirements")
	b.sees(".turn header b", "The first file")
	b.sees(".turn .did", "looked at the plan")
	b.sees(".turn .did", "Changed nothing, because not everything fitted")
	b.sees(".turn .doc b", "User stories")
	b.saysNothingForModels("the conversation")
	value[any](b, "void find('.phase-answer[data-phase=requirements]').scrollIntoView()")
	b.looksEverywhere("plain-conversation")
	b.click(".exact-answer summary", "The answer as it was written")
	b.sees(".exact-answer pre", `"user_stories"`)
	value[any](b, "void find('.exact-answer[open]').scrollIntoView()")
	b.picture("plain-answer")
}
