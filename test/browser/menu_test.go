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
