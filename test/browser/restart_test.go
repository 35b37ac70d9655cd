package browser

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A killable house is one that can be killed and served again while pages are open: its
// address and its access code stay the same.
type killable struct {
	*house
	r   *relay
	dir string
	ann string
	end func(os.Signal)
}

func serveKillable(t *testing.T, m *model) *killable { return serveKillableAs(t, m, configuration) }

func serveKillableAs(t *testing.T, m *model, configuration string) *killable {
	t.Helper()
	ann := strings.Repeat("a", 40)
	dir := project(t, map[string]string{
		".env": "ANN_TOKEN=" + ann + "\n", "legal.json": legalSchema,
		"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1) + "server: {operators: [ann], users: {ann: ANN_TOKEN}}\n",
	})
	k := &killable{dir: dir, ann: ann}
	k.serve(t)
	k.r = newRelay(t, k.link)
	return k
}

func (k *killable) serve(t *testing.T) {
	t.Helper()
	k.house, k.end = serveUntil(t, k.dir)
	origin, _, _ := strings.Cut(k.link, "#")
	k.link = strings.TrimSuffix(origin, "/") + "/#token=" + k.ann
}

// isKilled kills the server while a page looks at it, and serves it again.
func (k *killable) isKilled(t *testing.T, b *tab) {
	t.Helper()
	k.end(os.Kill)
	b.sees(".strip", "Troupe cannot be reached")
	k.serve(t)
	k.r.leadTo(t, k.link)
	b.hurries()
}

const restarted = "Troupe was restarted in the middle of this"

func TestAnOpenConversationNoticesThatItsServerWasKilled(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Count slowly", []reply{{text: "One, two", held: true}, {text: "Three, four", held: true}, {text: "All of it."}}})
	k := serveKillable(t, m)
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/s/' + %s)", k.begins(t, "clerk", "Count slowly"))
	b.sees(".turn .prose", "One, two")

	k.isKilled(t, b)
	b.sees(".trouble", restarted)
	b.sees(".trouble", "What was being written then begins again if it goes on; no tool is used twice.")
	b.lacks(".trouble button", "where it stopped")
	b.holds("find('.turns > .trouble').getBoundingClientRect().left === find('.turn .prose').getBoundingClientRect().left")
	b.holds("!globalThis.toastsSeen.some((said) => said.includes('was restarted'))") // a card says it
	b.holds("!find('button[aria-label=Stop]') && !find('.working') && find('.flow').ariaBusy === 'false'")
	b.click(".trouble button", "Go on")
	b.sees(".turn .prose", "Three, four")
	b.lacks(".trouble", restarted)

	// What is said in place of going on ends the run; the card does not call kept what is not.
	k.isKilled(t, b)
	b.sees(".trouble", restarted)
	b.say("And now?")
	b.sees(".turn .prose", "All of it.")
	b.sees(".trouble", restarted)
	b.do(chromedp.Reload())
	b.sees(".turn .prose", "All of it.")
	b.sees(".trouble", "what was being written then is not")
	b.lacks(".trouble", "kept")
	b.lacks(".turn .prose", "Three, four")
}

func TestAnOpenDeliveryNoticesThatItsServerWasKilled(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Say which licences are involved", []reply{{text: "{", held: true}, {text: "{", held: true}}})
	k := serveKillable(t, m)
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(k.post(t, "/api/deliveries", map[string]string{"request": "Lockers at the door"})), &made); err != nil {
		t.Fatal(err)
	}
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/s/' + %s + '/delivery')", made.Session)
	b.sees(".delivery", "is being worked on")
	b.holds("find('.stepper li[data-phase=legal][data-state=running]')")

	k.isKilled(t, b)
	b.sees(".trouble", restarted)
	b.lacks(".delivery", "is being worked on")
	b.holds("find('.stepper li[data-phase=legal][data-state=stopped]') && !find('.room .spin') && !find('.bar button', 'Stop')")
	b.click(".trouble button", "Go on")
	b.sees(".delivery", "is being worked on")
	b.holds("find('.stepper li[data-phase=legal][data-state=running]')")
}

// The view of a flow says what was done, what was cut and what is to come after its server was
// killed, and goes on from there.
func TestAnOpenFlowNoticesThatItsServerWasKilled(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Otters at the door", []reply{{text: "Otters like doors."}, {text: "One, two", held: true}, {text: "Three, four", held: true}}})
	k := serveKillable(t, m)
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(k.post(t, "/api/flows/review/runs", map[string]string{"text": "Otters at the door"})), &made); err != nil {
		t.Fatal(err)
	}
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/s/' + %s + '/flow')", made.Session)
	b.sees(".node[data-state=done]", "clerk")
	b.sees(".node[data-state=run]", "critic")

	k.isKilled(t, b)
	b.sees(".graph .trouble", restarted)
	for range 2 {
		b.sees(".node[data-state=done]", "clerk")
		b.sees(".node[data-state=stop]", "interrupted")
		b.sees(".graph .chip", "1 of 2 done")
		b.sees(".graph .chip", "1 interrupted")
		b.lacks(".graph .chip", "Nobody was heard")
		b.holds("find('.trouble').getBoundingClientRect().bottom <= find('.node').getBoundingClientRect().top")
		b.do(chromedp.Reload()) // now from the log alone
		b.sees(".graph .trouble", restarted)
	}
	b.picture("flow-after-a-kill")
	b.click(".trouble button", "Go on")
	b.sees(".node[data-state=run]", "critic")
	b.lacks(".graph .trouble", restarted)
}

// How long it was worked on before its server was killed is not known, and not said; the time
// until it went on has a row of its own.
func TestTheTimeForWhichAServerWasDeadIsShownAndNotCounted(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Otters at the door", []reply{{text: "Otters like doors."}, {text: "One, two", held: true}, {text: "Three."}}})
	k := serveKillable(t, m)
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	session := k.runs(t, "review", "Otters at the door")
	b.looksAt(session, "flow")
	b.sees(".node[data-state=run]", "Writing, 2 words") // the model has been asked
	k.isKilled(t, b)
	b.sees(".graph .trouble", restarted)
	b.sees(".node[data-state=stop]", "interrupted")
	b.holds("!/\\d (ms|s)\\b/.test(find('.node[data-state=stop]').innerText) && find('.node[data-state=stop]').textContent.split('interrupted').length === 2")
	b.picture("flow-cut")
	b.click(".node", "critic")
	b.click(".panel button", "Rounds 1")
	b.sees(".panel details", "interrupted")
	b.click(".panel button[aria-label=Close]", "")
	b.click(".trouble button", "Go on")
	b.sees(".node[data-state=done]", "Three.")
	b.looksAt(session, "run")
	b.sees(".lane[data-kind=break]", "Interrupted by a restart")
	b.holds("/\\d (ms|s|min)/.test(find('.lane[data-kind=break]').innerText)")
	b.picture("run-cut")
}

// deaf has a page wait for ever before it tries again: whatever it learns of the server, it learns
// in another way.
const deaf = "void (globalThis.setTimeout = ((set) => (act, ms, ...more) => (ms > 300 && ms <= 30_000 ? 0 : set(act, ms, ...more)))(globalThis.setTimeout))"

// A conversation that cannot be loaded says so, and is no new one; it is there as soon as the
// server is. The page does not say that the server cannot be reached once it was.
func TestAConversationThatCannotBeLoadedSaysSo(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	k := serveKillable(t, m)
	m.directed(t, script{"Count slowly", []reply{{text: "One, two."}}})
	id := k.begins(t, "clerk", "Count slowly")
	b := begin(t, k.r.link, "critic") // another one: the view is there
	b.sees(".side", "Count slowly")

	k.end(os.Kill)
	b.sees(".strip", "Troupe cannot be reached")
	value[any](b, deaf)
	b.at("#/s/" + id)
	b.sees("h1", "This conversation cannot be loaded now")
	b.lacks(".beginning", "")
	b.sees(".strip", "Trying again…")
	b.picture("not-loaded")
	k.serve(t)
	k.r.leadTo(t, k.link)
	b.press("k", kb.ModifierCtrl)
	b.write(".finder input", "clerk") // asks the server for something
	b.lacks(".strip", "")
	b.sees(answers, "One, two.")
}
