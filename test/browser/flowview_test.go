package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Between the members of a team an arrow says who handed over to whom, also once that is done.
func TestAHandoverThatWasMadeKeepsItsArrow(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Desk of otters", []reply{{tool: "transfer_to_poet", arguments: map[string]any{"summary": "Otters."}}, {text: "Otters rhyme."}}})
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	b.looksAt(h.runs(t, "desk", "Desk of otters"), "flow")
	b.sees(".graph .chip", "2 of 3 done")
	b.holds("all('.stage path.e').length === 2 && all('.stage path.e').every((e) => document.querySelector(e.getAttribute('marker-end')?.slice(4, -1) ?? 'none'))")
	b.holds("getComputedStyle(find('.stage marker.go path')).fill === getComputedStyle(find('.stage path.done')).stroke && find('.stage path.done').getAttribute('marker-end') === 'url(#tipgo)'")
}

// The head of the arrow to whoever works now is beside the ring around the box, which would hide it, and
// where the graph has little room its frames still stand apart.
func TestTheArrowOfALoopIsSeen(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"You are the judge", []reply{{tool: "revise", arguments: map[string]any{"feedback": "Too long by half."}}}},
		script{"Too long by half", []reply{{text: "Otters", held: true}}},
		script{"You are the writer", []reply{{text: "Otters are long."}}}, script{"You are the poet", []reply{{text: "Otters rhyme."}}}, script{"You are the finder", []reply{{text: "Otters."}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "flows:\n", "flows:\n  article: {sequence: [finder, {parallel: [writer, poet]}, {loop: writer, check: judge, max_rounds: 3}]}\n").Replace(kindsConfiguration)}))
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(1400, 900))
	b.sees(".agent", "finder")
	b.looksAt(h.runs(t, "article", "Article of otters"), "flow")
	b.holds("find('.node.run') && find('path.back.go')")
	const gap = "((e) => e.getPointAtLength(e.getTotalLength()).y - parseFloat(find('.node.run').style.top) - find('.node.run').offsetHeight)(find('path.back.go'))"
	b.holds(gap + " > 4 && " + gap + " < 9")
	b.presses(".node.run", "writer")
	b.holds("find('.panel .seg') && find('.ground').scrollWidth === find('.ground').clientWidth")
	b.holds("(([a, b]) => b.left - a.right > 12)(all('.frame').map((e) => e.getBoundingClientRect()).sort((a, b) => a.left - b.left))")
}

// The card of a failure has room below it, before the line above the drawing.
func TestTheCardAboveADrawingStandsApart(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Line of otters", []reply{{text: "Found."}, {fails: true}}})
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	b.looksAt(h.runs(t, "line", "Line of otters"), "flow")
	b.sees(".graph .trouble", "stub does not understand the request")
	b.holds("find('.graph .trouble').getBoundingClientRect().bottom <= find('.ground').getBoundingClientRect().top - 10")
	b.picture("flow-card-apart")
}

// A drawing that fits below the cards is not scrolled: it takes no room that nothing is drawn in.
func TestADrawingThatFitsIsNotScrolled(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	var scripts []script
	for _, name := range []string{"writer", "poet"} {
		scripts = append(scripts, script{"You are the " + name, []reply{{tool: "write_file", arguments: map[string]any{"content": strings.Repeat("By the "+name+".\n", 30), "file_path": "{session-folder}/" + name + ".md"}}}})
	}
	m.directed(t, scripts...)
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(1280, 720))
	b.sees(".agent", "writer")
	b.looksAt(h.runs(t, "both", "Both"), "flow")
	b.holds("all('.graph .needs').length === 2")
	b.holds("find('.ground').scrollHeight === find('.ground').clientHeight")
	b.holds("find('.frame').getBoundingClientRect().top - find('.ground').getBoundingClientRect().top < 60")
	b.picture("flow-fits")
}

// A card is called what its box is, where an agent has several, and new ones come last: none takes
// the place of another.
func TestCardsAreCalledWhatTheirBoxesAre(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "flows:\n", "flows:\n  twice: {sequence: [writer, {parallel: [writer, poet], name: drafts}]}\n").Replace(twoWaitConfiguration)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	session := h.runs(t, "twice", "Twice")
	m.answers(t, "Begun.")
	asked := map[bool]*ask{}
	for range 2 {
		a := m.asked(t)
		asked[strings.Contains(a.all, "You are the poet")] = a
	}
	b.looksAt(session, "flow")
	for i, name := range []string{"poet", "writer"} {
		asked[name == "poet"].call("write_file", map[string]any{"content": "By the " + name + ".", "file_path": "{session-folder}/" + name + ".md"})
		b.holds("all('.graph .needs').length === %v", i+1)
	}
	b.reads(".graph .needs header", "poet asks before doing this", "writer 2 asks before doing this")
	b.sees(".graph .chip", "writer 2 and poet wait for you")
	b.sees(".graph .needs", "writer 2 wants to save writer.md")
}

// A step that asks has one name everywhere: that of the agent, with its number where the flow has
// several of them. In the conversation each of them has turns of its own.
func TestAStepThatAsksHasOneName(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, savesOften("writer", 2), savesOften("poet", 1))
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "flows:\n", "flows:\n  twice: {sequence: [writer, writer, poet]}\n").Replace(twoWaitConfiguration)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	session := h.runs(t, "twice", "Twice")
	for _, step := range []string{"writer 1", "writer 2", "poet"} {
		b.at("#/")
		b.sees(".waits b", step+" asks before doing something")
		b.sees(".waits p", step+" wants to save")
		b.holds("find('.waits .whole').innerText.split('wants to').length === 2 && !find('.waits').innerText.includes('May ')") // said once
		b.looksAt(session, "")
		b.sees(".flow .needs header", step+" asks before doing this")
		b.sees(".flow .turn:has(.needs) > div > header b", step)
		b.looksAt(session, "flow")
		b.sees(".graph .needs header", step+" asks before doing this")
		b.sees(".graph .chip", step+" waits for you")
		b.looksAt(session, "run")
		b.sees(".lane[data-kind=run]", step+" waits for you")
		if step == "writer 2" { // it is about to replace what the first has saved
			b.at("#/files")
			b.sees(".library .chip", step+" asks")
		}
		b.at("#/")
		b.sees(".waits b", step+" asks before doing something")
		b.presses(".waits button", "Allow once") // by key: the second click of two that quickly is not for it
		b.toasted("You allowed " + step + " to save")
		b.looksAt(session, "")
		b.sees(".answered", "You allowed "+step+" to save")
	}
	b.sees(".flow .acts", "Handed over to writer 2")
	b.reads(".flow .turn > div > header b", "writer 1", "twice", "writer 2", "twice", "poet")
	b.picture("steps-in-conversation")
}

// Who has a flow go on is at the step that goes on, which says that it does before it has said
// anything, and at the next card once there is one.
func TestWhoHasAFlowGoOnIsAtWhatGoesOn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Line of otters", []reply{{text: "Found."}, {text: "One, two", held: true}, {text: "Three", held: true}}})
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	b.looksAt(h.runs(t, "line", "Line of otters"), "flow")
	b.sees(".node[data-state=run]", "writer")
	b.enter(".bar button", "Stop")
	b.sees(".graph .trouble", "Stopped")
	b.enter(".graph .trouble button", "Go on")
	b.lacks(".graph .trouble", "")
	b.sees(".node[data-state=run]", "writer")
	b.lacks(".graph .chip", "stopped")
	b.holds("document.activeElement === find('.node', 'writer')")
	b.click(".bar button", "Stop")
	b.sees(".graph .trouble", "Stopped")
}
