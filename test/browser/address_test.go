package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Somebody who writes no YAML adds a server of their own by its address, and it answers.
func TestAServerOfOnesOwnIsAddedOnThePage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := serve(t, project(t, map[string]string{"troupe.yaml": "# ours\nmodel: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n"}))
	b := open(t, h.link)
	b.sees(".page", "No model is chosen yet")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.chooses("select[aria-label='Add a provider']", "/")
	b.write(".address-form input[name=name]", "office")
	b.write(".address-form input[name=address]", "not an address")
	b.click(".address-form button", "Save and test")
	b.sees(".address-form [role=alert]", "no address of a server")
	b.holds("document.querySelector('.address-form input[name=address]').value === 'not an address'") // nothing typed is lost
	b.write(".address-form input[name=address]", m.URL)
	b.picture("address-form")
	b.click(".address-form button", "Save and test")
	b.sees(".rows", "answers")
	b.sees(".rows", "office")
	b.sees("[aria-label='Which model answers'] button", "stub-1")
	b.do(chromedp.Reload()) // who does not choose at once is asked later
	b.click("[aria-label='Which model answers'] button", "stub-1")
	b.toasted("stub-1 answers from now on.")
	b.sees(".rows .pick", "office/stub-1")
	b.lacks("[aria-label='Which model answers']", "")
	b.click(".rows button", "Change address")
	b.holds("document.querySelector('.address-form input[name=address]').value.endsWith('/v1')")
	b.picture("address-change")
}

// A server that wants a key says so, and is given one where its address is: what a test
// comes to is said in words of this page, not of files and variables.
func TestAServerThatWantsAKeyIsGivenOneOnThePage(t *testing.T) {
	t.Parallel()
	const key = "sk-a-key-that-is-right"
	var isWithdrawn atomic.Bool
	m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key || isWithdrawn.Load() {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"data":[{"id":"stub-1"}]}`)
	}))
	defer m.Close()
	h := serve(t, project(t, map[string]string{"troupe.yaml": "model: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n"}))
	b := open(t, h.link)
	value[any](b, "void (location.hash = '#/settings/models')")
	b.sees(".page", "nobody thinks about what you say") // a rehearsal
	b.chooses("select[aria-label='Add a provider']", "/")
	b.write(".address-form input[name=name]", "office")
	b.write(".address-form input[name=address]", m.URL)
	b.click(".address-form button", "Save and test")
	b.sees(".rows .bad-row .chip", "wants a key")
	b.sees(".rows .bad-row", "office wants a key: give it one with “Change address”.")
	b.click(".rows button", "Change address")
	b.write(".address-form input[name=key]", key)
	b.click(".address-form button", "Save and test")
	b.sees(".rows .chip", "answers")
	b.holds("document.activeElement === find('.rows button', 'Change address')")

	b.click(".rows button", "Replace key")
	b.holds("document.activeElement === find('.key-form input')")
	b.click(".key-form button", "Cancel")
	b.holds("document.activeElement === find('.rows button', 'Replace key')")
	b.click(".rows button", "Replace key")
	b.write(".key-form input", key)
	b.click(".key-form button", "Save and test")
	b.toasted("The key is kept.")
	b.holds("document.activeElement === find('.rows button', 'Replace key')")
	b.click(".rows button", "Replace key")
	b.write(".key-form input", "sk-a-key-that-is-wrong")
	b.click(".key-form button", "Save and test")
	b.sees(".key-form [role=alert]", "Office does not accept this key; the one that is set stays")
	b.click(".key-form button", "Cancel")
	b.click(".rows button", "Test")
	b.sees(".rows .chip", "answers")
	isWithdrawn.Store(true)
	b.click(".rows button", "Test")
	b.sees(".rows .bad-row", "office did not accept the key. It may be mistyped or withdrawn: replace it.")
	b.lacks(".rows .bad-row", "OFFICE_API_KEY")
	b.picture("key-refused")

	m.Close()
	b.click(".rows button", "Test")
	b.sees(".rows .bad-row .chip", "does not answer")
	b.sees(".rows .bad-row", "is the server running? Otherwise check the address.")
	b.lacks(".rows .bad-row", "troupe.yaml")
}

// What bounds nothing is refused at its field. That something is saved is said once, and not to
// whoever has gone on to other settings.
func TestLimitsAreRefusedAtTheirFieldsAndSavedWithOneToast(t *testing.T) {
	t.Parallel()
	h := serve(t, project(t, map[string]string{"troupe.yaml": "model: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n"}))
	b := open(t, h.link)
	b.at("#/settings/limits")
	const turns, money = `[aria-label="Turns, one answer"]`, `[aria-label="Money, one answer"]`
	b.sees(".rows", "Turns, one answer")
	b.write(turns, "-3")
	b.press(kb.Enter)
	b.sees(".rows [role=alert]", "“-3” is no number of turns: write a whole one from 1 on")
	b.holds("find(%s).getAttribute('aria-invalid') === 'true'", turns)

	value[any](b, "void (() => { const wait = setTimeout; window.setTimeout = (what, ms, ...more) => (ms === 6000 ? 0 : wait(what, ms, ...more)) })()")
	b.write(turns, "12")
	b.press(kb.Enter)
	b.toasted("Saved in troupe.yaml")
	b.lacks(".rows [role=alert]", "")
	b.write(money, "2")
	b.press(kb.Enter)
	b.holds("globalThis.toastsSeen.filter((said) => said.includes('Saved in troupe.yaml')).length === 2")
	b.holds("all('.toast').length === 1")
	b.click(".set nav a", "People")
	b.lacks(".toast", "Saved in troupe.yaml")
}
