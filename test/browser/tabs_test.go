package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// strips has a page count how often it said that the server cannot be reached.
const strips = `void (() => {
	globalThis.stripsSeen = 0;
	new MutationObserver((changes) => {
		for (const { addedNodes } of changes) for (const node of addedNodes) if (node.matches?.(".strip")) stripsSeen++;
	}).observe(document, { childList: true, subtree: true });
})()`

// A browser has six connections for a server, however many tabs: each tab is live when it is looked
// at, and has missed nothing. A title says in all of them that somebody waits.
func TestManyTabsOfOneBrowserAreLiveWhenTheyAreLookedAt(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	h := play(t, m)
	const many = 10
	origin, _, _ := strings.Cut(h.link, "#")
	tabs, held := make([]*tab, many), make([]*ask, many)
	for n := range tabs {
		question := fmt.Sprintf("Question %d", n)
		if n == 0 {
			tabs[n] = open(t, h.link)
		} else {
			tabs[n] = tabs[n-1].beside(origin)
		}
		b := tabs[n]
		value[any](b, strips)
		b.click(".agent header button", "clerk")
		b.sees(".beginning h2", "clerk")
		b.say(question)
		held[n] = m.asked(t)
		held[n].say("One, ")
		b.reads(answers, "One,")
		if n > 0 && n < many-2 {
			held[n].end()
			b.holds("find('.composer button', 'Send') && !find('.composer button', 'after')")
		}
	}
	first, last := tabs[0], tabs[many-1]
	first.holds("document.hidden")

	// The last one is live, and knows how the others stand.
	last.holds("all('.side .item').length === %s", many)
	held[0].say("two, ")
	held[many-1].say("two, ")
	last.reads(answers, "One, two,")
	last.write(composer, "Not sent yet")

	// So is the first, when it is brought to the front.
	first.front()
	first.reads(answers, "One, two,")
	held[0].say("three.")
	first.reads(answers, "One, two, three.")
	held[0].end()
	first.holds("find('.composer button', 'Send') && !find('.composer button', 'after')")
	held[many-1].say("three.")
	held[many-1].end()
	first.holds("all('.side .item[data-status=completed]').length === %s", many-1)

	// Of what waits in one of them all others tell.
	held[many-2].call("write_file", map[string]string{"file_path": "guarded.md", "content": "x"})
	for n, b := range tabs {
		b.holds("/^\\(\\d+\\) /.test(document.title)")
		if n > 0 {
			b.holds("document.hidden")
		}
	}
	first.sees(".side .item[data-status=waiting]", fmt.Sprintf("Question %d", many-2))

	last.front()
	last.reads(answers, "One, two, three.")
	last.holds("find('.side .item[aria-current=page]') && !find('.side .item[aria-current=page] .unseen')")
	last.holds("find(%s).value === 'Not sent yet'", composer)
	last.say("Not sent yet")
	m.answers(t, "Four.")
	last.reads(answers, "One, two, three.", "Four.")
	tabs[many-2].front()
	tabs[many-2].click(".needs button", "Allow")
	m.answers(t, "It is written.")
	tabs[many-2].sees(answers, "It is written.")
	for n, b := range tabs {
		if seen := value[int](b, "stripsSeen"); seen > 0 {
			t.Errorf("tab %d said %d times that the server cannot be reached", n, seen)
		}
	}
}

// notes has a page keep what it would have the browser say.
const notes = `void (() => {
	globalThis.Notification = class { static permission = "granted"; constructor(text) { (globalThis.saidAloud ??= []).push(text); } };
	localStorage.setItem("troupe.notify", "true");
})()`

// When nobody looks at any of its tabs, the browser says once that somebody waits; when somebody
// looks at one of them, it does not.
func TestOneOfManyTabsSaysThatSomebodyWaits(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	h := play(t, m)
	origin, _, _ := strings.Cut(h.link, "#")
	tabs := []*tab{open(t, h.link)}
	for range 3 {
		tabs = append(tabs, tabs[len(tabs)-1].beside(origin))
	}
	for _, b := range tabs {
		b.sees(".agent", "clerk")
		value[any](b, notes)
	}
	waits := func(text string) {
		t.Helper()
		id := h.begins(t, "clerk", text)
		m.calls(t, "write_file", map[string]string{"file_path": "guarded.md", "content": "x"})
		for _, b := range tabs {
			b.sees(".side .item[data-status=waiting]", text)
		}
		h.get(t, "/api/sessions/"+id)
	}
	waits("Looked at")
	elsewhere := tabIn(t, tabs[0].ctx, chromedp.WithNewWindow(false))
	tabs[3].holds("document.hidden")
	waits("Not looked at")
	tabs[3].holds("globalThis.saidAloud?.length === 1")
	for n, b := range tabs[:3] {
		if value[bool](b, "!!globalThis.saidAloud") {
			t.Errorf("tab %d says it, too", n)
		}
	}

	// The one that hears for all is closed without being looked at.
	tabs[3].close()
	tabs = tabs[:3]
	waits("After it was closed")
	tabs[2].holds("globalThis.saidAloud?.length === 1")
	elsewhere.holds("!document.hidden")
}

// What is deleted in one tab goes from the list of another, which was there before the server was
// restarted; and a list after a restart is what the server has.
func TestAListAfterARestartIsWhatTheServerHas(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t)
	k := serveKillable(t, m)
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	early, late, kept := k.begins(t, "clerk", "Early"), k.begins(t, "clerk", "Late"), k.begins(t, "clerk", "Kept")
	value[any](b, "void (location.hash = '#/s/' + %s)", kept)
	b.holds("all('.side .item[data-status=completed]').length === 3")
	k.end(os.Kill)
	b.sees(".strip", "Troupe cannot be reached")
	k.serve(t)
	k.must(t, "DELETE", "/api/sessions/"+early, nil)
	k.r.leadTo(t, k.link)
	b.hurries()
	b.lacks(".strip", "")
	b.lacks(".side .item", "Early")
	b.sees(".side .item", "Late")
	k.must(t, "DELETE", "/api/sessions/"+late, nil)
	b.lacks(".side .item", "Late")
	b.sees(".side .item", "Kept")
}
