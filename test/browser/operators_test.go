package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ofTwoOperators is a project that Ann and Bob run together, with a provider that nobody uses.
func ofTwoOperators(t *testing.T, m *model) (ann, bob *tab, h *house) {
	t.Helper()
	tokens := map[string]string{"ann": strings.Repeat("a", 40), "bob": strings.Repeat("b", 40)}
	h = serve(t, project(t, map[string]string{
		".env": "ANN_TOKEN=" + tokens["ann"] + "\nBOB_TOKEN=" + tokens["bob"] + "\n",
		"troupe.yaml": strings.ReplaceAll(`# Ours.
model: stub/stub-1
providers:
  stub: {base_url: URL, models: {stub-1: {price: {input: 2, output: 8}}}}
  spare: {base_url: URL, models: {stub-1: {}}} # for a rainy day
agents: {clerk: {instructions: You are the clerk., skills: false, tools: []}}
server:
  users: {ann: ANN_TOKEN, bob: BOB_TOKEN}
  operators: [ann, bob]
`, "URL", m.URL+"/v1"),
	}))
	origin, _, _ := strings.Cut(h.link, "#")
	h.link = origin + "#token=" + tokens["ann"]
	return open(t, h.link), open(t, origin+"#token="+tokens["bob"]), h
}

// at shows a place of the page.
func (b *tab) at(hash string) {
	b.t.Helper()
	value[any](b, "void (location.hash = %s)", hash)
}

// Two operators who look at the settings at the same time see what the other one does. Who acts on
// what is not there any more is told so, and sees what there is; nobody overwrites unawares.
func TestTwoOperatorsDoNotUndoEachOthersWork(t *testing.T) {
	t.Parallel()
	ann, bob, h := ofTwoOperators(t, newModel(t))
	for _, b := range []*tab{ann, bob} {
		b.sees(".agent", "clerk")
		b.at("#/settings/models")
		b.sees(".rows", "spare")
	}
	// Bob has begun to remove what Ann removes.
	bob.click(".rows button", "Remove spare")
	bob.sees("dialog", "Remove spare?")
	ann.click(".rows button", "Remove spare")
	ann.click("dialog button", "Remove spare")
	ann.lacks(".rows", "spare")
	bob.lacks(".rows", "spare") // without a word of his
	bob.click("dialog button", "Remove spare")
	bob.toasted("Somebody has changed this meanwhile: the provider spare is not there any more. The list shows what there is now.")
	bob.lacks("dialog", "")
	bob.picture("two-operators")

	// Bob writes a limit while Ann sets it.
	const money = `[aria-label="Money, one answer"]`
	for _, b := range []*tab{ann, bob} {
		b.at("#/settings/limits")
		b.holds("find(%s)", money)
	}
	bob.write(money, "5")
	ann.write(money, "2")
	ann.press(kb.Enter)
	ann.toasted("Saved in troupe.yaml")
	ann.at("#/settings/models") // a view that is loaded anew has what is there now
	ann.at("#/settings/limits")
	ann.holds("find(%s).value === '2'", money)
	bob.holds("find(%s).value === '5'", money) // what he writes is his
	bob.press(kb.Enter)
	bob.toasted("Somebody has changed this meanwhile: it is 2 now.")
	bob.holds("find(%s).value === '2'", money)
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "cost: 2") || strings.Contains(file, "spare") || !strings.Contains(file, "# Ours.") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	bob.write(money, "5")
	bob.press(kb.Enter)
	ann.holds("find(%s).value === '5'", money)

	// What is no value stays where it was written, to be corrected, and says there what is wrong.
	bob.write(money, "much")
	bob.press(kb.Enter)
	const isMarked = "find(%s).getAttribute('aria-invalid') === 'true' && document.getElementById(find(%s).getAttribute('aria-describedby'))?.innerText.startsWith('“much” is no amount of money')"
	bob.holds(isMarked, money, money)
	bob.press(kb.Tab) // it is not sent once more
	bob.holds("document.activeElement !== find(%s)", money)
	bob.holds(isMarked, money, money)
	bob.holds("!globalThis.toastsSeen.some((said) => said.includes('much'))")
	bob.holds("find(%s).value === 'much'", money)
	bob.write(money, "7")
	bob.holds("!find(%s).hasAttribute('aria-invalid')", money)
	bob.press(kb.Enter)
	ann.holds("find(%s).value === '7'", money)
}

// A mistake that somebody writes into troupe.yaml is shown to operators, wherever they are on the
// page, until it is corrected. Who saves a setting meanwhile reads the same.
func TestAMistakeInTheConfigurationIsShown(t *testing.T) {
	t.Parallel()
	ann, _, h := ofTwoOperators(t, newModel(t))
	good := h.read(t, "troupe.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(h.dir, "troupe.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ann.sees(".agent", "clerk")
	ann.lacks(".mistake", "")
	write(good + "limits: turns: 4\n") // in line 10
	const why = "This is not YAML: mapping values are not allowed in this context (line 10 of troupe.yaml)"
	ann.sees(".mistake", "The last change of troupe.yaml is not in use. "+why)
	ann.sees(".mistake", "Troupe goes on with the settings from before")
	ann.at("#/settings/limits")
	const money = `[aria-label="Money, one answer"]`
	ann.holds("find(%s)", money)
	ann.write(money, "2")
	ann.press(kb.Enter)
	ann.sees(".rows [role=alert]", "Nothing was changed: troupe.yaml is wrong as it is, and must be corrected first: t"+why[1:])
	ann.picture("mistake")
	write(good)
	ann.lacks(".mistake", "")
	ann.lacks(".rows [role=alert]", "") // what was refused for the mistake alone
	ann.holds("find(%s).value === '2' && !find(%s).hasAttribute('aria-invalid')", money, money)
	ann.press(kb.Enter)
	ann.toasted("Saved in troupe.yaml")
}

// What was refused, and left so, gives way to what holds, once somebody sets another value or what
// was in the way is gone. Who is about to correct it keeps what they wrote.
func TestARefusedLimitGivesWayToWhatHolds(t *testing.T) {
	t.Parallel()
	ann, bob, h := ofTwoOperators(t, newModel(t))
	const money = `[aria-label="Money, one answer"]`
	for _, b := range []*tab{ann, bob} {
		b.sees(".agent", "clerk")
		b.at("#/settings/limits")
		b.holds("find(%s)", money)
	}
	sets := func(b *tab, value string) {
		t.Helper()
		b.write(money, value)
		b.press(kb.Enter)
	}
	isRefused := func() {
		t.Helper()
		ann.holds("find(%s).getAttribute('aria-invalid') === 'true' && find('.rows [role=alert]')", money)
	}
	shows := func(value string) {
		t.Helper()
		ann.holds("find(%s).value === %s && !find(%s).hasAttribute('aria-invalid') && !find('.rows [role=alert]')", money, value, money)
	}
	sets(ann, "much")
	isRefused()
	ann.press(kb.Tab)
	sets(bob, "7")
	shows("7")

	sets(ann, "more")
	isRefused()
	sets(bob, "8")
	bob.toasted("Saved in troupe.yaml")
	ann.holds("find(%s).value === 'more'", money)
	ann.press(kb.Tab)
	shows("8")

	good := h.read(t, "troupe.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(h.dir, "troupe.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(good + "limits: turns: 4\n")
	ann.sees(".mistake", "The last change of troupe.yaml is not in use.")
	value[any](ann, `void ((real) => (window.tries = 0, window.fetch = (address, options) => real(address, options).finally(() => (window.tries += options?.method === "PATCH"))))(window.fetch)`)
	sets(ann, "2")
	isRefused()
	ann.press(kb.Tab) // which tries again, for the mistake might be mended
	ann.holds("window.tries === 2")
	write(good)
	ann.lacks(".mistake", "")
	shows("8")
}

// An operator removes another person, who is signed out at once, and reads before what becomes of
// their conversations.
func TestAPersonIsRemovedOnThePage(t *testing.T) {
	t.Parallel()
	ann, bob, h := ofTwoOperators(t, newModel(t))
	bob.sees(".agent", "clerk")
	ann.sees(".agent", "clerk")
	ann.at("#/settings/people")
	ann.sees(".rows", "bob")
	ann.lacks(".rows button", "Remove ann")
	ann.click(".rows button", "Remove bob")
	ann.sees("dialog.removal", "Nothing that bob has made is deleted")
	ann.sees("dialog.removal", "bob is an operator no longer")
	ann.picture("remove-a-person")
	ann.click("dialog.removal button", "Keep bob")
	ann.lacks("dialog", "")
	ann.click(".rows button", "Remove bob")
	ann.click("dialog.removal button", "Remove bob")
	ann.toasted("bob is removed")
	ann.lacks(".rows", "bob")
	ann.holds("document.activeElement === find('.rows button', 'New sign-in link')")
	bob.hurries()
	bob.sees("dialog", "You are signed out")
	if file, env := h.read(t, "troupe.yaml"), h.read(t, ".env"); !strings.Contains(file, "users: {ann: ANN_TOKEN}\n  operators: [ann]\n") || strings.Contains(env, "BOB") {
		t.Errorf("troupe.yaml is now:\n%s\nand .env:\n%s", file, env)
	}
}

// A server of tools that cannot be reached is one sentence after the other; the code of somebody
// who has one of their own does not change when the server starts anew, and nobody is told so.
func TestSettingsAndTheDoorSpeakInSentences(t *testing.T) {
	t.Parallel()
	ann, _, h := ofTwoOperators(t, newModel(t))
	ann.sees(".agent", "clerk")
	ann.at("#/settings/mcp")
	ann.click(".set button", "Add a server")
	ann.write("#server-name", "issues")
	ann.write("#server-url", "http://127.0.0.1:1/mcp")
	ann.click("form.add button", "Add it")
	ann.reads("form.add [role=alert]", "Nothing was added. Nothing answers at its address.")
	ann.at("#/settings/models")
	ann.sees("table.list", "not known")
	ann.lacks("table.list", "free\tfree\tusual")
	ann.holds("all('table.list tr').some((row) => row.innerText.includes('spare/stub-1') && row.innerText.includes('not known') && !row.innerText.includes('free'))")

	origin, _, _ := strings.Cut(h.link, "#")
	stranger := open(t, origin)
	stranger.sees("h1", "Welcome to Troupe")
	stranger.write("#code", "not-a-code-0123456789")
	stranger.press(kb.Enter)
	stranger.sees(".trouble", "This code is not known here")
	stranger.sees(".trouble", "Was all of it copied?")
	stranger.lacks(".trouble", "troupe serve")
	stranger.lacks(".trouble", "Codes change")
	stranger.do(chromedp.EmulateViewport(390, 844))
	stranger.picture("sign-in-people")
}

// What a flag decides cannot be changed on the page, and looks so.
func TestAChoiceThatAFlagDecidesLooksLocked(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h, _ := serveUntil(t, project(t, map[string]string{"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1), "legal.json": legalSchema}), "--model", "stub/stub-1")
	b := open(t, h.link)
	for section, choice := range map[string]string{"models": "Usual model", "agents": "Model of clerk"} {
		value[any](b, "void (location.hash = %s)", "#/settings/"+section)
		b.holds("document.querySelector(%s)?.disabled", "select[aria-label='"+choice+"']")
		b.holds("(({ opacity, cursor }, own) => opacity < 1 && cursor === 'default' && own.cursor === 'default')(...((e) => [getComputedStyle(e.closest('.pick')), getComputedStyle(e)])(document.querySelector(%s)))", "select[aria-label='"+choice+"']")
		b.picture("locked-" + section)
	}
}
