package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// What is written into a setting right after another value was saved is saved or marked, in
// whatever order the answers come.
func TestWhatIsWrittenAfterASaveIsSavedOrMarked(t *testing.T) {
	t.Parallel()
	_, bob, _ := ofTwoOperators(t, newModel(t))
	const money = `[aria-label="Money, one answer"]`
	bob.at("#/settings/limits")
	bob.holds("find(%s)", money)
	// Answers take their time, each another one.
	value[any](bob, `void ((real) => {
		let n = 0;
		window.late = 0;
		window.fetch = async (path, options) => {
			if (!String(path).includes("settings")) return real(path, options);
			window.late++;
			const answer = await real(path, options);
			await new Promise((go) => setTimeout(go, [900, 100, 1400, 300, 0, 600, 50][n++ %% 7]));
			return window.late--, answer;
		};
	})(window.fetch)`)
	for i := range 8 {
		bob.write(money, fmt.Sprint(6+i))
		bob.press(kb.Enter)
		bob.write(money, "much")
		if i%2 == 0 {
			bob.press(kb.Tab)
		} else {
			bob.press(kb.Enter)
		}
		bob.holds("find(%s).getAttribute('aria-invalid') === 'true'", money)
		bob.holds("window.late === 0")
		bob.holds("find(%s).value === 'much' && find(%s).getAttribute('aria-invalid') === 'true'", money, money)
	}
}
