package browser

import "testing"

// The menu that a step of a bundle ends with is chosen from with a click, and said once. What
// waits behind the step chooses nothing.
func TestAMenuIsChosenFrom(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.click(".agent header button", "clerk")
	b.sees(".composer", "")
	b.write(".composer textarea", "Begin the brief")
	b.click(".composer button", "Send")
	step := m.asked(t)
	step.say("The vision is written.")
	b.sees(answers, "The vision is written.")
	b.write(".composer textarea", "Thank you.")
	b.click(".composer button", "Send after this answer")
	b.sees(".queues", "Thank you.")
	step.say("\n\n**Select an Option:** [A] Advanced Elicitation [P] Party Mode [C] Continue")
	step.end()
	b.sees(".queues", "Held: you are asked something first")
	b.sees("[aria-label=Question] label", "Advanced Elicitation")
	b.sees(answers, "The vision is written.")
	b.lacks(answers, "[P]")
	b.picture("menu")
	b.click("[aria-label=Question] label", "Continue")
	b.click("[aria-label=Question] button", "Answer")
	m.answers(t, "The users come next.")
	m.answers(t, "You are welcome.")
	b.sees(answers, "You are welcome.")
	b.holds("all('.said p').map((e) => e.innerText).join() === 'Begin the brief,Continue,Thank you.'")
}

// Of a list of which several may be chosen several are, with words of one's own beside them.
func TestSeveralChoicesAreMade(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Begin the brief")
	m.answers(t, "What do you need? Choose all that apply.\n\n1. PDF export\n2. One invoice a month\n3. Mail\n\nEnter the numbers, separated by commas.")
	card := "[aria-label=Question] "
	b.click(card+"label", "PDF export")
	b.click(card+"label", "One invoice a month")
	b.click(card+"label", "Mail")
	b.click(card+"label", "Mail")
	b.click(card+"label", "Something else")
	b.write(card+"textarea", "And a bell")
	b.picture("several")
	value[any](b, "void (location.hash = '#/')")
	b.sees(".waits a", "Answer")
	b.holds("!find('.waits .chip', 'PDF export')")
	b.click(".waits a", "Answer")
	b.holds("find(%s).value === 'And a bell'", card+"textarea")
	b.click(card+"label", "PDF export")
	b.click(card+"label", "One invoice a month")
	b.click(card+"button", "Answer")
	m.answers(t, "Noted.")
	b.sees(answers, "Noted.")
	b.holds("all('.said p').at(-1).innerText === 'PDF export; One invoice a month; And a bell'")
}
