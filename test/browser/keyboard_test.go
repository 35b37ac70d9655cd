package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// focused is what the element is called that has the focus.
const focused = "called(document.activeElement) || document.activeElement.placeholder || document.activeElement.tagName"

// tabs presses the tabulator until an element is reached, and returns what it passed.
func (b *tab) tabs(to string) []string {
	b.t.Helper()
	var passed []string
	for range 40 {
		b.press(kb.Tab)
		passed = append(passed, value[string](b, focused))
		if strings.Contains(passed[len(passed)-1], to) {
			return passed
		}
	}
	b.t.Fatalf("the tabulator does not lead to %q, but to %q", to, passed)
	return nil
}

func TestAllCanBeDoneWithTheKeyboard(t *testing.T) {
	t.Parallel()
	b := open(t, rehearse(t).link)
	b.sees(".card", "Mira")
	passed := b.tabs("Decision Guide")
	want := []string{"To the content", "Troupe", "New", "Deliver", "Logs", "Switch to dark colours", "Search conversations", "🧭\nMira\nDecision Guide"}
	if !slices.Equal(passed, want) {
		t.Errorf("the tabulator leads along\n%q, want\n%q", passed, want)
	}
	b.press(kb.Enter)
	b.holds("document.activeElement === find(%s)", composer)

	b.write(composer, "*")
	b.sees("[role=listbox]", "*decide")
	b.press(kb.ArrowDown)
	b.holds("find('[role=option][aria-selected=true]', '*decide')")
	b.press(kb.Escape)
	b.lacks("[role=listbox]", "")
	b.write(composer, "*de")
	b.sees("[role=listbox]", "*decide")
	b.picture("completion")
	b.press(kb.Enter)
	b.holds("find(%s).value === '*decide '", composer)
	b.press(kb.Enter)
	b.sees(answers, "What are you trying to decide?")

	b.write(composer, "One line")
	b.press(kb.Enter, kb.ModifierShift)
	b.holds("find(%s).value === 'One line\\n'", composer)
	b.press(kb.Enter)
	b.sees(said, "One line")
	b.sees(answers, "Which options do you see?")

	b.press("k", kb.ModifierCtrl)
	b.holds("document.activeElement.id === 'search'")
	b.tabs("Files")
	b.press(kb.Enter)
	b.holds("find('.panel')")
	b.press(kb.Escape)
	b.lacks(".panel", "")
}
