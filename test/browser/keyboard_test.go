package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/troupe-dev/troupe/server"
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
	b.sees(".agent", "Mira")
	passed := b.tabs("Mira")
	want := []string{"To the content", "Troupe, home", "Find anything\nCtrl K", "Home", "Files", "Flows", "Deliveries", "Activity", "Conversations"}
	if len(passed) < 5 || !slices.Equal(passed[:5], want[:5]) {
		t.Errorf("the tabulator leads along\n%q, want\n%q first", passed, want)
	}
	value[any](b, "find('.agent header button', 'Mira').focus()")
	b.press(kb.Enter)
	b.holds("document.activeElement === find(%s)", composer)

	b.write(composer, "/")
	b.sees("[role=listbox]", "Think a decision through")
	b.press(kb.ArrowDown)
	b.holds("find('[role=option][aria-selected=true]', 'Bruno')")
	b.press(kb.Escape)
	b.lacks("[role=listbox]", "")
	b.write(composer, "/deci")
	b.sees("[role=listbox]", "Think a decision through")
	b.picture("completion")
	b.press(kb.Enter)
	b.sees(answers, "What are you trying to decide?")
	b.lacks(said, "*decide")

	b.write(composer, "One line")
	b.press(kb.Enter, kb.ModifierShift)
	b.holds("find(%s).value === 'One line\\n'", composer)
	b.press(kb.Enter)
	b.sees(said, "One line")
	b.sees(answers, "Which options do you see?")

	b.press("k", kb.ModifierCtrl)
	b.holds("document.activeElement === find('.finder input')")
	b.press(kb.Escape)
	b.lacks(".finder", "")
	value[any](b, "document.activeElement.blur()")
	b.press("]")
	b.holds("find('.panel')?.contains(document.activeElement)")
	b.press(kb.Escape)
	b.lacks(".panel", "")
	b.holds("document.activeElement === find('#main h1')") // letters are keys still
	value[any](b, "void find('[aria-label=\"Copy the answer\"]').focus()")
	b.press("]")
	b.holds("find('.panel')?.contains(document.activeElement)")
	b.press("]")
	b.lacks(".panel", "")
	b.holds("document.activeElement === find('[aria-label=\"Copy the answer\"]')")
	b.press("k", kb.ModifierCtrl)
	b.holds("document.activeElement === find('.finder input')")
	b.press(kb.Escape)
	b.lacks(".finder", "")
	value[any](b, "document.activeElement.blur()")
	b.press("?")
	value[any](b, "find(%s).focus()", composer) // as what was closed before may do, a little later
	b.sees("dialog", "Keyboard")
	b.holds("document.activeElement === find('dialog button', 'Close')") // Enter leads nowhere else
	b.press(kb.Escape)
	b.lacks("dialog", "Keyboard")
	b.holds("document.activeElement === find('#main h1')") // and not the box: letters are keys still
	b.press("g")
	b.press("f")
	b.sees("h1", "Files")
	b.press("k", kb.ModifierCtrl)
	b.holds("document.activeElement === find('.finder input')")
	b.press("j", kb.ModifierCtrl)
	b.sees("h1", "Who would you like to work with?")
	b.lacks(".finder", "")
	b.holds("document.activeElement === find('.ask textarea')")
}

// What is opened right after Find was closed stays open: browsers say a moment late that it was.
func TestWhatIsOpenedRightAfterFindStays(t *testing.T) {
	t.Parallel()
	b := open(t, rehearse(t).link)
	b.sees(".agent", "Mira")
	b.click("button", "Find anything")
	b.holds("document.activeElement === find('.finder input')")
	value[any](b, `void (() => {
		const dialog = find(".finder");
		dialog.addEventListener("close", () => (globalThis.told = true));
		dialog.close();
		document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
	})()`)
	b.holds("globalThis.told")
	b.sees("dialog", "Keyboard")
	b.draws()
	b.sees("dialog", "Keyboard")
}

// w goes from card to card of a conversation, where that is seen, and then to the next one.
func TestWGoesFromCardToCard(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the writer", []reply{savesOnce("writer"), savesOnce("writer")}}, script{"You are the poet", []reply{savesOnce("poet"), savesOnce("poet")}})
	h, b := m.servesTwo(t)
	older := h.runs(t, "both", "The older one")
	b.looksAt(older, "")
	b.holds("all('.needs').length === 2")
	newer := h.runs(t, "both", "The newer one")
	b.holds("document.title.startsWith('(2) ')")
	at := func(session, view string, card int) {
		t.Helper()
		b.press("w")
		b.holds("location.hash.replace(/[/]$/, '') === %s && all('#main .needs').length === 2 && document.activeElement === all('#main .needs')[%v]", "#/s/"+session+view, card)
	}
	for _, view := range []string{"", "/flow"} {
		b.looksAt(newer, view[min(1, len(view)):])
		b.holds("all('#main .needs').length === 2")
		value[any](b, "void document.activeElement.blur()")
		at(newer, view, 0)
		at(newer, view, 1)
		at(older, "", 0)
		at(older, "", 1)
		at(newer, "", 0)
	}
}

// flowless is a program of agents alone.
type flowless struct{ counting }

func (flowless) Flows() []server.Flow { return nil }

// Where a server has no flows, deliveries or activity, no key leads there, and none is said to.
func TestNoKeyLeadsWhereNothingIs(t *testing.T) {
	t.Parallel()
	b := open(t, programHouse(t, flowless{}))
	b.sees(".side", "Files")
	b.holds("find('dialog[open]') || void document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))") // keys are heeded
	b.sees("dialog .keys", "home, files, settings")
	b.lacks("dialog .keys", "g d")
	b.press(kb.Escape)
	b.lacks("dialog", "Keyboard")
	for _, letter := range []string{"l", "d", "a"} {
		b.press("g")
		b.press(letter)
		b.holds("location.hash === '' || location.hash === '#/'")
	}
	b.press("g")
	b.press("f")
	b.sees("h1", "Files")
}

// Find leads to every place that is there for whoever looks, by its name.
func TestFindLeadsToThePlacesThatAreThere(t *testing.T) {
	t.Parallel()
	b := open(t, programHouse(t, flowless{}))
	b.sees(".side", "Files")
	for words, place := range map[string]string{"settings": "Settings", "people": "People", "files": "Files", "convers": "Conversations"} {
		b.click("button", "Find anything")
		b.write(".finder input", words)
		b.sees(".finder .opt", place)
		b.press(kb.Escape)
		b.lacks(".finder", "")
	}
	b.click("button", "Find anything")
	b.write(".finder input", "deliver")
	b.sees(".finder", "Nothing was found.")
	b.write(".finder input", "help")
	b.sees(".finder .opt", "Help")
	b.press(kb.Enter)
	b.lacks(".finder", "")
	b.sees("dialog .keys", "home, files, settings")
}
