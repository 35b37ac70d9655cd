package browser

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	library "github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
)

var pageOfPDF = regexp.MustCompile(`/Type\s*/Page\b`)

// onPaper has a tab show what is printed.
func (b *tab) onPaper() {
	b.t.Helper()
	b.holds("document.querySelector('link[media=print]')?.sheet")
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		b.t.Fatal(err)
	}
	b.holds("matchMedia('print').matches")
}

// pages prints what is shown, and returns how many pages that takes.
func (b *tab) pages(name string) int {
	b.t.Helper()
	made, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69})
	if err != nil {
		b.t.Fatal(err)
	}
	if os.Getenv("TROUPE_PICTURES") != "" {
		if err := os.WriteFile(filepath.Join(corpus.ModuleRoot(b.t), "test-results", name+".pdf"), made.Data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	return len(pageOfPDF.FindAll(made.Data, -1))
}

// prints checks what is on paper: more than one page, with some words and without others, dark on
// white, and nothing cut off at the edges.
func (b *tab) prints(name string, with, without []string) {
	b.t.Helper()
	if pages := b.pages(name); pages < 2 {
		b.t.Errorf("%s: %d page", name, pages)
	}
	b.onPaper()
	b.do(chromedp.EmulateViewport(700, 1000)) // as wide as paper is
	text := value[string](b, "document.body.innerText")
	for _, words := range with {
		if !strings.Contains(text, words) {
			b.t.Errorf("%s: it is printed without %q", name, words)
		}
	}
	for _, words := range without {
		if strings.Contains(text, words) {
			b.t.Errorf("%s: it is printed with %q", name, words)
		}
	}
	if found := value[[]string](b, "all('button, input:not([type=checkbox]), textarea, select').filter((e) => !e.matches('.earlier, .bare, .link')).map((e) => e.outerHTML.slice(0, 120))"); len(found) > 0 {
		b.t.Errorf("%s: these are printed:\n%s", name, strings.Join(found, "\n"))
	}
	if found := value[[]string](b, "all('main, main *').filter((e) => e.clientHeight > 20 && e.scrollHeight > e.clientHeight + 2 && getComputedStyle(e).overflowY !== 'visible' || e.clientWidth > 20 && e.scrollWidth > e.clientWidth + 2 && getComputedStyle(e).overflowX !== 'visible').filter((e) => !e.matches('.hidden')).map((e) => e.outerHTML.slice(0, 120))"); len(found) > 0 {
		b.t.Errorf("%s: these are cut off:\n%s", name, strings.Join(found, "\n"))
	}
	if colours := value[string](b, "getComputedStyle(document.body).color + ' on ' + getComputedStyle(document.body).backgroundColor"); colours != "rgb(0, 0, 0) on rgb(255, 255, 255)" {
		b.t.Errorf("%s: it is printed %s", name, colours)
	}
}

// A conversation is printed over as many pages as it takes, without what acts, and says what of it
// is not.
func TestAConversationIsPrinted(t *testing.T) {
	t.Parallel()
	store := library.NewMemoryStore()
	talk := conversationOf(40)
	talk[39][1] += "\n\n```go\nvar line = `" + strings.Repeat("a long line of code ", 30) + "`\n```\n\n[A link](https://example.org/otters)\n\n| Otter | Where |\n| --- | --- |\n| Ann | In the river |\n"
	had(t, store, "long", "asker", 0, "", talk...)
	b := open(t, pastHouse(t, store))
	b.inDarkness()
	b.at("#/s/long")
	b.sees(answers, "Answer 39.")
	b.holds("find('.turn:last-of-type footer') && document.querySelector('link[media=print]')?.sheet")
	b.prints("printed-conversation", []string{"Question 0.", "56 earlier", "Question 28.", "Answer 39.", "a long line of code", "A link", "In the river"}, []string{"Find anything", "Home", "Latest", "Write to asker", "Run"})
	b.holds("getComputedStyle(find('.earlier'), '::after').content.includes('messages are not printed')")
	b.picture("on-paper-conversation")
}

// A document that is open is printed whole, in place of its conversation.
func TestADocumentIsPrinted(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	content := "# About otters\n\nThe beginning.\n" + strings.Repeat("\n## A chapter\n\nOtters hold hands while they sleep, so that they do not drift apart.\n\n- [ ] Look for one\n", 40) + "\nThe end of it.\n"
	h.post(t, "/api/documents", map[string]any{"name": "otters.md", "data": base64.StdEncoding.EncodeToString([]byte(content))})
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	b.at("#/files?doc=otters.md&open=1")
	b.sees(".document .prose", "The end of it.")
	b.prints("printed-document", []string{"About otters", "The beginning.", "The end of it."}, []string{"Find anything", "Source", "The project’s documents", "Outline"})
	b.picture("on-paper-document")
}
