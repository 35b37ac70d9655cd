package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// byTouch has a tab be a small telephone that is touched.
func (b *tab) byTouch() {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(320, 700))
	if _, err := chromedp.Call(b.ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true}); err != nil {
		b.t.Fatal(err)
	}
	b.holds("matchMedia('(pointer: coarse)').matches")
}

// tooSmall are the things that act and are lower than so many pixels. Links in a text are
// as high as the text; what is hidden in a label is as high as that.
const tooSmall = `((size) => all("button, a[href], summary, select, input, [role=option], tr[tabindex], .lane[tabindex]").filter((e) => {
	if (e.matches(".link, .skip, .hidden, .hidden *, .prose *, .said-by *, .outline a, input[type=file]") || e.closest("[inert], .beginning-of") || e.disabled) return false;
	const own = e.matches("input, select") ? (e.closest("label, td") ?? e) : e;
	return own.getBoundingClientRect().height > 0 && own.getBoundingClientRect().height < size - 0.5 && !(parseFloat(getComputedStyle(own, "::before").height) >= size - 0.5);
}).map((e) => Math.round(e.getBoundingClientRect().height) + " px: " + e.outerHTML.slice(0, 140)))`

// Whatever acts is large enough for a finger, and 320 px are enough for everything.
func TestAFingerFindsWhatActs(t *testing.T) {
	t.Parallel()
	inEveryView(t, (*tab).byTouch, func(b *tab, view string) {
		b.t.Helper()
		b.rests()
		b.picture("touch-" + view)
		if found := value[[]string](b, tooSmall+"(44)"); len(found) > 0 {
			b.t.Errorf("%s:\n%s", view, strings.Join(found, "\n"))
		}
		// Of the buttons of a row none lies on another, or beyond the edge.
		if found := value[[]string](b, `all(".row > button, .row > .has-pop > button, .row > label, footer > *, .seg").filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || [...(e.closest(".row, footer")?.querySelectorAll("button, label") ?? [])].some((o) => o !== e && !o.contains(e) && !e.contains(o) && seen(o) && Math.min(o.getBoundingClientRect().right, e.getBoundingClientRect().right) - Math.max(o.getBoundingClientRect().left, e.getBoundingClientRect().left) > 2 && Math.min(o.getBoundingClientRect().bottom, e.getBoundingClientRect().bottom) - Math.max(o.getBoundingClientRect().top, e.getBoundingClientRect().top) > 2)).map((e) => e.outerHTML.slice(0, 120))`); len(found) > 0 {
			b.t.Errorf("%s: one on another:\n%s", view, strings.Join(found, "\n"))
		}
		if width := value[int](b, "Math.max(document.documentElement.scrollWidth, ...all('.flow, .page, .panel, .library').map((e) => e.scrollWidth))"); width > 320 {
			b.t.Errorf("%s scrolls sideways: %d px of 320", view, width)
		}
	})
}

// And for a mouse, however small it looks.
func TestAMouseFindsWhatActs(t *testing.T) {
	t.Parallel()
	inEveryView(t, func(*tab) {}, func(b *tab, view string) {
		b.t.Helper()
		b.rests()
		b.picture("mouse-" + view)
		if found := value[[]string](b, tooSmall+"(36)"); len(found) > 0 {
			b.t.Errorf("%s:\n%s", view, strings.Join(found, "\n"))
		}
	})
}
