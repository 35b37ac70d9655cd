package browser

import (
	"strconv"
	"strings"
	"testing"
)

// manyFiles has the page be told of a library of thousands, without one being made.
const manyFiles = `void (() => {
	const ask = globalThis.fetch, at = (n) => new Date(1.7e12 + n * 60000).toISOString();
	const list = (n, more) => Array.from({ length: n }, (_, i) => ({ path: more.name + "-" + i + ".md", heading: "", kind: "document", size: 40 + i, changed: at(i), by: "clerk", ...more.with }));
	globalThis.fetch = (path, options) => {
		const found = String(path).match(/api\/(files|documents)$/)?.[1];
		if (!found) return ask(path, options);
		const files = found === "files" ? list(10000, { name: "note", with: { session: "none", title: "Notes" } }) : list(3000, { name: "document", with: { version: 1 } });
		return Promise.resolve(new Response(JSON.stringify({ files }), { headers: { "Content-Type": "application/json" } }));
	};
})()`

// Of thousands of files only those in view are drawn, and wherever somebody scrolls to,
// what belongs there is there.
func TestThousandsOfFilesAreDrawnWhereTheyAreLookedAt(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	b.sees(".agent", "clerk")
	value[any](b, manyFiles)
	value[any](b, "void (location.hash = '#/files')")
	b.sees(".library tr", "Document 0")
	drawn := func() int { return value[int](b, "document.querySelectorAll('.library tbody tr[tabindex]').length") }
	if n := drawn(); n > 120 {
		t.Errorf("%d rows of 13,000 are drawn", n)
	}
	const inView = `(() => {
		const box = find(".library").getBoundingClientRect();
		return all(".library tbody tr[tabindex]").filter((e) => e.getBoundingClientRect().top >= box.top && e.getBoundingClientRect().bottom <= box.bottom).map((e) => Number(e.innerText.match(/(?:Document|Note) (\d+)/)[1]));
	})()`
	whole := value[float64](b, "find('.library').scrollHeight")
	for name, at := range map[string]float64{"Document": 0.1, "Note": 0.7} {
		value[any](b, "void (find('.library').scrollTop = %s)", at*whole)
		b.holds("all('.library tbody tr[tabindex]').some((e) => e.getBoundingClientRect().top > 100 && e.getBoundingClientRect().bottom < innerHeight)")
		b.holds("(" + inView + ").length >= 8")
		if got := value[string](b, "find('.library').innerText"); !strings.Contains(got, name+" ") {
			t.Errorf("at %v of the list no %s is shown", at, name)
		}
		if n := drawn(); n > 120 {
			t.Errorf("%d rows of 13,000 are drawn at %v", n, at)
		}
	}
	value[any](b, "void (find('.library').scrollTop = 1e9)")
	b.sees(".library tr", "Note 9999")

	// j goes on from row to row, beyond what was drawn at first.
	value[any](b, "void (find('.library').scrollTop = 0)")
	b.sees(".library tr", "Document 0")
	value[any](b, "void document.activeElement?.blur()")
	for range 10 {
		b.press("j")
	}
	// A key that is held comes faster than the page is drawn.
	value[any](b, `(async () => {
		for (let n = 0; n < 50; n++) {
			document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
			for (let n = 0; n < 20; n++) await null;
		}
	})()`)
	b.holds("document.activeElement.matches('.library tr') && document.activeElement.innerText.includes(%s)", "Document "+strconv.Itoa(59))
}
