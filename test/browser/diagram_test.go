package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A diagram that is small on a phone is shown on the whole screen, where its words are as large as
// others, scrolled and enlarged.
func TestADiagramIsShownLarge(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.do(chromedp.EmulateViewport(390, 844))
	b.say("Draw it")
	m.answers(t, "```mermaid\nflowchart LR\n  A[Scan the card] --> B{Free locker?}\n  B -->|yes| C[Put the book in]\n  B -->|no| D[Use the slot]\n```\n")
	b.holds("find('.fig iframe')?.clientHeight > 40")
	b.picture("phone-diagram")
	height := value[int](b, "find('.fig iframe').clientHeight")
	b.presses(".fig header button", "Show the diagram large")
	b.holds("find('.large iframe')?.clientWidth > 500 && find('.large').getBoundingClientRect().width === innerWidth")
	b.holds("find('.drawing').scrollWidth > find('.drawing').clientWidth && document.documentElement.scrollWidth <= innerWidth")
	b.holds("%s >= (find('.large iframe').clientHeight - 8) * 12 / 14", height) // its words are not too small before, either
	width := value[int](b, "find('.large iframe').clientWidth")
	b.presses(".large button", "Larger")
	b.holds("find('.large iframe').clientWidth > %s", width)
	b.presses(".large button", "Smaller")
	b.holds("find('.large iframe').clientWidth === %s", width)
	b.isInert()
	b.press(kb.Escape)
	b.holds("!find('.large') && document.activeElement.ariaLabel === 'Show the diagram large'")
}
