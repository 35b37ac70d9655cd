package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestThePictureOfThePage takes the picture of the page that README.md shows, of a
// decision and the document that came of it, with no model.
func TestThePictureOfThePage(t *testing.T) {
	dir := os.Getenv("TROUPE_README")
	if dir == "" {
		t.Skip("scripts/pictures takes the picture, into docs/pictures")
	}
	b := open(t, rehearse(t).link)
	b.do(chromedp.EmulateViewport(1280, 720))
	b.click(".agent header button", "Mira")
	for _, turn := range []struct{ say, answer string }{
		{"*decide", "What are you trying to decide"},
		{"Where should we keep our customers' orders?", "Which options"},
		{"SQLite on one machine, or PostgreSQL", "What must be true"},
		{"It must survive a crash; we can live without replicas", "Which option do you choose"},
		{"SQLite, until we need a second machine", "Step 5"},
	} {
		b.say(turn.say)
		b.sees(answers, turn.answer)
		b.holds("find('.composer button', 'Send')")
	}
	b.presses(".doc button", "decision-")
	b.sees(".panel .prose", "SQLite")
	b.rests()
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "page.png"), image, 0o644); err != nil {
		t.Fatal(err)
	}
}
