package browser

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// kindsConfiguration has flows of every kind, each alone and within others.
const kindsConfiguration = `model: stub/stub-1
providers: {stub: {base_url: URL, models: {stub-1: {price: {input: 2, output: 8}}}}}
limits: {model_tries: 1, tool_timeout: 30s}
agents:
  finder: {instructions: You are the finder., skills: false, tools: []}
  writer: {instructions: You are the writer., skills: false, tools: []}
  poet: {instructions: You are the poet., skills: false, tools: []}
  judge: {instructions: You are the judge., skills: false, tools: []}
  chair: {instructions: You are the chair., skills: false, tools: []}
flows:
  line: {sequence: [finder, writer]}
  both: {parallel: [writer, poet]}
  desk: {team: [finder, writer, poet]}
  circle: {group_chat: [writer, poet], turns: 4}
  panel: {group_chat: [writer, poet], manager: chair}
  polish: {loop: writer, check: judge, max_rounds: 3}
  asked: {agent: finder, experts: [writer, poet]}
  nested: {sequence: [finder, {parallel: [writer, {group_chat: [poet, judge], turns: 2, name: talk}], name: drafts}, {loop: {sequence: [writer, poet], name: pair}, check: judge, max_rounds: 2, name: again}]}
  branches: {parallel: [{sequence: [finder, writer], name: left}, {sequence: [finder, poet]}]}
  around: {group_chat: [{sequence: [finder, writer], name: first}, poet], turns: 2}
`

func kindsHouse(t *testing.T, m *model) *house {
	t.Helper()
	return serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(kindsConfiguration, "URL", m.URL+"/v1", 1)}))
}

// runs begins a flow and returns its conversation.
func (h *house) runs(t *testing.T, flow, task string) string {
	t.Helper()
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(h.post(t, "/api/flows/"+flow+"/runs", map[string]string{"text": task})), &made); err != nil {
		t.Fatal(err)
	}
	return made.Session
}

// looksAt shows a view of a conversation.
func (b *tab) looksAt(session, view string) {
	b.t.Helper()
	value[any](b, "void (location.hash = '#/s/' + %s + '/' + %s)", session, view)
}

// What leads nowhere, as the members of a group chat without a manager, is sent without edges.
func TestEveryKindOfFlowIsDrawn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"Desk of otters", []reply{{tool: "transfer_to_poet", arguments: map[string]any{"summary": "Otters."}}, {text: "Otters rhyme."}}},
		script{"Panel of otters", []reply{{tool: "give_floor", arguments: map[string]any{"to": "poet"}}, {text: "Otters rhyme."}, {text: "They rhyme."}}},
	)
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	for _, one := range []struct {
		flow, task string
		nodes      int
		done       string
	}{
		{"line", "Line of otters", 2, "2 of 2 done"},
		{"both", "Both otters", 2, "2 of 2 done"},
		{"desk", "Desk of otters", 3, "2 of 3 done"},
		{"circle", "Circle of otters", 2, "2 of 2 done"},
		{"panel", "Panel of otters", 3, "2 of 3 done"},
		{"polish", "Polish otters", 2, "2 of 2 done"},
		{"asked", "Ask about otters", 3, "1 of 3 done"},
		{"nested", "Nest of otters", 7, "7 of 7 done"},
		{"branches", "Branches of otters", 4, "4 of 4 done"},
		{"around", "Around otters", 3, "3 of 3 done"},
	} {
		b.looksAt(h.runs(t, one.flow, one.task), "flow")
		b.sees(".bar", one.flow)
		b.sees(".graph .chip", one.done)
		b.lacks("main", "This view broke")
		b.holds("all('.canvas .node').length === %v", one.nodes)
		b.picture("flow-kind-" + one.flow)
		b.click(".zoom button", "As a list")
		b.holds("all('.flow-nodes .node').length === %v", one.nodes)
		b.click(".flow-list button", "As a graph")
	}
}

// Branches that begin with the same agent have runs of their own, whichever is faster.
func TestARunIsDrawnInItsOwnBranch(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t)
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	branches := map[string]string{"left": "3", "branches.2": "6"} // and the node of the finder in them
	for range 3 {
		session := h.runs(t, "branches", "Branches of otters")
		b.looksAt(session, "flow")
		b.sees(".graph .chip", "4 of 4 done")
		var page struct {
			Events []struct {
				Kind, Run, Parent, Agent string
				Body                     struct{ Node string }
			}
		}
		if err := json.Unmarshal([]byte(h.get(t, "/api/sessions/"+session+"/events?before=&limit=200")), &page); err != nil {
			t.Fatal(err)
		}
		names, placed := map[string]string{}, 0
		for _, e := range page.Events {
			if e.Kind != "run_started" {
				continue
			}
			names[e.Run] = e.Agent
			if e.Agent != "finder" {
				continue
			}
			if placed++; e.Body.Node != branches[names[e.Parent]] {
				t.Errorf("the finder of %q is at %q", names[e.Parent], e.Body.Node)
			}
		}
		if placed != 2 {
			t.Errorf("%d finders have begun", placed)
		}
	}
	b.click(".zoom button", "As a list")
	b.sees(".flow-nodes .nested li", "left: one after the other")
}

// The view of a flow that is over says what came of it, as lists do, and offers what can be done.
func TestAFlowThatIsOverSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	refused := slices.Repeat([]reply{{tool: "transfer_to_poet", arguments: map[string]any{"why": "It rhymes."}}}, 30)
	m.directed(t,
		script{"Desk of otters", refused},
		script{"Circle of otters", slices.Repeat([]reply{{}}, 30)},
		script{"Panel of otters", []reply{{text: "They rhyme."}}},
		script{"Line of otters", []reply{{text: "Found."}, {fails: true}, {text: "Written."}}},
	)
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	listed := func(want string) {
		t.Helper()
		value[any](b, "void (location.hash = '#/flows')")
		b.sees(".recent a", want)
	}

	desk := h.runs(t, "desk", "Desk of otters")
	b.looksAt(desk, "flow")
	b.sees(".graph .trouble", "finder did the same thing over and over")
	b.sees(".graph .trouble", "Say in the conversation what to do instead")
	b.sees(".node[data-state=mute]", "it repeated itself")
	b.holds("all('.node[data-state=none]').length === 2 && all('.node').every((e) => !e.innerText.includes('to come'))")
	b.sees(".graph .chip", "0 of 3 done")
	b.sees(".graph .chip", "1 without a full answer")
	b.picture("flow-repeated")
	b.click(".node", "poet")
	b.sees(".panel", "This step did not run.")
	b.click(".node", "finder")
	b.sees(".panel", "Could not hand over to poet, ")
	b.looksAt(desk, "run")
	b.sees(".lane[data-kind=run]", "finder: stopped: it repeated itself")
	b.lacks(".lane", "answers")
	b.sees(".lane[data-failed=true]", "Could not hand over to poet")
	b.lacks(".lane", "Handed over")
	b.looksAt(desk, "")
	b.sees(".acts", "Could not hand over to poet")
	b.sees(".trouble", "Say below")
	listed("it repeated itself")

	b.looksAt(h.runs(t, "circle", "Circle of otters"), "flow")
	b.sees(".graph .chip", "Nobody was heard")
	b.sees(".graph .trouble", "The model said nothing")
	b.click(".node", "poet")
	b.sees(".panel", "Said nothing.")
	b.click(".panel button[aria-label=Close]", "")
	b.holds("all('.node[data-state=mute]').length === 2")
	listed("Said nothing")

	b.looksAt(h.runs(t, "panel", "Panel of otters"), "flow")
	b.sees(".graph .chip", "Only chair answered")
	b.holds("all('.node[data-state=none]').length === 2")
	listed("Done")

	b.looksAt(h.runs(t, "line", "Line of otters"), "flow")
	b.sees(".node[data-state=fail]", "writer")
	b.sees(".graph .chip", "1 of 2 done")
	b.holds("!find('.graph .chip svg.acc')")
	b.picture("flow-failed")
	b.click(".node", "writer")
	b.sees(".panel .trouble", "stub does not understand the request")
	b.lacks(".panel", "Nothing.")
	b.picture("flow-failed-panel")
	b.click(".panel button[aria-label=Close]", "")
	b.click(".graph .trouble button", "Try again")
	b.sees(".node[data-state=done]", "Written.")
	b.lacks(".graph .trouble", "")
}

// What steps side by side have said is there once, and the one that failed is told in words.
func TestStepsSideBySideAreToldOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the poet", []reply{{fails: true}}}, script{"You are the writer", []reply{{text: "Otters like doors."}}})
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	session := h.runs(t, "both", "Both otters")
	b.looksAt(session, "flow")
	b.sees(".node[data-state=fail]", "poet")
	b.sees(".graph .chip", "1 of 2 done")
	b.looksAt(session, "")
	b.sees(".turn .acts", "poet has no answer.")
	b.reads(answers, "Otters like doors.")
	b.lacks("main", "failed: agent")
	b.picture("parallel-failed")
}

// What an agent of a flow asks is answered in the view of the flow, where whoever began it is.
func TestAFlowThatWaitsIsAnsweredWhereItIsSeen(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	write := func(name string) {
		t.Helper()
		b.looksAt(h.runs(t, "review", "Write down "+name), "flow")
		m.calls(t, "write_file", map[string]any{"content": "All night.", "file_path": "{session-folder}/guarded-" + name})
		b.sees(".graph .chip", "clerk waits for you")
		b.sees(".graph "+approval, "clerk wants to save guarded-"+name)
	}

	write("hours.md")
	b.holds("find('.graph .needs').getBoundingClientRect().bottom <= find('.node').getBoundingClientRect().top")
	b.picture("flow-waits")
	b.click(".node", "clerk")
	b.sees(".panel", "Nothing until you have answered.")
	b.click(".panel button", "See what clerk asks")
	b.lacks(".panel", "")
	b.click(".graph .zoom button", "As a list")
	b.sees(".flow-list "+approval, "clerk asks before doing this")
	b.click(".flow-list button", "As a graph")
	b.click(".graph "+approval+" button", "Allow once")
	m.answers(t, "Written.")
	b.lacks(".graph "+approval, "")
	b.lacks(".graph .chip", "waits for you")
	m.answers(t, "Good.")
	b.sees(".graph .chip", "2 of 2 done")

	b.do(chromedp.EmulateViewport(390, 844))
	write("doors.md")
	b.click(".node", "clerk")
	b.click(".panel button", "See what clerk asks")
	b.picture("flow-waits-phone")
	b.click(".graph "+approval+" button", "Do not allow")
	m.answers(t, "Then not.")
	b.lacks(".graph "+approval, "")
	m.answers(t, "Which of the doors is it to be?")
	b.sees(".graph [aria-label=Question]", "Which of the doors is it to be?") // the flow has ended with it
	b.write(".graph [aria-label=Question] textarea", "The left one")
	b.click(".graph [aria-label=Question] button", "Answer")
	m.answers(t, "The left one it is.")
	b.lacks(".graph [aria-label=Question]", "")
	m.answers(t, "Good.")
	b.sees(".graph .chip", "2 of 2 done")
}

// What somebody has stopped says so, and not that it failed.
func TestAFlowThatWasStoppedHasNotFailed(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Line of otters", []reply{{text: "Found."}, {text: "One, two", held: true}, {text: "Written."}}})
	h := kindsHouse(t, m)
	b := open(t, h.link)
	b.sees(".agent", "finder")
	b.looksAt(h.runs(t, "line", "Line of otters"), "flow")
	b.sees(".node[data-state=run]", "writer")
	b.click(".bar button", "Stop")
	b.sees(".graph .trouble", "Stopped")
	b.sees(".node[data-state=halt]", "stopped")
	b.sees(".graph .chip", "1 of 2 done")
	b.sees(".graph .chip", "1 stopped")
	b.lacks(".graph", "failed")
	b.picture("flow-stopped")
	b.click(".graph .trouble button", "Go on")
	b.sees(".node[data-state=done]", "Written.")
	b.lacks(".graph .chip", "stopped")
}

// A flow that nothing is heard of says so, and does not count on.
func TestAFlowThatNothingIsHeardOfSaysSo(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Line of otters", []reply{{text: "Found."}, {text: "One, two", held: true}}})
	h := kindsHouse(t, m)
	r := newRelay(t, h.link)
	b := open(t, r.link)
	b.sees(".agent", "finder")
	b.looksAt(h.runs(t, "line", "Line of otters"), "flow")
	b.sees(".node[data-state=run]", "writer")
	b.sees(".live-chip", "Live, following")
	r.cut()
	b.sees(".live-chip", "No connection")
	b.lacks(".live-chip", "Live")
	const took = "find('.node[data-state=run] .num').innerText"
	stood := value[string](b, took)
	b.hurries() // which draws the page anew
	b.sees(".live-chip", "No connection")
	if now := value[string](b, took); now != stood {
		t.Errorf("without a connection %s became %s", stood, now)
	}
	r.mend()
	b.hurries()
	b.sees(".live-chip", "Live, following")
}
