package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A number is saved as it was typed, with marks of thousands where there can be no others.
// What can be read in two ways is not saved, and what was saved can be changed again.
func TestANumberIsSavedAsItWasTyped(t *testing.T) {
	t.Parallel()
	h := play(t, newModel(t))
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	b.at("#/settings/limits")
	const month, tokens, spell = `[aria-label="Money, this month"]`, `[aria-label="Tokens, one answer"]`, `[aria-label="Time, one answer"]`
	saves := func(field, typed, shown, file string) {
		t.Helper()
		const saved = "globalThis.toastsSeen.filter((said) => said.includes('Saved in troupe.yaml')).length"
		before := value[int](b, saved)
		b.write(field, typed)
		b.press(kb.Enter)
		b.holds(saved+" > %s", before)
		b.holds("find(%s).value === %s && !find(%s).hasAttribute('aria-invalid')", field, shown, field)
		if text := h.read(t, "troupe.yaml"); !strings.Contains(text, file) {
			t.Errorf("%s was written: troupe.yaml lacks %q:\n%s", typed, file, text)
		}
	}
	saves(month, "1", "1", "month_cost: 1")
	saves(month, "1000", "1000", "month_cost: 1000")
	b.sees(".rows", "of $1,000 spent")
	saves(month, "1,000,000", "1000000", "month_cost: 1000000")
	saves(month, "1,000.50", "1000.50", "month_cost: 1000.5")
	b.sees(".rows", "of $1,000.50 spent")
	saves(month, "$1,000.5", "1000.50", "month_cost: 1000.5") // the same in other words
	saves(month, "2,5", "2.50", "month_cost: 2.5")            // which nobody has changed meanwhile
	saves(month, "0.125", "0.125", "month_cost: 0.125")
	saves(month, "2.5", "2.50", "month_cost: 2.5")
	b.sees(".rows", "of $2.50 spent")
	b.write(month, "2.5") // which is what holds
	b.press(kb.Enter)
	b.holds("find(%s).value === '2.50'", month)
	saves(tokens, "10,000", "10000", "tokens: 10000")
	saves(tokens, "1.000", "1000", "tokens: 1000") // of which there are no parts
	saves(tokens, "1,005", "1005", "tokens: 1005")
	saves(spell, "90m", "1h30m", "time: 90m")
	saves(spell, "90m", "1h30m", "time: 90m")
	saves(spell, "2h", "2h", "time: 2h")
	if value[bool](b, "globalThis.toastsSeen.some((said) => said.includes('Somebody has changed'))") {
		t.Error("somebody is said to have changed what nobody has")
	}

	refuses := func(field, typed, why string) {
		t.Helper()
		b.write(field, typed)
		b.press(kb.Enter)
		b.sees(".rows [role=alert]", why)
		b.holds("find(%s).getAttribute('aria-invalid') === 'true' && find(%s).value === %s", field, field, typed)
	}
	before := h.read(t, "troupe.yaml")
	refuses(month, "1.000", "“1.000” can be read as 1000 and as 1: write 1000, or 1.00.")
	refuses(month, "$1,000", "“1,000” can be read as 1000 and as 1: write 1000, or 1.00.")
	refuses(month, "1.005", "“1.005” can be read as 1005 and as 1.005: write 1005, or 1.01.")
	refuses(month, "1,000.50.1", "“1,000.50.1” is no amount of money")
	refuses(tokens, "1,5", "“1,5” is no number of tokens")
	if text := h.read(t, "troupe.yaml"); text != before {
		t.Errorf("what was refused has changed troupe.yaml:\n%s", text)
	}

	b.at("#/deliveries")
	b.write("#request", "Make it good")
	const edge = "getComputedStyle(find('#delivery-budget').closest('.field')).borderTopColor"
	b.holds(edge + " === getComputedStyle(find('#delivery-project').closest('.field')).borderTopColor") // nothing is wrong yet
	b.write("#delivery-budget", "1.000")
	b.holds(edge + " !== getComputedStyle(find('#delivery-project').closest('.field')).borderTopColor")
	b.holds("document.getElementById(find('#delivery-budget').getAttribute('aria-describedby')).innerText.includes('1.000')")
	b.sees("form [role=alert]", "“1.000” can be read as 1000 and as 1")
	b.write("#delivery-budget", "1000")
	b.click("form button", "Deliver")
	b.sees(".bar", "of $1,000")
}
