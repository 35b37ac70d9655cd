package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Turns and documents say which language they are in: screen readers choose a voice by
// it, and browsers the shapes that Chinese and Japanese have of one character.
func TestTurnsSayWhichLanguageTheyAreIn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	german := "Das ist nicht für den Pförtner, und die Bank wird auch am Sonntag nicht voll."
	m.directed(t,
		script{"خزائن", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": chineseTxt}}, {text: arabicText}}},
		script{"还书柜", []reply{{text: chineseTxt + "\n\n" + german}}},
		script{"Both", []reply{{text: "The reader said this, and it is not what you have in the brief:\n\n> بنك واحد من الخزائن يكفي في معظم الليالي\n\nThat is all."}}},
	)
	h := play(t, m)
	b := open(t, h.link)
	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "اكتب عن خزائن الإرجاع"))
	b.holds("find('.turn .prose[lang=ar][dir=rtl]') && find('.said [lang=ar][dir=rtl]')")
	b.presses(".doc button", "")
	b.holds("find('.panel .prose[lang=zh]') && find('.turn .prose[lang=ar]')")
	b.do(chromedp.Reload())
	b.holds("find('.panel .prose[lang=zh]') && find('.turn .prose[lang=ar]')")

	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "写写还书柜"))
	b.holds("find('.turn .prose[lang=zh]') && find('.turn .prose p[lang=de]', %s)", german)

	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "Both"))
	b.holds("find('.turn .prose[lang=en][dir=ltr]') && find('.turn .prose blockquote[lang=ar][dir=rtl]') && !find('.turn .prose p[dir=rtl]')")
}
