package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"testing"

	"github.com/chromedp/chromedp"
)

// A diagram stands on the ground that the page has around it, in both themes and when they are
// switched: its frame is a document of its own, which browsers draw on white.
func TestADiagramStandsOnThePagesGround(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.inDarkness()
	b.say("Draw it")
	m.answers(t, "```mermaid\nflowchart LR\n  A[Scan the card] -->|yes| C[Put the book in]\n```\n")
	b.holds("find('.fig iframe') && find('.fig iframe').clientHeight > 40")
	b.standsOn("#211d18")
	b.click(".side button", "Switch to light colours")
	b.standsOn("#fffefb")
}

// standsOn waits until the edge of a diagram has a colour.
func (b *tab) standsOn(colour string) {
	b.t.Helper()
	seen := ""
	for range 100 {
		b.rests()
		at := value[[]int](b, "(({ right, top }) => [Math.round(right) - 4, Math.round(top) + 4])(find('.fig iframe').getBoundingClientRect())")
		image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			b.t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(image))
		if err != nil {
			b.t.Fatal(err)
		}
		red, green, blue, _ := picture.At(at[0], at[1]).RGBA()
		if seen = fmt.Sprintf("#%02x%02x%02x", red>>8, green>>8, blue>>8); seen == colour {
			return
		}
	}
	b.t.Errorf("a diagram stands on %s, want %s", seen, colour)
}
