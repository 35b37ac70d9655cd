package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What waits to be sent can be changed with all its lines, and what somebody makes of it is nowhere
// lost, also where it goes out meanwhile.
func TestWhatWaitsIsChangedAndNotLost(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	id := value[string](b, "location.hash.split('/')[2]")
	queued := func(want string) {
		t.Helper()
		b.holds("fetch('api/sessions/' + %s + '/queue').then((r) => r.json()).then(({ messages }) => messages.map((m) => m.text).join('|') === %s)", id, want)
	}
	b.say("Begin")
	working := m.asked(t)
	working.say("At work.")
	b.sees(answers, "At work.")
	b.write(composer, "First line\n\n- a list")
	b.presses(".composer button", "Send")
	b.enter(".queues button", "Edit the queued message")
	b.holds("find('.queues textarea').value === %s", "First line\n\n- a list")
	b.write(".queues textarea", "First line\n\n- a longer list")
	b.press(kb.Enter)
	b.lacks(".queues textarea", "")
	queued("First line\n\n- a longer list")

	b.enter(".queues button", "Edit the queued message")
	b.write(".queues textarea", "Not this")
	b.press(kb.Escape)
	b.lacks(".queues textarea", "")
	queued("First line\n\n- a longer list")

	b.enter(".queues button", "Edit the queued message")
	b.write(".queues textarea", "Second thought\nof it")
	b.do(chromedp.Reload()) // as where a browser crashes
	b.holds("find('.queues textarea')?.value === %s", "Second thought\nof it")
	b.write(composer, "And this")
	working.end()
	next := m.asked(t)
	b.toasted("That message has gone out meanwhile, or was removed, as it was. What you made of it is in the box.")
	b.holds("find(%s).value === %s && !find('.queues')", composer, "And this\n\nSecond thought\nof it")
	next.say("Heard.")
	next.end()
	b.sees(said, "a longer list")
}

// What is typed while Find is on its way is what is looked for, and nothing of it is in the box.
func TestFindHasWhatIsTypedBeforeItIsThere(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Otters")
	m.answers(t, "They swim.")
	b.sees(answers, "They swim.")
	b.holds("(find(%s).focus(), document.activeElement.matches(%s))", composer, composer)
	b.slow(300)
	b.press("k", kb.ModifierCtrl)
	for _, letter := range "otters" {
		b.press(string(letter))
	}
	b.slow(0)
	b.holds("find('.finder input')?.value === 'otters' && find(%s).value === ''", composer)
	b.sees(".finder .opt", "Otters")
	b.press("s")
	b.holds("find('.finder input').value === 'otterss'")
}

// A document that is changed by hand in one window is the same in the others, and a box that was ticked
// too late can be ticked then.
func TestWhatIsTickedInOneWindowIsSeenInTheOthers(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Write it down")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/list.md", "content": "# To do\n\n- [ ] one\n- [ ] two\n"})
	m.answers(t, "It is written.")
	b.sees(answers, "It is written.")
	b.click(".doc button", "")
	const boxes = "all('.panel .task input').map((e) => (e.checked ? 'x' : '-')).join('') === %s"
	b.holds(boxes, "--")
	other := b.beside(value[string](b, "location.href"))
	other.holds(boxes, "--")
	b.front()
	b.holds("(all('.panel .task input')[0].click(), true)")
	b.toasted("Saved as version 2")
	other.holds(boxes, "x-")
	other.sees(".panel .pick", "Version 2")

	other.front()
	value[any](other, "void (globalThis.well = fetch, globalThis.fetch = () => new Promise(() => {}))") // it hears of nothing
	b.front()
	b.holds("(all('.panel .task input')[1].click(), true)")
	b.toasted("Saved as version 3")
	other.front()
	other.holds("((globalThis.fetch = well), all('.panel .task input')[0].click(), true)")
	other.toasted("Somebody saved another version meanwhile. Look at that one first.")
	other.holds(boxes, "xx")
	other.sees(".panel .pick", "Version 3")
	other.holds("(all('.panel .task input')[0].click(), true)")
	other.toasted("Saved as version 4")
	other.holds(boxes, "-x")
}

// Whoever types into a message that waits while that goes out goes on in the box: no letter is lost,
// and none is a key.
func TestWhoeverTypesGoesOnInTheBox(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Begin")
	working := m.asked(t)
	working.say("At work.")
	b.sees(answers, "At work.")
	b.write(composer, "Then this")
	b.presses(".composer button", "Send")
	b.enter(".queues button", "Edit the queued message")
	b.hasFocus(".queues textarea")
	b.press(" ")
	working.end()
	next := m.asked(t)
	const letters = "and go home, ] please"
	for _, letter := range letters {
		b.press(string(letter))
	}
	b.hasFocus(composer)
	b.press("!")
	b.holds("find(%s).value === %s && !find('.queues')", composer, "Then this "+letters+"!")
	next.say("Heard.")
	next.end()
}

// What waits is the same in every window, and nobody replaces what they have not seen.
func TestWhatWaitsIsTheSameInEveryWindow(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Begin")
	working := m.asked(t)
	working.say("At work.")
	b.sees(answers, "At work.")
	b.write(composer, "One")
	b.presses(".composer button", "Send")
	b.sees(".queues", "“One”")
	other := open(t, h.link)
	other.sees(".agent", "clerk")
	value[any](other, "void (location.hash = %s)", value[string](b, "location.hash"))
	other.presses(".queues button", "Edit the queued message")
	other.write(".queues textarea", "One of theirs")

	b.presses(".queues button", "Edit the queued message")
	b.write(".queues textarea", "One of ours")
	b.presses(".queues button", "Keep")
	b.sees(".queues", "“One of ours”")
	other.presses(".queues button", "Keep")
	other.toasted("It was changed meanwhile to “One of ours”. Keep yours once more, or cancel.")
	other.holds("find('.queues textarea').value === 'One of theirs'")
	other.presses(".queues button", "Cancel")
	other.sees(".queues", "“One of ours”")
	other.presses(".queues button", "Edit the queued message")
	other.write(".queues textarea", "One of both")
	other.presses(".queues button", "Keep")
	b.sees(".queues", "“One of both”")
	working.end()
	next := m.asked(t)
	next.say("Heard.")
	next.end()
	b.sees(said, "One of both")
}

// Enter in Find chooses what is found by the words that are there, also where it is pressed before
// that has come.
func TestEnterWaitsForWhatIsFound(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Otters")
	m.answers(t, "They swim.")
	b.sees(answers, "They swim.")
	b.click(".side .find button", "Find anything")
	b.write(".finder input", "otters")
	b.press(kb.Enter)
	b.lacks(".finder", "")
	b.holds("location.hash.startsWith('#/s/')")

	b.click(".side .find button", "Find anything")
	b.write(".finder input", "otters")
	b.sees(".finder .opt", "Otters")
	b.write(".finder input", "limits")
	b.press(kb.Enter)
	b.sees("h2", "Limits")

	b.click(".side .find button", "Find anything")
	b.write(".finder input", "there is no such thing")
	b.press(kb.Enter)
	b.sees(".finder", "Nothing was found.")
}

// What somebody is writing when an agent asks whether it may do something is no answer to that: it
// is sent after it. So is what was on its way.
func TestWhatWasBegunBeforeAnApprovalIsNoAnswer(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	id := value[string](b, "location.hash.split('/')[2]")
	b.say("Write it down")
	a := m.asked(t)
	a.say("One moment.")
	b.sees(answers, "One moment.")
	b.write(composer, "And mention the budget")
	a.call("write_file", map[string]any{"file_path": "{session-folder}/guarded-a.md", "content": "It."})
	b.sees(approval, "What you had begun to write waits until you have decided.")
	b.press(kb.Enter)
	b.sees(".queues", "Held: you are asked something first.")
	b.sees(".queues", "And mention the budget")
	value[any](b, "fetch('api/sessions/' + %s + '/messages', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ text: 'And the date', when: 'after' }) })", id)
	b.sees(".queues", "And the date")
	b.click(approval+" button", "Allow once")
	m.answers(t, "Saved.")
	b.sees(said, "And mention the budget")
	for range 2 {
		m.answers(t, "Yes.")
	}
	b.sees(said, "And the date")
	b.holds("all('.answered').length === 1 && find('.answered', 'You allowed')")

	b.say("And another") // once the box was empty, what is written is an answer
	m.guarded(t, "b.md")
	b.sees(approval, "guarded-b.md")
	b.lacks(approval, "What you had begun")
	b.say("Not that one")
	m.answers(t, "All right.")
	b.sees(".answered[data-state=refused]", "You did not allow")
}

// What is held until something was answered goes out after that, also where the answer is given in
// words; and nobody sends it as the answer.
func TestWhatIsHeldGoesOutAfterAnAnswerInWords(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	id := value[string](b, "location.hash.split('/')[2]")
	b.say("Write it down")
	a := m.asked(t)
	a.say("One moment.")
	b.sees(answers, "One moment.")
	b.write(composer, "And mention the budget")
	a.call("write_file", map[string]any{"file_path": "{session-folder}/guarded-a.md", "content": "It."})
	b.sees(approval, "What you had begun to write")
	b.press(kb.Enter)
	b.sees(".queues", "Held: you are asked something first.")
	b.lacks(".queues button", "Send it")
	b.holds("fetch('api/sessions/' + %s + '/queue/1', { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ now: true }) }).then((r) => r.status === 409)", id)
	b.sees(approval, "guarded-a.md")
	b.say("no, leave that file alone")
	m.answers(t, "All right.")
	b.sees(".answered[data-state=refused]", "You did not allow")
	m.answers(t, "It is mentioned.")
	b.sees(said, "And mention the budget")
	b.sees(answers, "It is mentioned.")
	b.lacks(".queues", "")
}
