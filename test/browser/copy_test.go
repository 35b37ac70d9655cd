package browser

import (
	"strings"
	"testing"
)

// withoutClipboard has a page be as one that comes over plain HTTP from another machine, and keep
// what is copied all the same.
const withoutClipboard = `void (Object.defineProperty(navigator, "clipboard", { value: undefined }),
	addEventListener("copy", () => (globalThis.copied = document.activeElement.value)))`

// What can be copied is copied where the page comes over plain HTTP from another machine, too, and
// the focus stays where it was. Where it cannot be, that is said.
func TestCopyingWorksWithoutAClipboard(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, office(t, m, "").link, "Ada")
	value[any](b, withoutClipboard)
	b.say("Write the brief")
	saves(t, m, "brief.md", "# Lockers\n\nMany readers pay.\n", "Done:\n\n```text\nIn the brief.\n```")
	b.sees(answers, "In the brief.")
	b.click(".doc button", "Lockers")
	b.sees(".panel .pick", "Version 1")
	for _, one := range []struct{ button, name, text string }{
		{".said button", "Copy the message", "Write the brief"},
		{".turn footer button", "Copy the answer", "Done:\n\n```text\nIn the brief.\n```"},
		{".code button", "Copy", "In the brief.\n"},
		{".panel button", "Copy the text", "# Lockers\n\nMany readers pay.\n"},
	} {
		b.enter(one.button, one.name)
		b.holds("globalThis.copied?.trim() === %s && document.activeElement.matches(%s)", strings.TrimSpace(one.text), one.button)
	}
	b.toasted("Copied")
	b.sees(".code button", "Copied")

	value[any](b, "void (document.execCommand = () => false)")
	b.enter(".code button", "Copied")
	b.toasted("This browser does not let the page copy.")
	b.lacks(".code button", "Copied")
}
