package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// rich is an answer with all that is wide.
const rich = "# A plan\n\nWith **bold**, `code` and a [link](https://example.org/a/very/long/address/that/does/not/break/anywhere/at/all).\n\n" +
	"| Name | Amount | What it is for, in more words than fit |\n|---|--:|---|\n| Averyveryverylongwordwithoutanyspace | 1 | One |\n| b | 22 | Two |\n\n" +
	"```go\nfunc main() { fmt.Println(\"a line of code that is far too long for the screen of a telephone\") }\n```\n\n- [x] done\n- [ ] to do\n\n> A quote.\n\n" +
	"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft\n"

// inEveryView has a conversation and calls see in each of the main views.
func inEveryView(t *testing.T, prepare func(*tab), see func(b *tab, view string)) {
	t.Helper()
	m := newModel(t)
	b := open(t, play(t, m).link)
	prepare(b)
	b.sees(".agent", "clerk")
	see(b, "home")
	b.click(".agent header button", "clerk")
	b.sees(".beginning h2", "clerk")
	see(b, "beginning")
	b.say("Write it down")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/plans/a-rather-long-name-of-a-file.md", "content": rich})
	m.answers(t, rich)
	b.sees(answers, "A plan")
	b.holds("find('.composer button', 'Send')")
	see(b, "conversation")
	b.say("And a guarded one")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/guarded.md", "content": strings.Repeat("word ", 40)})
	b.sees("[aria-label=Approval]", "asks before doing this")
	see(b, "approval")
	here := value[string](b, "location.hash")
	for _, view := range []struct{ name, hash, seen string }{
		{"document", here + "?file=plans%2Fa-rather-long-name-of-a-file.md", ".panel .prose"}, {"all-files", here + "?file=*", ".panel .recent"},
		{"run", here + "/run", ".lane"}, {"call", here + "/run/4", ".panel .facts, .panel pre"}, {"files", "#/files", ".list"}, {"flows", "#/flows", ".agent"},
		{"deliveries", "#/deliveries", "#request"}, {"activity", "#/activity", ".hits li"}, {"settings-models", "#/settings/models", ".rows"}, {"settings-agents", "#/settings/agents", ".rows"},
		{"settings-limits", "#/settings/limits", ".rows input"}, {"settings-people", "#/settings/people", ".rows"}, {"settings-look", "#/settings/look", ".rows"}, {"home-waiting", "#/", ".waits .card"},
	} {
		value[any](b, "void (location.hash = %s)", view.hash)
		b.holds("find(%s)", view.seen)
		see(b, view.name)
	}
}

// fits says what is wider than the telephone that is looked at.
func (b *tab) fits(view string) {
	b.t.Helper()
	const wide = `[...document.querySelectorAll("body *")].filter((e) => seen(e) && e.getBoundingClientRect().width > 1 && (e.getBoundingClientRect().right > 361 || e.getBoundingClientRect().left < -1) && !e.matches(".skip, .hidden, .hidden *") && !e.closest("svg")
			&& !(() => { for (let p = e.parentElement; p; p = p.parentElement) if (["auto", "scroll"].includes(getComputedStyle(p).overflowX) && p.scrollWidth > p.clientWidth && !p.matches(".page, .panel, .side")) return true; })())
			.map((e) => e.outerHTML.slice(0, 120))`
	if found := value[[]string](b, wide); len(found) > 0 {
		b.t.Errorf("%s: beyond the edge:\n%s", view, strings.Join(found, "\n"))
	}
	if width := value[int](b, "Math.max(document.documentElement.scrollWidth, ...all('.flow, .page, .panel, .library').map((e) => e.scrollWidth))"); width > 360 {
		b.t.Errorf("%s scrolls sideways: %d px", view, width)
	}
	if more := value[int](b, "document.documentElement.scrollHeight - innerHeight"); more > 0 {
		b.t.Errorf("%s: the whole page scrolls by %d px, with its bars", view, more)
	}
}

// hasNames says which controls a screen reader has no name for.
func (b *tab) hasNames(view string) {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	controls := []string{"button", "link", "textbox", "searchbox", "combobox", "checkbox", "listbox", "option", "progressbar", "region", "navigation", "log"}
	named := 0
	for _, node := range tree.Nodes {
		if node.Ignored || node.Role == nil || !slices.Contains(controls, text(node.Role)) {
			continue
		}
		if strings.TrimSpace(text(node.Name)) == "" {
			b.t.Errorf("%s: a %s has no name", view, text(node.Role))
		}
		named++
	}
	if named < 8 {
		b.t.Errorf("%s: there are only %d controls", view, named)
	}
	if n := value[int](b, "document.querySelectorAll('main').length"); n != 1 {
		b.t.Errorf("%s: there are %d main elements", view, n)
	}
	if n := value[int](b, "document.querySelectorAll('h1').length"); n != 1 && view != "beginning" && view != "conversation" {
		b.t.Errorf("%s: there are %d main headings", view, n)
	}
}

// text is a value of the accessibility tree.
func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(v.Value.String(), `"`)
}

const ground = "getComputedStyle(document.body).backgroundColor"

func TestColoursAreDarkWhereTheMachinesAreAndWhereSomebodyChoseThem(t *testing.T) {
	t.Parallel()
	b := open(t, rehearse(t).link)
	b.click(".agent header button", "Mira")
	b.say("*help")
	b.sees(answers, "Think a decision")
	light := value[string](b, ground)
	b.click(".side button", "Switch to dark colours")
	b.holds(ground+" !== %s", light)
	dark := value[string](b, ground)
	b.picture("dark")
	b.do(chromedp.Reload())
	b.sees(answers, "Think a decision")
	b.holds(ground+" === %s", dark)
	b.click(".side button", "Switch to light colours")
	b.holds(ground+" === %s", light)

	other := newTab(t)
	if _, err := chromedp.Call(other.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	}); err != nil {
		t.Fatal(err)
	}
	other.goTo(value[string](b, "location.origin") + "/")
	other.sees("h1", "Welcome to Troupe")
	other.holds(ground+" === %s", dark)
	other.picture("login")
}
