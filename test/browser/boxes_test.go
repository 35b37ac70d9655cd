package browser

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// hit taps or clicks beside the middle of an element.
func (b *tab) hit(selector string, dx, dy float64) {
	b.t.Helper()
	b.rests()
	b.holds(`((e) => {
		const { left, top, width, height } = e.getBoundingClientRect(), x = left + width / 2 + %s, y = top + height / 2 + %s;
		document.elementFromPoint(x, y).click();
		return true;
	})(find(%s))`, dx, dy, selector)
}

// A box is ticked by whoever hits what is around it, or the words that belong to it: by a finger 44
// pixels of it, by a mouse 24.
func TestABoxIsHitByAFinger(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]struct {
		reach   float64
		prepare func(*tab)
	}{"finger": {21, (*tab).byTouch}, "mouse": {11, func(*tab) {}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := play(t, newModel(t))
			content := "# Otters\n\n## One\n\n- [ ] Look for **one**, with [a link](https://example.org)\n  - [ ] Below it\n\n## Two\n\n## Three\n\nWords.\n"
			h.post(t, "/api/documents", map[string]any{"name": "otters.md", "data": base64.StdEncoding.EncodeToString([]byte(content))})
			b := open(t, h.link)
			by.prepare(b)
			b.holds("find('.agent, .ask')")
			if name == "finger" {
				if width := value[float64](b, "find('.ask [aria-label=\"Attach files\"]').getBoundingClientRect().width"); width < 43.5 {
					t.Errorf("Attach is %v px wide", width)
				}
			}
			b.at("#/files")
			const box = ".library input[type=checkbox]"
			for n, at := range [][2]float64{{by.reach, 0}, {-by.reach, 0}, {0, by.reach}, {0, -by.reach}} {
				b.holds("find(%s)", box)
				b.hit(box, at[0], at[1])
				b.holds("find(%s).checked === %s && location.hash === '#/files'", box, n%2 == 0)
			}

			b.at("#/files?doc=otters.md&open=1")
			const first = ".document .task input"
			b.sees(".document .task", "Look for one")
			b.holds("all('.document .task label').length === 2")
			ticked := func(boxes string) {
				t.Helper()
				b.holds("all(%s).map((e) => (e.checked ? 'x' : '-')).join('') === %s", first, boxes)
				if text := h.get(t, "/api/documents/files/otters.md?raw=1"); strings.Count(text, "[x]") != strings.Count(boxes, "x") {
					t.Errorf("saved is %s", text)
				}
			}
			b.hit(".document .task label strong", 0, 0)
			b.toasted("Saved as version 2")
			ticked("x-")
			b.hit(".document .task .task label span", 0, 0)
			b.toasted("Saved as version 3")
			ticked("xx")
			small := value[[]string](b, "all('.document .task label').filter((e) => Math.min(e.offsetHeight, e.offsetWidth) < %s).map((e) => e.outerHTML)", 2*by.reach+1)
			if len(small) > 0 {
				t.Errorf("too small: %s", strings.Join(small, "\n"))
			}
			if name == "finger" {
				b.presses(".outline-small summary", "Outline")
				if found := value[[]string](b, "all('.outline-small nav a, .document [aria-label=Edit]').filter((e) => e.offsetHeight < 43.5 || e.offsetWidth < 43.5).map((e) => e.outerHTML)"); len(found) > 0 {
					t.Errorf("too small: %s", strings.Join(found, "\n"))
				}
			}
			b.picture(fmt.Sprintf("boxes-%s", name))
		})
	}
}

// Nothing is written in letters of less than 12 pixels.
func TestNothingIsTooSmallToRead(t *testing.T) {
	t.Parallel()
	h := play(t, newModel(t))
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	look := func(place string) {
		t.Helper()
		b.rests()
		if found := value[[]string](b, "all('main *').filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && parseFloat(getComputedStyle(e).fontSize) < 12).map((e) => getComputedStyle(e).fontSize + ' ' + e.outerHTML.slice(0, 120))"); len(found) > 0 {
			t.Errorf("%s:\n%s", place, strings.Join(found, "\n"))
		}
	}
	b.at("#/settings/about")
	b.sees("main code", "troupe doctor")
	look("About")
	origin, _, _ := strings.Cut(h.link, "#")
	b = open(t, origin)
	b.sees("main code", "token=")
	look("the door")
}
