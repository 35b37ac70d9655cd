package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// axeFinds is what axe-core objects to in what is shown. In the dark it looks at colours
// alone: all else is as it is by day.
func (b *tab) axeFinds(source string) []string {
	b.t.Helper()
	b.rests() // a colour that is about to change has no contrast of its own
	return b.axeFindsNow(source)
}

// axeFindsNow is axeFinds for what is still being loaded.
func (b *tab) axeFindsNow(source string) []string {
	b.t.Helper()
	rules := `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	if value[bool](b, "matchMedia('(prefers-color-scheme: dark)').matches") {
		rules = `{ type: "rule", values: ["color-contrast"] }`
	}
	if value[bool](b, "!globalThis.axe") { // the test puts it there past the page's policy
		if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](source+";void 0")); err != nil {
			b.t.Fatal(err)
		}
	}
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`axe.run(document, { resultTypes: ["violations"], runOnly: `+rules+` }).then((r) => r.violations.flatMap((v) => v.nodes.slice(0, 4).map((n) => v.id + ": " + n.html.slice(0, 160) + " " + (n.any[0]?.message ?? n.all[0]?.message ?? ""))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// What the views of the other test do not reach: a flow that runs, a delivery at its
// gate, documents with versions, finding, the tool servers, and signing in.
func TestAxeFindsNothingInFlowsDeliveriesDocumentsAndFinding(t *testing.T) {
	t.Parallel()
	source := axe(t)
	m := newModel(t)
	verdict := phaseAnswer("legal", "It may go on.")
	m.directed(t,
		script{"Write the brief", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": rich}}, {text: "It is written. Which way?\n\n1. One bank: cheap\n2. Two banks: never full"}}},
		script{"Say which licences", []reply{{text: "```json\n" + verdict + "\n```"}}},
		script{"You are the critic", []reply{{text: "I am still reading", held: true}}},
	)
	h := play(t, m)
	brief := h.asks(t, "clerk", "", "Write the brief")
	h.must(t, "PUT", "/api/sessions/"+brief+"/files", map[string]any{"path": "brief.md", "content": rich + "\nAnd more.\n"})
	var flow, delivery struct{ Session string }
	for path, made := range map[string]*struct{ Session string }{"/api/flows/review/runs": &flow, "/api/deliveries": &delivery} {
		body := map[string]string{"text": "A task"}
		if path == "/api/deliveries" {
			body = map[string]string{"request": "A task"}
		}
		if err := json.Unmarshal([]byte(h.post(t, path, body)), made); err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(*tab){"light": func(*tab) {}, "dark": (*tab).inDarkness, "phone": func(b *tab) { b.do(chromedp.EmulateViewport(390, 844)) }} {
		b := open(t, h.link)
		prepare(b)
		b.sees(".waits", "Which way?")
		see := func(view string) {
			t.Helper()
			b.rests()
			if found := b.axeFinds(source); len(found) > 0 {
				t.Errorf("%s, %s:\n%s", name, view, strings.Join(found, "\n"))
			}
		}
		see("home")
		for _, v := range []view{
			{"flow", "#/s/" + flow.Session + "/flow", ".node, .flow-nodes", nil},
			{"delivery", "#/s/" + delivery.Session + "/delivery", ".needs", nil},
			{"changes", "#/s/" + brief + "?file=brief.md", ".panel .seg button", func(b *tab) { b.click(".panel .seg button", "Changes"); b.holds("find('.panel ins')") }},
			{"glance", "#/files?session=" + brief + "&file=brief.md", ".glance .versions", nil},
			{"tool servers", "#/settings/mcp", ".set h2", nil},
		} {
			value[any](b, "void (location.hash = %s)", v.hash)
			b.holds("find(%s)", v.seen)
			if v.act != nil {
				v.act(b)
			}
			see(v.name)
		}
		b.press("k", kb.ModifierCtrl)
		b.write("dialog input", "brief")
		b.sees("#found", "A plan")
		see("find")
	}
	door := newTab(t)
	door.goTo(strings.Split(h.link, "#")[0])
	door.sees("h1", "Welcome to Troupe")
	if found := door.axeFinds(source); len(found) > 0 {
		t.Errorf("sign-in:\n%s", strings.Join(found, "\n"))
	}
}
