package browser

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// repeats has a keyboard press a key again that is held.
func (b *tab) repeats(key string, held ...kb.Modifier) {
	b.t.Helper()
	k, again := kb.Keys[[]rune(key)[0]], true
	event := input.DispatchKeyEventParams{Type: kb.KeyDown, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows, Text: k.Text, AutoRepeat: &again}
	for _, modifier := range held {
		event.Modifiers |= int64(modifier)
	}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event)
		return err
	}))
}

// notesRequests has a page keep the addresses of what it asks the server to do.
const notesRequests = `void ((ask) => {
	globalThis.requested = [];
	globalThis.fetch = (path, options) => (options?.method === "POST" && requested.push(String(path)), ask(path, options));
})(globalThis.fetch)`

// Who holds Enter on Stop does not go on by it, though Go on has the focus then.
func TestAKeyThatIsHeldActsOnce(t *testing.T) {
	t.Parallel()
	m, b := reviewing(t)
	value[any](b, notesRequests)
	b.enter(".bar button", "Stop")
	b.holds("document.activeElement === find('.graph .trouble button', 'Go on')")
	for range 3 {
		b.repeats(kb.Enter)
	}
	b.press("j") // whatever came of them has
	b.holds("find('.graph .trouble button', 'Go on') && !requested.some((path) => path.endsWith('/resume'))")
	b.press(kb.Enter)
	m.asked(t)
	b.holds("requested.filter((path) => path.endsWith('/resume')).length === 1")
}

// Who holds Ctrl Enter answers one card, and not the next, which has the focus then. In a text Enter
// is a line, as often as it is wanted.
func TestAHeldKeyAnswersOneCard(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesOften("writer", 1), savesOften("poet", 1))
	h, b := m.servesTwo(t)
	b.looksAt(h.runs(t, "both", "Both of you"), "flow")
	b.holds("all('.graph .needs').length === 2")
	value[any](b, notesRequests)
	value[any](b, "void find('.graph .needs').focus()")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.holds("all('.graph .needs').length === 1 && document.activeElement === find('.graph .needs')")
	for range 3 {
		b.repeats(kb.Enter, kb.ModifierCtrl)
	}
	b.press("j")
	b.holds("all('.graph .needs').length === 1 && requested.filter((path) => path.endsWith('/answers')).length === 1")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.sees(".graph .chip", "2 of 2 done")

	b.at("#/")
	b.click(".agent header button", "writer")
	b.write(composer, "Lines")
	b.press(kb.Enter, kb.ModifierShift)
	b.repeats(kb.Enter, kb.ModifierShift)
	b.holds("find(%s).value === 'Lines\\n\\n'", composer)
}

// Who holds Esc stops nothing: Esc Esc is two keys.
func TestEscThatIsHeldStopsNothing(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Count to three")
	a := m.asked(t)
	a.say("One, two")
	b.reads(answers, "One, two")
	b.press(kb.Escape)
	b.repeats(kb.Escape)
	b.repeats(kb.Escape)
	a.say(", three.")
	a.end()
	b.reads(answers, "One, two, three.")
}

// Who leaves the list of models by Esc is at the button again that opened it: that of a card, too.
func TestTheListOfModelsGivesTheFocusBack(t *testing.T) {
	t.Parallel()
	s := faults(t)
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", s.URL+"/v1", "models: {", "models: {stub-2: {}, ").Replace(configuration), "legal.json": legalSchema}))
	b := begin(t, h.link, "clerk")
	b.say("money")
	for _, button := range []string{".trouble button", ".bar .model"} {
		name := map[bool]string{true: "Use another model"}[button == ".trouble button"]
		b.enter(button, name)
		b.holds("document.activeElement.matches('.pop.models button')")
		b.press(kb.Escape)
		b.lacks(".pop", "")
		b.holds("document.activeElement === find(%s, %s)", button, name)
	}
}

// A double click on what an agent can do begins one conversation, which is paid for once.
func TestADoubleClickBeginsOneConversation(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.sees(".agent .does button", "")
	value[any](b, notesRequests)
	value[any](b, "((e) => (e.click(), e.click()))(find('.agent .does button', ''))")
	b.holds("location.hash.startsWith('#/s/')")
	b.holds("requested.filter((path) => path.endsWith('api/sessions')).length === 1")
	b.at("#/")
	b.holds("(find('.agent header button', 'clerk')?.click(), requested.filter((path) => path.endsWith('api/sessions')).length === 2)") // and later another
}
