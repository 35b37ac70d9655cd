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
