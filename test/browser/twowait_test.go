package browser

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const twoWaitConfiguration = `model: stub/stub-1
providers: {stub: {base_url: URL}}
agents:
  writer: {instructions: You are the writer., skills: false, tools: [write_file]}
  poet: {instructions: You are the poet., skills: false, tools: [write_file]}
approve:
  - {tool: write_file, do: ask}
flows:
  both: {parallel: [writer, poet]}
`

// savesOnce saves a file by somebody.
func savesOnce(name string) reply {
	return reply{tool: "write_file", arguments: map[string]any{"content": "By the " + name + ".", "file_path": "{session-folder}/" + name + ".md"}}
}

// savesOften is somebody who saves a file and says so, a number of times.
func savesOften(name string, times int) script {
	return script{"You are the " + name, slices.Repeat([]reply{savesOnce(name), {text: "Saved by the " + name + "."}}, times)}
}

// servesTwo serves two agents who ask before they save something.
func (m *model) servesTwo(t *testing.T) (*house, *tab) {
	t.Helper()
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	return h, b
}

// Two agents wait for approval at the same time: each card is about its own call, the one that
// is answered goes, and the other stays and can be answered.
func TestTwoAgentsThatWaitAreAnsweredEachForItself(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesOften("writer", 2), savesOften("poet", 2))
	h, b := m.servesTwo(t)
	for _, order := range [][2]string{{"writer", "poet"}, {"poet", "writer"}} {
		first, second := order[0], order[1]
		session := h.runs(t, "both", "Both by "+first)
		b.looksAt(session, "flow")
		b.holds("all('.graph .needs').length === 2")
		b.holds("[...all('.graph .needs')].find((card) => card.textContent.includes('" + first + ".md')).querySelector('.row button').click() === undefined")
		b.sees(".graph "+approval, second+".md")
		b.holds("all('.graph .needs').length === 1 && find('.graph .chip', '" + second + " waits for you')")
		b.looksAt(session, "")
		b.reads(answers, "Saved by the "+first+".")
		b.holds("!find('.turn .acts', 'Saved " + second + ".md')")
		b.click(approval+" button", "Allow once")
		b.lacks(approval, "")
		b.sees("main", "Saved by the "+second+".")
	}
}

// Both cards can be answered one after the other, without a wait: the one whose turn comes
// later goes, too, while the other agent is at work, and is done when the run comes to it.
func TestTwoCardsAreAnsweredWithoutAWait(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both at once")
	for range 2 {
		a := m.asked(t)
		name := "writer"
		if strings.Contains(a.all, "You are the poet") {
			name = "poet"
		}
		a.call("write_file", map[string]any{"content": "By the " + name + ".", "file_path": "{session-folder}/" + name + ".md"})
	}
	b.looksAt(session, "flow")
	b.holds("all('.graph .needs').length === 2")
	b.holds("all('.graph .needs .row button:first-child').forEach((button) => button.click()) === undefined")
	first := m.asked(t)
	b.holds("all('.graph .needs').length === 0")
	b.lacks("[role=alert]", "")
	first.say("Saved by the first.")
	first.end()
	second := m.asked(t)
	second.say("Saved by the second.")
	second.end()
	b.looksAt(session, "")
	b.sees("main", "Saved by the first.")
	b.sees("main", "Saved by the second.")
	b.lacks(approval, "")
}

// The server is killed between the two answers: the second is taken, and the run goes on with both.
func TestOneOfTwoCardsIsAnsweredAfterARestart(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the writer", []reply{savesOnce("writer"), {text: "Half", held: true}, {text: "Saved by the writer."}}},
		script{"You are the poet", []reply{savesOnce("poet"), {text: "Saved by the poet."}}})
	k := serveKillableAs(t, m, twoWaitConfiguration)
	b := open(t, k.r.link)
	b.sees(".agent", "writer")
	session := k.runs(t, "both", "Both of you")
	b.looksAt(session, "flow")
	b.holds("all('.graph .needs').length === 2")
	b.holds("[...all('.graph .needs')].find((card) => card.textContent.includes('writer.md')).querySelector('.row button').click() === undefined")
	b.sees(".graph .node", "Writing, 1 word")
	k.isKilled(t, b)
	b.click(".graph "+approval+" button", "Allow once")
	b.sees(".graph .chip", "2 of 2 done")
	b.looksAt(session, "")
	b.sees("main", "Saved by the writer.")
	b.sees("main", "Saved by the poet.")
	for _, name := range []string{"writer", "poet"} {
		if files, _ := filepath.Glob(filepath.Join(k.dir, "data/agent-outputs/*/"+name+".md")); len(files) != 1 {
			t.Errorf("of the %s there are %v", name, files)
		}
	}
}

// What is allowed in the whole conversation on one card is allowed on the other, too, which asks
// no longer, unless that was not taken.
func TestACardThatAnotherCoversAsksNoLonger(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesOften("writer", 1), savesOften("poet", 1))
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both of you")
	b.looksAt(session, "")
	b.holds("all('.needs').length === 2")
	value[any](b, `void ((ask) => {
		globalThis.fetch = (path, options) => (String(path).endsWith("/answers") ? new Promise((resolve) => (globalThis.arrives = resolve)) : ask(path, options));
		globalThis.lets = () => (globalThis.fetch = ask);
	})(globalThis.fetch)`)
	clicked := value[string](b, "all('.needs h3')[0].innerText.replace('Save ', '').replace('?', '')")
	says := func() { // what is allowed stands at the card that was clicked
		t.Helper()
		b.holds("((said) => said.length === 2 && said.every((e) => e.innerText.endsWith(e.innerText.includes('save ' + %s) ? ', in this whole conversation' : ', as you had allowed in this whole conversation')))(all('.answered'))", clicked)
	}
	b.presses(".needs button", "Allow in this conversation")
	b.holds("globalThis.arrives && all('.needs').length === 2 && all('.needs .end button:disabled').length === 3") // nothing is given before it was taken
	b.sees(".needs", "Sending…")
	value[any](b, "void (lets(), arrives(new Response('{}', { status: 500 })))")
	b.holds("all('.needs').length === 2 && all('.needs .not-taken').length === 1")
	b.presses(".needs button", "Allow in this conversation")
	b.sees("main", "Saved by the writer.")
	b.sees("main", "Saved by the poet.")
	b.lacks(approval, "")
	says()
	b.do(chromedp.Reload())
	says()
	b.looksAt(session, "run") // both have waited
	b.holds("all('.lane[data-kind=ask]').length === 2")
}

// The second click of a double click does not answer the card that comes to where the first one
// was, in the conversation and on the first screen: nobody has read it.
func TestADoubleClickAnswersOneCard(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"conversation", "first screen"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m := newModel(t)
			m.directed(t, savesOften("writer", 1), savesOften("poet", 1))
			h, b := m.servesTwo(t)
			session := h.runs(t, "both", "Both of you")
			if place == "conversation" {
				b.looksAt(session, "")
				b.holds("all('.needs').length === 2")
			}
			const button = ":is(.needs, .waits) .end button"
			clicks := func(when, left int) {
				t.Helper()
				b.holds("!!find(%s, 'Allow once')", button)
				value[any](b, `(() => {
					const event = new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1, clientX: 100, clientY: 100 });
					const now = %s;
					Object.defineProperty(event, "timeStamp", { value: now });
					performance.now = () => now;
					globalThis.clicked = find(%s, "Allow once");
					clicked.dispatchEvent(event);
				})()`, when, button)
				b.holds("all(%s).filter((e) => e.innerText === 'Allow once').length === %s", button, left)
			}
			asked := 1 // at a time, on the first screen
			if place == "conversation" {
				asked = 2
			}
			clicks(1000, asked-1)
			b.holds("find(%s, 'Allow once') && !clicked.isConnected", button) // the other one
			clicks(1300, 1)
			b.holds("clicked.isConnected")
			clicks(3000, 0)
			b.looksAt(session, "")
			b.sees("main", "Saved by the writer.")
			b.sees("main", "Saved by the poet.")
		})
	}
}

// savesMuch has an agent save a long file, whose card is longer than the page.
func savesMuch(name string) script {
	return script{"You are the " + name, []reply{{tool: "write_file", arguments: map[string]any{"content": strings.Repeat("By the "+name+".\n", 40), "file_path": "{session-folder}/" + name + ".md"}}}}
}

// Two long cards: what holds them scrolls, and nothing in them does on its own. A toast and
// Latest lie on nothing, and on a phone a finger finds Stop.
func TestTwoLongCardsScrollAsOne(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesMuch("writer"), savesMuch("poet"))
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both of you")
	for _, width := range []int64{1280, 900, 390} {
		b.do(chromedp.EmulateViewport(width, 700))
		for _, view := range []string{"", "flow"} {
			b.looksAt(session, view)
			b.holds("all('.needs').length === 2")
			if inner := value[int](b, "all('.needs pre').filter((e) => e.scrollHeight > e.clientHeight + 1).length"); inner > 0 {
				t.Errorf("%d px, %q: %d parts of cards scroll on their own", width, view, inner)
			}
			if width < 760 {
				b.holds("(({ width, height }) => width >= 44 && height >= 44)(find('main button', 'Stop').getBoundingClientRect())")
			}
			// The answers of the card that is read are there.
			b.holds("find('.needs button', 'Allow once').getBoundingClientRect().bottom < (find('.composer')?.getBoundingClientRect().top ?? innerHeight)")
		}
		b.toastLiesOnNothing("Something that is said")
		b.looksAt(session, "")
		b.holds("((box) => (box.scrollTop = find('.latest') ? box.scrollTop : box.scrollTop > 100 ? 100 : 1e6, find('.latest')))(find('.flow'))")
		b.liesOnNothing(".latest")
	}
}

// A card that only peeks in has no answers at hand: nobody has read what they would be about. Once
// it was read from its beginning they are there, wherever its reader is in it.
func TestACardThatPeeksInIsNotAnswered(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesMuch("writer"), savesMuch("poet"))
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both of you")
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 700))
		b.looksAt(session, "flow") // until both ask
		b.holds("all('.graph .needs').length === 2")
		b.looksAt(session, "")
		b.holds("all('.turn .needs').length === 2")
		// offers says whether answers of the second card are in view once so much of it is.
		const offers = `((view, card) => {
			view.scrollTop += card.getBoundingClientRect().top - view.getBoundingClientRect().bottom + (%v);
			const button = [...card.querySelectorAll("button")].find((e) => e.innerText === "Allow once").getBoundingClientRect();
			return button.bottom <= view.getBoundingClientRect().bottom && button.top >= view.getBoundingClientRect().top;
		})(find(".flow"), all(".turn .needs")[1])`
		b.holds("find('.turn .needs').hasAttribute('data-read')")
		for range 3 {
			if value[bool](b, offers, 150) {
				t.Errorf("%d px: a card that peeks in can be answered", width)
			}
			b.draws()
		}
		b.picture("card-peeks-in")
		b.holds(offers, 450)
		b.holds(offers, 150) // it is known
	}
}

// A reason that is being written for a card is not lost when the card is answered in another window.
func TestAReasonIsKeptWhenItsCardIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	m.directed(t, savesMuch("writer"), savesMuch("poet"))
	h, b := m.servesTwo(t)
	b.looksAt(h.runs(t, "both", "Both of you"), "")
	b.holds("all('.needs').length === 2")
	const reason = "[aria-label='Why not, or what instead']"
	b.write(reason, "Call it otters")
	elsewhere := b.beside(value[string](b, "location.href"))
	elsewhere.holds("all('.needs').length === 2")
	elsewhere.presses(".needs button", "Allow once")
	elsewhere.sees(".answered", "You allowed")
	elsewhere.lacks(".unsent", "")
	elsewhere.close()
	b.holds("all('.needs').length === 1")
	b.sees(".unsent", "It was answered elsewhere. You had written:")
	b.holds("document.activeElement === find('.unsent input')")
	b.picture("answered-elsewhere")
	b.press("!")
	b.press(kb.Enter) // which is no answer to the other card
	b.do(chromedp.Reload())
	b.holds("find('.unsent input')?.value === 'Call it otters!' && all('.needs').length === 1")

	// On the first screen, too.
	b.at("#/")
	b.write(reason, "Call it seals")
	elsewhere = b.beside(value[string](b, "location.href"))
	elsewhere.presses("[aria-label='Waiting for you'] button", "Do not allow")
	elsewhere.lacks("[aria-label='Waiting for you']", "")
	elsewhere.close()
	b.holds("document.activeElement === find('.waits .unsent input') && document.activeElement.value === 'Call it seals'")
	b.picture("answered-elsewhere-home")
	b.click(".unsent button", "Drop it")
	b.lacks("[aria-label='Waiting for you']", "")
}

// What was sent is no longer among what was written and not sent.
func TestAReasonThatWasSentIsNotKept(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesMuch("writer"), savesMuch("poet"))
	h, b := m.servesTwo(t)
	b.looksAt(h.runs(t, "both", "Both of you"), "")
	b.holds("all('.needs').length === 2")
	const reason = "[aria-label='Why not, or what instead']"
	b.write(reason, "Nor this")
	b.presses(".needs button", "Do not allow")
	b.sees(".answered", "“Nor this”")
	b.lacks(".unsent", "")
	b.do(chromedp.Reload())
	b.sees(".answered", "“Nor this”")
	b.lacks(".unsent", "")

	// Nor where the window is gone before it hears that the answer was taken.
	b.holds("all('.needs').length === 1")
	value[any](b, `void ((ask) => {
		globalThis.fetch = (path, options) => (String(path).endsWith("/answers") ? ask(path, options).then(() => new Promise(() => {})) : ask(path, options));
	})(globalThis.fetch)`)
	b.write(reason, "Nor that")
	b.presses(".needs button", "Do not allow")
	b.sees(".answered", "“Nor that”")
	b.do(chromedp.Reload())
	b.sees(".answered", "“Nor that”")
	b.lacks(".unsent", "")
}

// What one agent asks while another is at work waits for an answer on the first screen, too.
func TestWhatIsAskedWhileOthersWorkIsAnsweredOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "One asks")
	one, other := m.asked(t), m.asked(t)
	one.call("write_file", map[string]any{"content": "It.", "file_path": "{session-folder}/one.md"})
	b.sees("[aria-label='Waiting for you']", "one.md")
	b.sees(".side .item[data-status=running]", "One asks")
	b.click("[aria-label='Waiting for you'] button", "Allow once")
	b.lacks("[aria-label='Waiting for you']", "")
	other.say("The other is done.")
	other.end()
	last := m.asked(t)
	last.say("Saved.")
	last.end()
	b.looksAt(session, "")
	b.sees("main", "Saved.")
	b.lacks(approval, "")
}

// A key that is pressed twice answers a card once, and nothing is said to have failed.
func TestAKeyThatIsPressedTwiceAnswersOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesOften("writer", 1), savesOften("poet", 1))
	h, b := m.servesTwo(t)
	b.looksAt(h.runs(t, "both", "Both of you"), "flow")
	b.holds("all('.graph .needs').length === 2")
	value[any](b, `void ((ask, button) => {
		globalThis.answers = 0;
		globalThis.fetch = (path, options) => ((answers += String(path).endsWith("/answers")), ask(path, options));
		button.click(), button.click();
	})(globalThis.fetch, find('.needs .end button', 'Allow in this conversation'))`)
	b.sees(".graph .chip", "2 of 2 done")
	b.holds("answers === 1")
	b.lacks(approval, "")
}

// What is aimed at a card is not for another one that takes its place: where a flow is looked at,
// new cards come last, and one that moves up takes no click for a moment.
func TestACardThatComesUnderThePointerIsNotAnswered(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both")
	asked := map[bool]*ask{}
	for range 2 {
		a := m.asked(t)
		asked[strings.Contains(a.all, "You are the poet")] = a
	}
	asks := func(name string) {
		save := savesOnce(name)
		asked[name == "poet"].call(save.tool, save.arguments)
	}
	b.looksAt(session, "flow")
	asks("poet")
	b.sees(".graph .needs", "poet")
	value[any](b, "void (performance.now = () => 1e6)")
	at := value[[]float64](b, "(({ left, top }) => [left + 9, top + 9])(find('.graph .needs button', 'Allow once').getBoundingClientRect())")
	asks("writer")
	b.holds("all('.graph .needs').length === 2")
	b.do(chromedp.MouseClickXY(at[0], at[1]))
	b.holds("all('.graph .needs').length === 1")
	b.sees(".graph .needs", "writer") // which was not read when poet's card went from there
	value[any](b, `void (find(".graph .needs button", "Allow once").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1, clientX: 1000, clientY: 700 })))`)
	m.answers(t, "Saved by the poet.")
	b.holds("all('.graph .needs').length === 1")
	value[any](b, "void (performance.now = () => 2e6)")
	b.click(".graph .needs button", "Allow once")
	m.answers(t, "Saved by the writer.")
	b.holds("all('.graph .needs').length === 0")
}

// A card that was there when a flow was stopped is there again once it goes on, while others work.
func TestACardIsBackWhenAFlowGoesOn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h, b := m.servesTwo(t)
	session := h.runs(t, "both", "Both")
	isPoet := func(a *ask) bool { return strings.Contains(a.all, "You are the poet") }
	var poet *ask
	for range 2 {
		if a := m.asked(t); isPoet(a) {
			poet = a
		} else {
			save := savesOnce("writer")
			a.call(save.tool, save.arguments)
		}
	}
	b.looksAt(session, "flow")
	b.sees(".graph .needs", "writer.md")
	b.click(".bar button", "Stop")
	poet.isLeft()
	b.lacks(".graph .needs", "")
	b.click(".graph .trouble button", "Go on")
	poet = m.asked(t)
	b.sees(".graph .needs", "writer.md")
	b.sees(".graph .chip", "writer waits for you")
	b.at("#/")
	b.sees(".waits b", "writer asks before doing something")
	b.looksAt(session, "flow")
	b.click(".graph .needs button", "Allow once")
	b.lacks(".graph .needs", "")
	poet.say("Done by the poet.")
	poet.end()
	m.answers(t, "Saved by the writer.")
	b.sees(".graph .chip", "2 of 2 done")
}
