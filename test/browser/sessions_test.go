package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestConversationsAreFoundRenamedAndDeleted(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".card", "clerk")
	for _, talk := range []struct{ message, answer string }{{"About stripes", "A zebra has them."}, {"About spots", "A leopard has them."}} {
		b.click(".top a", "New")
		b.click(".card-main", "clerk")
		b.say(talk.message)
		m.answers(t, talk.answer)
		b.reads(answers, talk.answer)
	}
	b.reads(".entry > a", "About spots", "About stripes")

	b.write("#search", "zebra")
	b.reads(".entry > a", "About stripes")
	b.write("#search", "elephant")
	b.sees(".sessions", "Nothing was found.")
	b.write("#search", "spots")
	b.reads(".entry > a", "About spots")
	b.write("#search", " ")
	b.reads(".entry > a", "About spots", "About stripes")

	b.click(".entry button", "Rename About stripes")
	b.write("[aria-label='New title']", "Herds")
	b.press(kb.Enter)
	b.reads(".entry > a", "Herds", "About spots") // what was touched last is first
	b.click(".entry > a", "Herds")
	b.holds("document.title.startsWith('Herds')")
	b.reads(answers, "A zebra has them.")

	b.click(".entry button", "Delete Herds")
	b.click(".confirm button", "Keep")
	b.click(".entry button", "Delete Herds")
	b.click(".confirm button", "Delete")
	b.reads(".entry > a", "About spots")
	b.sees("h1", "Whom do you want to talk to?")
	if folders, err := os.ReadDir(filepath.Join(h.dir, "data", "agent-outputs")); err != nil || len(folders) > 1 {
		t.Errorf("what is left of two conversations after one was deleted: %v, %v", folders, err)
	}
}
