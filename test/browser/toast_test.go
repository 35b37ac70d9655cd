package browser

import (
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
