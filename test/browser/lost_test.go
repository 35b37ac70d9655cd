package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// holdsRequests has the page wait for answers of an address until globalThis.lets(). How many were
// asked for is in globalThis.held.
func (b *tab) holdsRequests(address string) {
	b.t.Helper()
	value[any](b, `void ((ask) => {
		const waits = [];
		globalThis.held = 0;
		globalThis.lets = () => ((globalThis.fetch = ask), waits.forEach((go) => go()));
		globalThis.fetch = (path, options) => (String(path).includes(%s) ? (held++, new Promise((go) => waits.push(go)).then(() => ask(path, options))) : ask(path, options));
	})(globalThis.fetch)`, address)
}

// A key that is pressed twice begins one run of a flow, and what is typed meanwhile stays.
func TestAFlowIsBegunOnce(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	b.at("#/flows")
	const task = "[aria-label='Task for review']"
	b.write(task, "Look at it")
	b.holdsRequests("/runs")
	b.press(kb.Enter)
	b.press(kb.Enter)
	b.holds("held === 1 && find('[aria-label=review] button', 'Run').disabled")
	b.press("!")
	value[any](b, "void lets()")
	b.sees(".node", "clerk")
	b.at("#/flows")
	b.holds("find(%s).value === 'Look at it!'", task)
}

// What is typed while the first message is on its way is the next one.
func TestWhatIsTypedWhileAConversationBeginsStays(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.sees(".agent", "clerk")
	const box = ".ask textarea"
	b.write(box, "First")
	b.holdsRequests("api/sessions")
	b.press(kb.Enter)
	b.holds("held > 0")
	b.write(box, "First, and then")
	value[any](b, "void lets()")
	m.answers(t, "Yes.")
	b.sees(answers, "Yes.")
	b.at("#/")
	b.holds("find(%s).value === ', and then'", box)
}

// A document that is open stays where it cannot be asked for once more.
func TestADocumentStaysWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Write it")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/a.md", "content": "# Otters\n\nThey swim.\n"})
	m.answers(t, "Written.")
	b.sees(answers, "Written.")
	b.click(".doc button", "")
	b.sees(".panel .sheet", "They swim.")
	value[any](b, `void ((ask) => {
		globalThis.failed = 0;
		globalThis.fetch = (path, options) => (String(path).includes("/files/") ? (failed++, Promise.reject(new TypeError("there is no network"))) : ask(path, options));
	})(globalThis.fetch)`)
	value[any](b, "void dispatchEvent(new Event('focus'))") // as on a laptop that wakes up
	b.holds("failed > 0")
	b.draws()
	b.sees(".panel .sheet", "They swim.")
	b.lacks(".panel .trouble", "")
}

// What is typed at the gate of one delivery is not at that of another. Where the gate was decided
// elsewhere meanwhile, it is there to be copied.
func TestWhatIsTypedAtAGateIsForThatGate(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	m.directed(t, script{"Say which licences", []reply{{text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}, {text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}}},
		script{"Say what it costs", []reply{{text: "I am still counting", held: true}, {text: "I am still counting", held: true}}})
	h := play(t, m)
	var made [2]struct{ Session string }
	for i := range made {
		if err := json.Unmarshal([]byte(h.post(t, "/api/deliveries", map[string]string{"request": strings.Repeat("A task. ", i+1)})), &made[i]); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, h.link)
	const field = "[aria-label=Gate] textarea"
	b.looksAt(made[0].Session, "delivery")
	b.write(field, "Ask the lawyer")
	b.looksAt(made[1].Session, "delivery")
	b.holds("find(%s)?.value === ''", field)
	b.looksAt(made[0].Session, "delivery")
	b.holds("find(%s)?.value === 'Ask the lawyer'", field)
	elsewhere := b.beside(value[string](b, "location.href"))
	elsewhere.click("[aria-label=Gate] button", "Go on to finance")
	elsewhere.lacks("[aria-label=Gate]", "")
	elsewhere.lacks(".unsent", "")
	elsewhere.close()
	b.sees(".unsent", "It was answered elsewhere. You had written:")
	b.holds("find('.unsent input').value === 'Ask the lawyer'")
	b.click(".unsent button", "Drop it")
	b.looksAt(made[1].Session, "delivery")
	b.write(field, "Name them")
	b.click("[aria-label=Gate] button", "Go on to finance")
	b.lacks("[aria-label=Gate]", "")
	b.lacks(".unsent", "")
}
