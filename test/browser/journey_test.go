package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A hand is how somebody gets to a control and uses it: by its role and its name.
type hand func(b *tab, role, name string)

// byTabulator goes from control to control until one is called so, and presses Enter.
func byTabulator(b *tab, _, name string) {
	b.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		b.press(kb.Tab)
		if value[bool](b, "document.activeElement.matches('button, a, input, textarea') && called(document.activeElement).replace(/\\s+/g, ' ').includes(%s)", name) {
			b.press(kb.Enter)
			return
		}
	}
	b.t.Fatalf("the tabulator does not lead to %q", name)
}

// byTree looks a control up in the tree that screen readers read, and uses that.
func byTree(b *tab, role, name string) {
	b.t.Helper()
	found := ""
	for begun := time.Now(); time.Since(begun) < patience; {
		tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			b.t.Fatal(err)
		}
		found = ""
		for _, node := range tree.Nodes {
			if node.Ignored || text(node.Role) != role {
				continue
			}
			found += fmt.Sprintf("%q ", text(node.Name))
			if !strings.Contains(text(node.Name), name) || node.BackendDOMNodeID == 0 {
				continue
			}
			object, err := chromedp.Call(b.ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node.BackendDOMNodeID})
			if err == nil {
				_, err = chromedp.Call(b.ctx, runtime.CallFunctionOn, runtime.CallFunctionOnParams{ObjectID: object.Object.ObjectID, FunctionDeclaration: "function() { this.focus(); this.click(); }"})
			}
			if err == nil {
				return
			}
			break // it was drawn anew since the tree was read
		}
	}
	b.t.Fatalf("the tree has no %s called %q, but %s", role, name, found)
}

// TestEverythingIsReachedWithoutAMouse goes through what people come for, with a
// keyboard alone and along a screen reader's tree alone: begin, answer, approve, read a
// document, compare its versions, see what was sent, pass a gate.
func TestEverythingIsReachedWithoutAMouse(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]hand{"keyboard": byTabulator, "tree": byTree} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			travel(t, use)
		})
	}
}

func travel(t *testing.T, use hand) {
	m := newModel(t)
	brief := func(text string) reply {
		return reply{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Lockers\n\n" + text + "\n"}}
	}
	m.directed(t,
		script{"Say which licences", []reply{{text: phaseAnswer("legal", "It may go on.")}}},
		script{"Say what it costs", []reply{{text: phaseAnswer("finance", "Nothing.")}}},
		script{"Write the brief", []reply{brief("Many readers pay."), brief("Nine of fourteen readers pay."), {text: "It is written. Which way?\n\n1. One bank: cheap\n2. Two banks: never full"},
			{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/guarded.md", "content": "Two banks."}}, {text: "All is done."}}},
	)
	b := open(t, play(t, m).link)
	b.sees(".agent", "clerk")
	use(b, "button", "clerk") // begin: of several, the first is the agent's card
	b.holds("document.activeElement === find(%s)", composer)
	b.write(composer, "Write the brief")
	b.press(kb.Enter)
	b.holds("find('[aria-label=Question]')") // it has the focus, for the box was empty
	b.holds("document.activeElement?.type === 'radio'")
	b.press(kb.ArrowDown)
	b.holds("document.activeElement.checked && called(document.activeElement.closest('label')).includes('Two banks')")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.sees(said, "Two banks")
	b.holds("document.activeElement === find('[aria-label=Approval]')")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.sees(answers, "All is done.")
	b.holds("find('.composer button', 'Send')")

	use(b, "button", "Open Lockers")
	b.sees(".panel .prose", "Nine of fourteen")
	b.holds("find('.panel').contains(document.activeElement)")
	use(b, "button", "Changes")
	b.sees(".panel del", "Many")
	b.sees(".panel ins", "Nine of fourteen")
	b.press(kb.Escape)
	b.lacks(".panel", "")
	b.holds("/^Open\\s+Lockers/.test(called(document.activeElement))") // the focus is back

	use(b, "link", "Run")
	b.holds("find('.lane[data-kind=model]')")
	value[any](b, "document.activeElement.blur()")
	for range 2 { // past the first row, which is the run
		b.press("j")
	}
	b.press("k")
	b.holds("document.activeElement.matches('.lane[data-kind=model]')")
	b.press(kb.Enter)
	b.sees(".part", "You are the clerk.")
	b.holds("document.activeElement.closest('.panel')")
	b.press(kb.Escape)
	b.holds("document.activeElement.matches('.lane[data-kind=model]')")

	value[any](b, "document.activeElement.blur()")
	b.press("g")
	b.press("d")
	b.holds("find('#request')")
	b.write("#request", "As a customer I want to export my data")
	use(b, "button", "Deliver")
	b.sees("[aria-label=Gate]", "Legal is ready")
	use(b, "button", "Go on to finance")
	b.sees("[aria-label=Gate]", "Finance is ready")
	use(b, "button", "Approve and finish")
	b.sees(".stepper [data-phase=finance][data-state=completed]", "done")
}

// Which model answers is always to be seen, and changed where it is seen: for one
// conversation, and for the agent from then on.
func TestWhichModelAnswersIsSeenAndChanged(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := serve(t, project(t, map[string]string{"skills/notes/SKILL.md": "---\nname: notes\ndescription: Turns a transcript into decisions.\n---\nWrite them down.\n", "legal.json": legalSchema, "troupe.yaml": "# Ours.\n" + strings.NewReplacer("URL", m.URL+"/v1", "stub-1: {price: {input: 2, output: 8}}", "stub-1: {price: {input: 2, output: 8}, window: 1000}, large-2: {price: {input: 20, output: 80}, window: 900000}").Replace(configuration)}))
	b := begin(t, h.link, "clerk")
	b.sees(".bar .model", "stub-1")
	says := func(text, model string) {
		t.Helper()
		b.say(text)
		a := m.asked(t)
		if a.model != model {
			t.Errorf("%q is answered by %s, want %s", text, a.model, model)
		}
		a.say("Yes.")
		a.end()
		b.holds("find('.composer button', 'Send')")
	}
	says("One", "stub-1")
	b.click(".bar .model", "")
	b.sees(".models .opt", "an answer")
	b.click(".models .opt", "large-2")
	b.sees(".bar .model", "large-2")
	says("Two", "large-2")
	b.do(chromedp.Reload())
	b.sees(".bar .model", "large-2")
	says("Three", "large-2")

	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "clerk")
	b.sees(".beginning h2", "clerk")
	b.sees(".bar .model", "stub-1") // that was for one conversation
	says("Four", "stub-1")
	b.click(".bar .model", "")
	b.click(".models [role=switch]", "")
	b.click(".models .opt", "large-2")
	b.toasted("large-2 answers for clerk from now on")
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "clerk")
	says("Five", "large-2")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "large-2") || !strings.HasPrefix(file, "# Ours.\n") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	h.isBoundedByItsOperator(t, b)
}

// isBoundedByItsOperator sets what a month may cost, switches a skill, and looks up what the
// store holds, all on the page.
func (h *house) isBoundedByItsOperator(t *testing.T, b *tab) {
	t.Helper()
	const month = `[aria-label="Money, this month"]`
	value[any](b, "void (location.hash = '#/settings/limits')")
	b.sees(".rows", "With a budget, nothing more begins once it is spent.")
	b.write(month, "$0,001")
	b.press(kb.Enter)
	b.sees(".rows", "nothing more begins before")
	status, answer := h.try(t, "POST", "/api/flows/review/runs", map[string]string{"text": "go"})
	if status != 429 || !strings.Contains(answer, "budget") {
		t.Errorf("a run begins though the month's budget is spent: %d %s", status, answer)
	}
	b.write(month, "50")
	b.press(kb.Enter)
	b.sees(".rows", "of $50 spent")
	b.picture("settings-month")
	b.holds("!find('.toast', 'budget')")
	const most = `[aria-label="Time, one answer"]`
	b.write(most, "1h30m")
	b.press(kb.Enter)
	b.toasted("Saved in troupe.yaml")
	b.do(chromedp.Reload())
	b.holds("find(%s)?.value === '1h30m'", most) // as it was written
	value[any](b, "void (location.hash = '#/settings/skills')")
	b.click("[role=switch]", "Use notes")
	b.sees(".rows", "no agent hears of it")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "month_cost: 50") || !strings.Contains(file, "skills_off:") || !strings.HasPrefix(file, "# Ours.\n") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	b.click("[role=switch]", "Use notes")
	b.lacks(".rows", "no agent hears of it")
	value[any](b, "void (location.hash = '#/settings/about')")
	b.sees(".rows", "conversations, ")
}
