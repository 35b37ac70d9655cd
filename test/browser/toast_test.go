package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// inState does something with what the page is in.
func (b *tab) inState(act string, args ...any) {
	b.t.Helper()
	value[any](b, "void import(document.querySelector('script[type=module]').src.replace(/app\\.js.*/, 'state.js')).then((state) => "+act+")", args...)
}

// toastLiesOnNothing has the page say something, and checks that nothing is below it.
func (b *tab) toastLiesOnNothing(text string) {
	b.t.Helper()
	b.inState("state.toast(%s)", text)
	b.sees(".toast", text)
	b.liesOnNothing(".toast")
	b.presses(".toast button", "")
	b.lacks(".toast", "")
}

// liesOnNothing checks that nothing is below an element.
func (b *tab) liesOnNothing(what string) {
	b.t.Helper()
	if covered := value[[]string](b, `(() => {
		const e = find(%s), { left, top, width, height } = e.getBoundingClientRect(), parts = [0.01, 0.25, 0.5, 0.75, 0.99];
		const below = parts.flatMap((x) => parts.flatMap((y) => document.elementsFromPoint(left + x * width, top + y * height)));
		return [...new Set(below)].filter((other) => !other.contains(e) && !e.contains(other) && !other.closest(".toasts")).map((other) => other.localName + "." + other.className);
	})()`, what); len(covered) > 0 {
		b.t.Errorf("%s, %d px: %s lies on %q", value[string](b, "location.hash"), value[int](b, "innerWidth"), what, covered)
	}
}

// A toast lies on nothing that is read or pressed, wherever it is said: on Home not on the next
// card that waits, in a conversation not on its first message, and not on the head of the page
// while the server cannot be reached.
func TestAToastLiesOnNothing(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	saves := func(name string) script {
		return script{"You are the " + name, []reply{{tool: "write_file", arguments: map[string]any{"content": "By the " + name + ".", "file_path": "{session-folder}/" + name + ".md"}}}}
	}
	m.directed(t, saves("writer"), saves("poet"))
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	session := h.runs(t, "both", "Both of you")
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 700))
		for _, place := range []struct{ hash, shows string }{{"#/", ".waits"}, {"#/s/" + session, ".needs"}, {"#/s/" + session + "?file=*", ".panel"}, {"#/files", ".library"}, {"#/settings/look", ".rows"}} {
			value[any](b, "void (location.hash = %s)", place.hash)
			b.holds("all(%s).length > 0", place.shows)
			b.toastLiesOnNothing("Troupe was restarted. What was finished is on record.")
			b.inState("state.update({ connection: 'lost', retryAt: Date.now() + 60000 })")
			b.holds("find('.strip')")
			b.toastLiesOnNothing("Troupe cannot be reached. What you typed is kept.")
			b.inState("state.update({ connection: 'live' })")
		}
	}
}

// draws waits until the page was drawn again, a few times.
func (b *tab) draws() {
	b.t.Helper()
	value[any](b, "void (globalThis.drawn = 0, requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => (drawn = 1)))))")
	b.holds("globalThis.drawn")
}

// movesNothing has the page say something, and checks that nothing moves for it, neither when it
// comes nor when it goes, but what is pinned to the lower edge: that is to be pressed, and stays
// above it. At the end of a conversation it takes no room but what is free.
func (b *tab) movesNothing(place string) {
	b.t.Helper()
	b.holds("!find('.bones') && !find('.toast')")
	const tops = "JSON.stringify([...document.querySelectorAll('body *')].map((e) => e.getBoundingClientRect().top))"
	for before := ""; before != value[string](b, tops); { // until it stands still
		before = value[string](b, tops)
		b.draws()
	}
	value[any](b, `void (() => {
		const pinned = ".toasts, .needs .end, .zoom, .live-chip";
		const places = () => new Map([...document.querySelectorAll("body *")].filter((e) => seen(e) && !e.closest(pinned) && !(innerWidth < 760 && e.closest(".talk:has(~ .panel)"))) // which covers it
			.map((e) => [e, e.getBoundingClientRect()]));
		const before = places();
		globalThis.moved = () => [...places()].filter(([e, now]) => before.has(e) && Math.hypot(now.left - before.get(e).left, now.top - before.get(e).top) > 1).map(([e, now]) => e.localName + "." + e.className + " " + Math.round(now.top - before.get(e).top));
	})()`)
	drawn := func(when string) {
		b.t.Helper()
		b.draws()
		if moved := value[[]string](b, "moved()"); len(moved) > 0 {
			b.t.Errorf("%s, %d px: when a toast %s, these move: %.300q", place, value[int](b, "innerWidth"), when, moved)
		}
	}
	b.inState("state.toast(%s)", "Troupe was restarted. What was finished is on record.")
	b.sees(".toast", "")
	drawn("comes")
	b.liesOnNothing(".toast")
	if place == "conversation" && !value[bool](b, "((foot, view) => foot.top > view.top && foot.bottom <= view.bottom)(find('.turn:last-of-type footer').getBoundingClientRect(), find('.flow').getBoundingClientRect())") {
		b.t.Errorf("%d px: what can be done with the last answer is not at hand", value[int](b, "innerWidth"))
	}
	b.picture(fmt.Sprintf("toast-%s-%d", strings.ReplaceAll(place, " ", "-"), value[int](b, "innerWidth")))
	b.presses(".toast button", "")
	b.lacks(".toast", "")
	drawn("goes")
}

// Nothing that is read moves for a toast, and the box that somebody writes into neither.
func TestAToastMovesNothing(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Count slowly", []reply{{text: strings.Repeat("One, two, three.\n\n", 60)}}}, savesOften("writer", 1), savesOften("poet", 1))
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	long := h.begins(t, "poet", "Count slowly")
	waits := h.runs(t, "both", "Both of you")
	for _, size := range [][2]int64{{1280, 800}, {390, 800}} {
		b.do(chromedp.EmulateViewport(size[0], size[1]))
		for _, place := range []struct{ name, hash, shows, then string }{
			{"home", "#/", ".waits .end button", "1"},
			{"home at its end", "#/", ".waits .end button", "find('.page').scrollTop = 1e6"},
			{"conversation", "#/s/" + long, ".turn .prose", "((box) => box.scrollTop > 100 && box.scrollHeight - box.scrollTop - box.clientHeight < 2)(find('.flow'))"},
			{"conversation in its middle", "#/s/" + long, ".turn .prose", "find('.flow').scrollTop = 300"},
			{"conversation with files", "#/s/" + long + "?file=*", ".panel h2", "1"},
			{"waiting", "#/s/" + waits, ".needs", "all('.needs').length === 2"},
			{"flow", "#/s/" + waits + "/flow", ".graph .needs", "all('.graph .needs').length === 2"},
			{"run", "#/s/" + long + "/run", ".lane", "1"},
			{"files", "#/files", ".library", "1"},
			{"settings", "#/settings/look", ".rows", "1"},
		} {
			b.at(place.hash)
			b.holds("all(%s).length > 0", place.shows)
			b.holds(place.then)
			b.movesNothing(place.name)
		}
		b.at("#/")
		b.click(".agent header button", "writer")
		b.sees(".beginning h2", "writer")
		b.movesNothing("beginning")
	}
}

// A document that is opened while something is said has the whole window of a phone: its parts
// are loaded after the address has changed, and what is said then moves below it.
func TestADocumentHasTheWindowWhileSomethingIsSaid(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the writer", []reply{{tool: "write_file", arguments: map[string]any{"content": "# By the writer\n", "file_path": "{session-folder}/writer.md"}}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	session := h.runs(t, "both", "Both of you")
	for _, width := range []int64{390, 1280} {
		b.do(chromedp.EmulateViewport(width, 700))
		value[any](b, "void (location.hash = %s)", "#/s/"+session)
		b.sees(".needs", "")
		b.inState("state.toast('You answered')")
		b.sees(".talk > .toasts", "You answered")
		value[any](b, "void (location.hash = %s)", "#/s/"+session+"?file=*")
		b.sees(".panel h2", "Files")
		if width == 390 {
			b.holds("(() => { const toast = find('.toast').getBoundingClientRect(), panel = find('.panel').getBoundingClientRect(); return panel.top === 0 && panel.bottom > 600 && toast.top >= panel.bottom; })()")
		}
		b.liesOnNothing(".toast")
		value[any](b, "void (location.hash = %s)", "#/s/"+session)
		b.lacks(".panel", "")
		b.sees(".talk > .toasts", "You answered")
		b.presses(".toast button", "")
		b.lacks(".toast", "")
	}
}
