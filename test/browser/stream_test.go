package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestAReloadInTheMiddleOfAnAnswerShowsTheWholeOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, ")
	b.reads(answers, "One,")
	b.do(chromedp.Reload())
	b.reads(answers, "One,")
	a.say("two, ")
	b.reads(answers, "One, two,")
	a.say("three.")
	a.end()
	b.reads(answers, "One, two, three.")
	b.reads(said, "Count to three")
	b.do(chromedp.Reload())
	b.reads(answers, "One, two, three.")
	b.reads(said, "Count to three")
}

// What is typed behind a message that waits for the server stays, once that has the message.
func TestWhatIsTypedBehindAMessageThatIsOnItsWayStays(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	r := newRelay(t, play(t, m).link)
	b := begin(t, r.link, "clerk")
	b.say("Hello")
	m.answers(t, "Hello.")
	b.reads(answers, "Hello.")
	value[any](b, `void ((ask) => { globalThis.fetch = async (path, options) => { if (String(path).endsWith("/messages")) await new Promise((go) => { globalThis.letGo = go; }); return ask(path, options); }; })(globalThis.fetch)`)
	r.cut()
	b.sees(".strip", "Troupe cannot be reached")
	b.write(composer, "Sent while off")
	b.press(kb.Enter)
	b.holds("globalThis.letGo && find(%s).value === 'Sent while off'", composer) // nobody has it yet
	b.write(composer, "Sent while off, and what comes next")
	r.mend()
	b.hurries()
	b.lacks(".strip", "")
	value[any](b, "void globalThis.letGo()")
	m.answers(t, "Heard.")
	b.reads(said, "Hello", "Sent while off")
	b.holds("find(%s).value === ', and what comes next'", composer)
	b.do(chromedp.Reload())
	b.reads(said, "Hello", "Sent while off")
	b.holds("find(%s).value === ', and what comes next'", composer)
}

func TestWhatIsSaidWhileTheConnectionIsLostIsMissedByNobody(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	r := newRelay(t, play(t, m).link)
	b := begin(t, r.link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, ")
	b.reads(answers, "One,")
	r.cut()
	b.sees(".strip", "Troupe cannot be reached")
	b.write(composer, "And on")
	b.picture("connection-lost")
	a.say("two, ")
	r.mend()
	b.hurries()
	b.reads(answers, "One, two,")
	b.lacks(".strip", "")
	r.cut()
	b.sees(".strip", "Troupe cannot be reached")
	a.say("three.")
	a.end()
	r.mend()
	b.reads(answers, "One, two, three.")
	b.holds("find(%s).value === 'And on'", composer) // what was typed meanwhile is still there

	b.say("And on")
	m.answers(t, "Four.")
	b.reads(answers, "One, two, three.", "Four.")
	b.reads(said, "Count to three", "And on")
}

func TestAStoppedAnswerStaysAndCanGoOn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, two")
	b.reads(answers, "One, two")
	b.picture("running")
	b.click(".composer button", "Stop")
	a.isLeft()
	b.sees(".trouble", "Stopped")
	b.sees(".turn", "The answer was cut off here.")
	b.reads(answers, "One, two")
	b.click(".trouble button", "Go on from here") // from what was said, which the model gets to see
	a = m.asked(t)
	if !strings.Contains(a.all, "One, two") || !strings.HasPrefix(a.user, "Go on where your answer broke off") {
		t.Errorf("the model is asked to go on with %q, of %s", a.user, a.all)
	}
	a.say("three.")
	a.end()
	b.reads(answers, "One, two", "three.")
	b.sees(".turn", "The answer was cut off here.")
	b.lacks(".trouble button", "")
	b.holds("find('.composer button', 'Send')")
}

// Whoever has a stopped answer begun anew still gets to what was said of it.
func TestAStoppedAnswerThatIsBegunAnewIsFolded(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, two")
	b.reads(answers, "One, two")
	b.click(".composer button", "Stop")
	a.isLeft()
	b.sees(".trouble button", "Begin it anew")
	value[any](b, "void find('.trouble button', 'Begin it anew').focus()")
	b.press(kb.Enter)
	m.answers(t, "Un, deux, trois.")
	b.holds("document.activeElement === find(%s)", composer) // the card is gone, and with it the button that had the focus
	b.reads(answers, "Un, deux, trois.")                     // in place of the half
	b.lacks(".trouble", "")
	b.click(".turn summary", "This answer broke off, and was begun anew")
	b.sees(".turn details[open] .plain", "One, two")
	b.do(chromedp.Reload())
	b.reads(answers, "Un, deux, trois.")
	b.sees(".turn summary", "This answer broke off, and was begun anew")
}

// Escape, twice, stops an answer, also where the next message is half written.
func TestEscapeTwiceStops(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, two")
	b.reads(answers, "One, two")
	b.write(composer, "And then")
	b.holds("find('.composer button', 'Stop')")
	value[any](b, "void [1, 2].forEach(() => find(%s).dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })))", composer) // at once: a busy machine may be slow
	a.isLeft()
	b.sees(".trouble", "Stopped")
	b.holds("find(%s).value === 'And then'", composer)
}

func TestAnEditedMessageBeginsAConversationOfItsOwn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	for _, word := range []string{"first", "second"} {
		b.say("Say " + word)
		m.answers(t, "The "+word+" answer.")
		b.sees(answers, "The "+word+" answer.")
	}
	original := value[string](b, "location.hash")
	b.holds("all(\"[aria-label='Edit and try again']\")[1]?.disabled === false")
	value[any](b, "all(\"[aria-label='Edit and try again']\")[1].click()")
	b.holds("find(%s).value === 'Say second'", composer)
	b.sees(".editing", "begins a conversation of its own")
	b.write(composer, "Say third")
	b.press(kb.Enter)
	m.answers(t, "The third answer.")
	b.reads(answers, "The first answer.", "The third answer.")
	b.reads(said, "Say first", "Say third")
	b.holds("location.hash !== %s && all('.side .item').length === 2", original)
	value[any](b, "void (location.hash = %s)", original)
	b.reads(answers, "The first answer.", "The second answer.")
	b.reads(said, "Say first", "Say second")
}

// Whoever goes up in a conversation finds the way back at once, also where nothing happens
// any more.
func TestWhoeverGoesUpFindsTheWayBack(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"At length", []reply{{text: strings.Repeat("A line of it.\n\n", 80)}}})
	h := play(t, m)
	b := open(t, h.link)
	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "At length"))
	b.holds("find('.turn .prose p') && find('.turn footer a') && ((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)(find('.flow'))")
	for range 3 {
		value[any](b, "void (find('.flow').scrollTop = 0)")
		b.holds("find('.latest')")
		b.click(".latest", "Latest")
		b.holds("!find('.latest') && ((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)(find('.flow'))")
	}
}
