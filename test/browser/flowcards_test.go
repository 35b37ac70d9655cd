package browser

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A flow of several agents has no model of its own: whoever may set one for the agent whose model
// failed is led there, from wherever the failure is told, and goes on with it.
func TestAFlowWhoseModelFailsLeadsToAnotherOne(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"stub-2", []reply{{text: "Written by the other."}}}, script{"Line of otters", []reply{{text: "Found."}, {fails: true}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "models: {", "models: {stub-2: {}, ").Replace(kindsConfiguration)}))
	b := open(t, h.link)
	b.sees(".agent", "finder")
	session := h.runs(t, "line", "Line of otters")
	b.looksAt(session, "")
	b.sees(".trouble button", "Use another model for writer")
	b.looksAt(session, "flow")
	b.sees(".graph .trouble button", "Use another model for writer")
	b.picture("flow-failed-model")
	b.click(".node", "writer")
	b.click(".panel .trouble button", "Use another model for writer")
	b.sees(".set h2", "Agents")
	b.sees(".rows [aria-current]", "writer")
	b.hasFocus("select[aria-label='Model of writer']")
	b.picture("agent-meant")
	b.holds(`(() => {
		const field = find("select[aria-label='Model of writer']");
		field.value = "stub/stub-2";
		return field.dispatchEvent(new Event("change", { bubbles: true }));
	})()`)
	b.sees(".rows", "stub-2")
	b.looksAt(session, "flow")
	b.click(".graph .trouble button", "Try again")
	b.sees(".node[data-state=done]", "Written by the other.")
}

// A team that has handed over as often as it may says so wherever its last step is shown, and the
// tries after that are one line.
func TestATeamAtItsLimitSaysSo(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	var scripts []script
	for _, pair := range [][2]string{{"finder", "writer"}, {"writer", "finder"}} {
		scripts = append(scripts, script{"You are the " + pair[0], slices.Repeat([]reply{{text: "Not mine.", tool: "transfer_to_" + pair[1], arguments: map[string]any{"summary": "Otters."}}}, 30)})
	}
	m.directed(t, scripts...)
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "team: [finder, writer, poet]", "team: [finder, writer, poet], max_handoffs: 2").Replace(kindsConfiguration)}))
	b := open(t, h.link)
	b.sees(".agent", "finder")
	session := h.runs(t, "desk", "Desk of otters")
	b.looksAt(session, "flow")
	b.sees(".graph .trouble", "The work was handed over as often as it may be")
	b.picture("flow-handoffs")
	b.sees(".node[data-state=mute]", "Handed over too often")
	b.lacks(".graph", "repeated itself")
	b.click(".node", "finder")
	b.sees(".panel", "Handed over too often.")
	b.looksAt(session, "run")
	b.sees(".lane[data-kind=run]", "finder: handed over too often")
	b.lacks(".lane", "repeated itself")
	b.looksAt(session, "")
	b.sees(".trouble", "The work was handed over as often as it may be")
	b.picture("conversation-handoffs")
	b.holds("all('.turn .acts').filter((e) => e.innerText.includes('Could not hand over')).length === 1")
	b.holds("/Could not hand over to writer, \\d+ times/.test(find('.turn .acts', 'Could not').innerText)")
}

// An answer is taken while another agent of the flow is at work, and its own goes on at once.
func TestAnAnswerIsTakenWhileAnotherIsAtWork(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	call := reply{tool: "write_file", arguments: map[string]any{"content": "By the writer.", "file_path": "{session-folder}/writer.md"}}
	m.directed(t, script{"You are the writer", []reply{call, {text: "Saved."}}}, script{"You are the poet", []reply{{text: "A long poem", held: true}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.sees(".agent", "writer")
	session := h.runs(t, "both", "Both")
	b.looksAt(session, "flow")
	b.sees(".graph "+approval, "writer.md")
	b.click(".graph "+approval+" button", "Allow once")
	b.lacks(".graph "+approval, "")
	b.sees(".node[data-state=done]", "writer")
	b.sees(".node[data-state=run]", "poet")
	b.looksAt(session, "")
	b.sees(".turn", "You allowed writer to save writer.md")
	b.sees(".acts", "Saved")
}

// An answer that cannot be sent is not taken, which is said at its card.
func TestAnAnswerThatDoesNotArriveIsSaid(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Save it", []reply{{tool: "write_file", arguments: map[string]any{"content": "x", "file_path": "{session-folder}/guarded.md"}}}})
	k := serveKillable(t, m)
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/s/' + %s)", k.begins(t, "clerk", "Save it"))
	b.sees(approval, "guarded.md")
	k.end(os.Kill)
	b.click(approval+" button", "Allow once")
	const lost = "Your answer was not taken. Troupe cannot be reached. What you typed is kept."
	b.toasted(lost)
	b.sees(approval+" .not-taken", lost)
}

// Where what is at work cannot be stopped, that is said, and nothing that nobody typed.
func TestAStopThatDoesNotArriveIsSaid(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Say much", []reply{{text: "Once upon a time", held: true}}})
	k := serveKillable(t, m)
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/s/' + %s)", k.begins(t, "clerk", "Say much"))
	b.sees("main", "Once upon a time")
	k.end(os.Kill)
	b.click(".composer button", "Stop")
	b.toasted("Troupe cannot be reached. It was not stopped.")
}

// An answer that is given while the server cannot be reached is at no time shown as given, in the
// conversation and on the first screen: its card stays, and says what became of it.
func TestAnAnswerIsNotShownAsGivenBeforeItIsTaken(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Save it", []reply{{tool: "write_file", arguments: map[string]any{"content": "x", "file_path": "{session-folder}/guarded.md"}}}},
		script{"Which way", []reply{{text: "Which way?\n\n1. By road: slow\n2. By rail: quick"}}})
	k := serveKillable(t, m)
	b := open(t, k.r.link)
	b.sees(".agent", "clerk")
	session := k.begins(t, "clerk", "Save it")
	k.begins(t, "critic", "Which way")
	b.sees(".waits .chip", "By rail")
	b.sees(homeApproval+" button", "Allow once")
	k.end(os.Kill)
	b.sees(".strip", "Troupe cannot be reached")
	gives := func(button, name, card string) {
		t.Helper()
		value[any](b, `void (() => {
			const card = find(%s, %s).closest(%s);
			globalThis.goes = false;
			globalThis.watches?.disconnect();
			(globalThis.watches = new MutationObserver(() => (goes ||= !card.isConnected))).observe(document.body, { childList: true, subtree: true });
		})()`, button, name, card)
		b.click(button, name)
		b.holds("find(%s, %s)?.disabled || find('.not-taken')", button, name)
		b.sees(card+" .not-taken", "Troupe cannot be reached. What you typed is kept.")
		b.holds("!goes && !find(%s, %s).disabled", button, name)
	}
	gives(".waits .chip", "By rail", ".card")
	gives(homeApproval+" button", "Allow in this conversation", ".card")
	b.picture("answer-not-taken-home")
	k.serve(t)
	k.r.leadTo(t, k.link)
	b.hurries()
	b.lacks(".strip", "")
	b.looksAt(session, "")
	b.sees(approval, "guarded.md")
	k.end(os.Kill)
	b.sees(".strip", "Troupe cannot be reached")
	gives(approval+" button", "Allow in this conversation", ".needs")
	b.picture("answer-not-taken")
}

// Cards leave room for the drawing that they are about, and scroll where they do not fit.
func TestCardsLeaveRoomForTheDrawing(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	var scripts []script
	for _, name := range []string{"writer", "poet"} {
		scripts = append(scripts, script{"You are the " + name, []reply{{tool: "write_file", arguments: map[string]any{"content": strings.Repeat("By the "+name+".\n", 30), "file_path": "{session-folder}/" + name + ".md"}}}})
	}
	m.directed(t, scripts...)
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(twoWaitConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(1280, 860))
	b.sees(".agent", "writer")
	b.looksAt(h.runs(t, "both", "Both"), "flow")
	b.holds("all('.graph .needs').length === 2")
	b.picture("flow-two-wait")
	const drawn = "all('.node').every((e) => { const ground = find('.ground').getBoundingClientRect(), { top, bottom } = e.getBoundingClientRect(); return top >= ground.top && bottom <= ground.bottom + 1; })"
	b.holds(drawn)
	b.holds("find('.over-stage').clientHeight <= find('.stage').clientHeight * 0.55")
	b.holds("all('.node').every((e) => e.textContent.split('waits for you').length === 2)") // who listens hears it once
	b.click(".graph "+approval+" button", "Allow once")
	b.holds("all('.graph .needs').length === 1")
	b.holds(drawn)
	b.holds("(() => { const button = find('.graph .needs button', 'Allow once').getBoundingClientRect(); return button.bottom <= find('.ground').getBoundingClientRect().top; })()") // also below a long text
	b.picture("flow-one-waits")
}

// An answer that somebody else gave first is not lost without a word, though its card goes.
func TestAnAnswerThatComesTooLateIsSaid(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	b.looksAt(h.runs(t, "review", "Write it down"), "flow")
	m.calls(t, "write_file", map[string]any{"content": "All night.", "file_path": "{session-folder}/guarded.md"})
	b.sees(".graph "+approval, "guarded.md")
	value[any](b, `void ((real) => (window.fetch = (address, options) => String(address).endsWith("/answers")
		? Promise.resolve(new Response('{"status":409,"detail":"this question does not wait for an answer any more","code":"answered"}', { status: 409 }))
		: real(address, options)))(window.fetch)`)
	b.click(".graph "+approval+" button", "Allow once")
	b.toasted("Your answer was not taken. This was answered already.")
}

// What steps side by side hand on says in words why one of them has no answer.
func TestWhatAStepIsGivenSaysFailuresInWords(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the poet", []reply{{fails: true}}}, script{"You are the judge", []reply{{text: "The writer wins."}}}, script{"You are the writer", []reply{{text: "Otters like doors."}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "flows:\n", "flows:\n  best_of_two: {sequence: [{parallel: [writer, poet], name: drafts}, judge]}\n").Replace(kindsConfiguration)}))
	b := open(t, h.link)
	b.sees(".agent", "best of two")
	b.holds("find('.agent textarea', 'Task for best of two') && !document.body.innerText.includes('best_of_two')")
	session := h.runs(t, "best_of_two", "Two otters")
	b.looksAt(session, "flow")
	b.sees(".node[data-state=done]", "The writer wins.")
	b.click(".node", "judge")
	b.click(".panel button", "Was given")
	b.sees(".panel", "(no answer: the provider does not understand the request)")
	b.lacks(".panel", "failed: ")
	b.picture("flow-given-failed")
}
