package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pastes puts a text into a field as a person does who pastes it.
func (b *tab) pastes(selector, text string) {
	b.t.Helper()
	b.holds("find(%s)", selector)
	value[any](b, `void (() => {
		const held = new DataTransfer();
		held.setData("text/plain", %s);
		find(%s).focus();
		find(%s).dispatchEvent(new ClipboardEvent("paste", { clipboardData: held, bubbles: true, cancelable: true }));
	})()`, text, selector, selector)
}

// leavesFields takes the focus out of all fields.
func (b *tab) leavesFields() {
	b.t.Helper()
	value[any](b, "void document.activeElement.blur()")
}

// Whoever writes has what the keyboard promises: the last message again, others and files by
// name, and a long paste as a file.
func TestTheBoxDoesWhatItPromises(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Write the brief", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Brief\n"}}, {text: "It is written."}}})
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	long := strings.Repeat("word ", 900)
	b.pastes(".ask textarea", long)
	b.sees(".ask .attached", "pasted.txt")
	b.holds("find('.ask textarea').value === ''")

	b.at("#/s/" + h.asks(t, "clerk", "", "Write the brief"))
	b.sees(answers, "It is written.")
	b.pastes(composer, long)
	b.sees(attached, "pasted.txt")
	b.click(attached+" button", "Remove pasted.txt")
	b.lacks(attached, "")
	b.write(composer, "Ask @cri")
	b.sees(".offers", "critic")
	b.press(kb.Enter)
	b.holds("find(%s).value === 'Ask @critic '", composer)
	b.write(composer, "See #br")
	b.sees(".offers", "brief.md")
	b.press(kb.Tab)
	b.holds("find(%s).value === 'See brief.md '", composer)
	b.write(composer, "x")
	b.press(kb.Backspace)
	b.holds("find(%s).value === ''", composer)
	b.press(kb.ArrowUp)
	b.holds("find(%s).value === 'Write the brief' && find('.editing')", composer)
	b.press(kb.Escape)
	b.holds("find(%s).value === '' && !find('.editing')", composer)
}

// Single letters lead from one thing to the next, a card is answered without a mouse, and the
// tab's title says how much waits or was done meanwhile.
func TestLettersLeadOn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"Which way", []reply{{text: "Which way?\n\n1. Left\n2. Right"}, {text: "Left it is."}}},
		script{"Say which licences", []reply{{text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}}},
		script{"Write it twice", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/a.md", "content": "# A\n\nOne way.\n\nAnd more."}}, {tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/a.md", "content": "# A\n\nTwo ways.\n\nAnd less."}}, {text: "Written twice."}}},
	)
	h := play(t, m)
	way := h.asks(t, "clerk", "", "Which way?")
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(h.post(t, "/api/deliveries", map[string]string{"request": "A task"})), &made); err != nil {
		t.Fatal(err)
	}
	b := open(t, h.link)
	b.holds("document.title.startsWith('(2) ')")
	b.holds("find('dialog[open]') || void document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))") // keys are heeded
	b.press(kb.Escape)
	b.lacks("dialog", "")
	b.holds("document.activeElement !== document.body") // what is given the focus has it
	b.leavesFields()
	// A letter that is pressed at once is not written into a box that has the focus for a moment.
	value[any](b, "void addEventListener('focusin', ({ target }) => target.matches('textarea') && (window.strayed = true))")
	seen := map[string]bool{}
	for range 2 {
		b.press("w")
		b.holds("location.hash.startsWith('#/s/') && location.hash !== window.before")
		seen[value[string](b, "(window.before = location.hash)")] = true
		b.holds("document.activeElement.matches('#main .needs')")
		b.leavesFields()
	}
	if !seen["#/s/"+way] || !seen["#/s/"+made.Session+"/delivery"] {
		t.Errorf("w leads to %v", seen)
	}
	if value[bool](b, "!!window.strayed") {
		t.Error("w leads through the box")
	}

	b.at("#/s/" + way)
	b.holds("find('.asks .choice input')")
	value[any](b, "void find('.asks .choice input').focus()")
	b.press("?") // nobody writes into a choice
	b.sees("dialog", "Keyboard")
	b.press(kb.Escape)
	b.lacks("dialog", "Keyboard")
	b.holds("document.activeElement === find('.asks .choice input')")
	b.press(" ")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.sees(answers, "Left it is.")
	b.holds("document.title.startsWith('(1) ')") // it was seen

	twice := h.asks(t, "clerk", "", "Write it twice")
	b.at("#/s/" + twice)
	b.sees(answers, "Written twice.")
	b.holds("document.title.startsWith('(1) ')")
	b.leavesFields()
	b.press("j")
	b.holds("document.activeElement.matches('.said')")
	b.press("j")
	b.holds("document.activeElement.matches('.turn')")
	b.press("k")
	b.holds("document.activeElement.matches('.said')")
	b.press("m")
	b.holds("document.activeElement.closest('.pop.models')")
	b.press(kb.Escape)
	b.lacks(".pop.models", "")
	b.leavesFields()
	b.press("[")
	b.holds("find('.app.mini')")
	b.press("[")
	b.holds("!find('.app.mini')")
	b.at("#/s/" + twice + "?file=a.md")
	b.click(".panel .seg button", "Changes")
	b.holds("find('.panel ins')")
	b.leavesFields()
	b.press("j")
	b.holds("document.activeElement.matches('.sheet ins, .sheet del')")
	b.press("j")
	b.holds("document.activeElement.matches('.sheet ins, .sheet del') && document.activeElement !== find('.sheet ins, .sheet del')")

	// What is done while nobody looks is counted, too.
	b.at("#/")
	b.sees(".agent", "clerk")
	b.holds("document.title.startsWith('(1) ')")
	h.asks(t, "clerk", "", "Anything")
	b.holds("document.title.startsWith('(2) ')")
	b.click(".side .item", "Anything")
	b.holds("document.title.startsWith('(1) ')")
}

// Silence is said: after a while what is waited for, and then what can be done.
func TestSilenceIsSaid(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Think")
	a := m.asked(t)
	b.sees(".working", "clerk is thinking")
	later := func(seconds int) {
		t.Helper()
		value[any](b, "void ((now) => { globalThis.really ??= now; Date.now = () => globalThis.really.call(Date) + %s; })(Date.now)", seconds*1000)
	}
	later(20)
	b.sees(".working", "Waiting for the model, ")
	later(100)
	b.sees(".working", "The model has been thinking for 1 min")
	later(200)
	b.sees(".working", "Nothing for 3 min")
	later(0)
	a.say("Half of it")
	b.sees(".turn .prose", "Half of it")
	b.lacks(".working", "")
	later(20)
	b.sees(".working", "Waiting for the model, ") // also in the middle of an answer
	b.do(chromedp.Reload())
	b.sees(".turn .prose", "Half of it")
	later(200)
	b.sees(".working", "Nothing for 3 min")
	b.click(".working button", "stop")
	a.isLeft()
	b.sees(".trouble", "Stopped")
}

// Files are one card where they were saved together, tables are sorted, an answer is asked for
// again or gone on from, and in the library two are compared and several given to an agent.
func TestFilesDoWhatTheyPromise(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	var saving []reply
	for i := range 6 {
		saving = append(saving, reply{tool: "write_file", arguments: map[string]any{"file_path": fmt.Sprintf("{session-folder}/part-%d.csv", i), "content": "name,count\nb,9\na,10\nc,2\n"}})
	}
	var long strings.Builder
	for i := range 6 {
		fmt.Fprintf(&long, "## Part %d\n\n%s\n\n", i+1, strings.Repeat("A line of it. ", 60))
	}
	m.directed(t,
		script{"Six tables", append(saving, reply{text: "Six are saved."}, reply{text: "Saved once more."})},
		script{"A long one", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/long.md", "content": "# Long\n\n" + long.String()}}, {text: "It is long."}}},
		script{"name,count\nb,9", []reply{{text: "I have read them."}}},
	)
	h := play(t, m)
	six := h.asks(t, "clerk", "", "Six tables")
	b := open(t, h.link)
	b.at("#/s/" + six)
	b.holds("all('.docs.many').length === 1 && all('.docs.many .doc').length === 6")
	b.sees(".did", "Saved 6 files")
	b.click(".docs.many button", "part-3.csv")
	b.holds("find('.sheet-table th', 'count')")
	column := "all('.sheet-table td:nth-child(2)').map((e) => e.innerText).join(' ')"
	b.click(".sheet-table th button", "count")
	b.holds(column + " === '2 9 10' && find('.sheet-table th[aria-sort=ascending]', 'count')")
	b.click(".sheet-table th button", "count")
	b.holds(column + " === '10 9 2' && find('.sheet-table th[aria-sort=descending]', 'count')")

	b.at("#/s/" + h.asks(t, "clerk", "", "A long one") + "?file=long.md")
	b.sees(".panel .outline, .panel .outline-small", "Outline")
	b.click(".outline-small summary", "Outline")
	current := "all('.outline-small a[aria-current]').map((e) => e.innerText).join()"
	b.holds(current + " === find('.outline-small a').innerText") // at its title one is at its first part
	b.click(".outline-small a", "Part 5")
	b.holds(current + " === 'Part 5'")
	b.holds("(() => { const part = all('.sheet .prose h2, .sheet .prose .as2').find((e) => e.innerText === 'Part 5')?.getBoundingClientRect(), sheet = find('.sheet').getBoundingClientRect(); return part && part.top >= sheet.top - 2 && part.top < sheet.bottom; })()")
	value[any](b, "void (find('.sheet').scrollTop = 0)")
	b.holds(current + " === find('.outline-small a').innerText")
	value[any](b, "void (find('.sheet').scrollTop = 1e6)")
	b.holds(current + " === all('.outline-small a').at(-1).innerText")

	b.at("#/s/" + six)
	b.sees(answers, "Six are saved.")
	b.holds("all('.turn footer').every((e) => getComputedStyle(e).opacity === '1')") // also of older turns
	b.click(".turn footer button", "Go on from here")
	b.holds("location.hash.startsWith('#/s/') && !location.hash.includes(%s)", six)
	b.sees(answers, "Six are saved.")
	b.at("#/s/" + six)
	b.holds("location.hash.includes(%s)", six)
	b.click(".turn footer button", "Ask again")
	b.sees(answers, "Saved once more.")
	b.holds("!location.hash.includes(%s)", six)

	b.at("#/files")
	for _, name := range []string{"part-0.csv", "long.md"} {
		b.presses(`[aria-label="Choose `+name+`"]`, "")
	}
	b.sees(".chosen", "2 chosen")
	b.click(".chosen button", "Compare")
	b.sees(".compare", "Part 1")
	b.click(".compare button", "Close the comparison")
	b.chooses(".chosen select", "clerk")
	b.holds("all('.composer .attached li').length === 2")
	b.lacks(".said", "")
	b.write(".composer textarea", "Here they are. Add them up.")
	b.click(".composer button", "Send")
	b.sees(answers, "I have read them.")
	b.holds("all('.said .attachment').length === 2")
}

// Activity shows what fits its filters, and nothing else.
func TestActivityIsFiltered(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"You are the critic", []reply{{text: "Badgers."}}},
		script{"Read it", []reply{{tool: "read_file", arguments: map[string]any{"file_path": "{session-folder}/none.md"}}, {text: "Otters."}}},
	)
	h := play(t, m)
	h.asks(t, "clerk", "", "Read it")
	h.asks(t, "critic", "", "Look")
	b := open(t, h.link)
	b.at("#/activity")
	b.sees(".hits", "Otters.")
	b.sees(".hits", "Badgers.")
	b.sees(".hits li", "read_file {session-folder}/none.md")
	b.sees(".hits li", "Read it") // which is what the conversation is called
	b.write("input[name=q]", "Badgers")
	b.lacks(".hits", "Otters.")
	b.sees(".hits", "Badgers.")
	b.write("input[name=q]", "x")
	b.press(kb.Backspace)
	b.write("input[name=agent]", "clerk")
	b.sees(".hits", "Otters.")
	b.lacks(".hits", "Badgers.")
	b.write("input[name=tool]", "read_file")
	b.holds("all('.hits li').length > 0 && all('.hits li').every((e) => e.innerText.includes('read_file'))")
	b.presses(".chips input[type=checkbox]", "")
	b.holds("all('.hits li').length > 0 && all('.hits li').every((e) => e.dataset.level === 'error')")
	b.leavesFields()
	b.press("j")
	b.holds("document.activeElement.matches('.hits summary')")
}
