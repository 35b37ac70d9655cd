package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Settings say of an agent what it is and what it may use, in words that the page has elsewhere.
func TestSettingsSayWhatAnAgentIs(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	b.sees(".agent", "clerk")
	b.at("#/settings/agents")
	b.holds("all('.rows > div p')[0].innerText === 'Files what you bring · may use 2 tools'")
	b.holds("all('.rows > div p')[1].innerText === 'Finds what is missing'")
}

// Through all of Settings by keys alone: whatever is opened has the focus, what is closed gives it
// back, and a button that is switched off while it works has it again.
func TestSettingsByKeysAlone(t *testing.T) {
	t.Parallel()
	ann, _, _ := ofTwoOperators(t, newModel(t))
	ann.sees(".agent", "clerk")
	ann.at("#/settings/mcp")
	ann.enter(".set button", "Add a server")
	ann.hasFocus("#server-name")
	ann.press(kb.Escape)
	ann.hasFocus("#add-server")
	ann.press(kb.Enter)
	ann.hasFocus("#server-name")
	ann.enter(".set form button", "Cancel")
	ann.hasFocus("#add-server")
	ann.at("#/settings/about")
	ann.enter(".set button", "Check the installation")
	ann.sees(".checks", "Model")
	ann.holds("document.activeElement === find('.set button', 'Check the installation')")
	ann.at("#/settings/people")
	ann.enter(".rows > div:nth-child(2) button", "Remove bob")
	ann.enter("dialog.removal button.danger", "Remove bob")
	ann.lacks(".rows", "bob")
	ann.hasFocus(".rows > div button")
	ann.at("#/settings/models")
	ann.enter(".rows button", "Change address")
	ann.hasFocus(".address-form [name=address]")
	ann.press(kb.Escape)
	ann.lacks(".address-form", "")
	ann.holds("document.activeElement.innerText === 'Change address'")
	ann.enter(".rows button", "Remove spare")
	ann.enter("dialog.removal button.danger", "Remove spare")
	ann.lacks(".rows", "spare")
	ann.holds("document.activeElement.closest('.rows > div')?.innerText.includes('stub')")
}

// What is written while the one before it is still being saved is saved, too, and nobody is said to
// have changed it in between.
func TestALimitThatIsCorrectedAtOnceIsSaved(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	h := play(t, newModel(t))
	b.goTo(h.link)
	b.sees(".agent", "clerk")
	b.at("#/settings/limits")
	const money = `[aria-label="Money, one answer"]`
	b.holds("find(%s)", money)
	value[any](b, `void ((real) => {
		window.held = [];
		window.fetch = async (address, options) => {
			const answer = await real(address, options);
			if (String(address).includes("api/settings") && window.held) await new Promise((go) => window.held.push(go));
			return answer;
		};
	})(window.fetch)`)
	for _, amount := range []string{"$0,01", "50"} {
		b.write(money, amount)
		b.press(kb.Enter)
		b.holds("window.held.length > 0")
	}
	value[any](b, "void (window.held.forEach((go) => go()), window.held = null)")
	b.holds("find(%s).value === '50' && find('.toast', 'Saved')", money)
	b.holds("!find('.toast', 'changed')")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "cost: 50") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
}
