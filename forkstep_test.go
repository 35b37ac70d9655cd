package troupe_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// saying returns an edit that changes the summary. Where it comes from cannot be changed.
func saying(text string) func(troupe.Handoff) (troupe.Handoff, error) {
	return func(h troupe.Handoff) (troupe.Handoff, error) {
		h.Summary, h.Meta.Source = text, "nobody"
		return h, nil
	}
}

// nestedIn returns the runs in a log that are nested in another, in order.
func nestedIn(log []troupe.Event) (starts []troupe.Event) {
	for _, e := range log {
		if _, ok := e.Body.(*troupe.RunStarted); ok && e.Parent != "" {
			starts = append(starts, e)
		}
	}
	return starts
}

// runOf returns the run of an agent in a log, by how often the agent has run before.
func runOf(t *testing.T, log []troupe.Event, agent string, before int) string {
	t.Helper()
	for _, e := range nestedIn(log) {
		if e.Agent == agent {
			if before--; before < 0 {
				return e.Run
			}
		}
	}
	t.Fatalf("%s has not run so often", agent)
	return ""
}

// A step of any flow is done again with an input that a person has edited, nothing that
// came before it is, and wherever that is cut it comes to the same.
func TestAStepIsDoneAgainWithAnEditedInput(t *testing.T) {
	nested := func(t testing.TB, w *world) troupe.Step {
		both := flow.Parallel("both", flow.Sequence("left", echo(t, w, "bob"), echo(t, w, "bea")), flow.Sequence("right", echo(t, w, "cid"), echo(t, w, "cleo")))
		return flow.Sequence("relay", echo(t, w, "ann"), both, echo(t, w, "dora"))
	}
	scenes := append(flowScenes(), scene{"flows in the branches of a flow", nested, troupe.Input{Text: "go"}})
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			engine := newEngine(t, troupe.Config{})
			first, _, err := play(t, engine, s.step(t, &world{done: map[string]int{}}), s.input)
			if err != nil {
				t.Fatal(err)
			}
			log := stored(first)
			for _, start := range nestedIn(log) {
				doAgain(t, s, engine, log, start)
			}
			if after := collectOf(t, engine, log[0].Session); len(after) != len(log) {
				t.Errorf("the session that was forked has %d events, not %d", len(after), len(log))
			}
		})
	}
}

func collectOf(t *testing.T, engine *troupe.Engine, session string) (events []troupe.Event) {
	t.Helper()
	for e, err := range engine.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// doAgain forks a log at a step, edits what that gets, goes on, and cuts all of it
// wherever it can be cut.
func doAgain(t *testing.T, s scene, engine *troupe.Engine, log []troupe.Event, start troupe.Event) {
	t.Helper()
	id, err := engine.ForkStep(t.Context(), log[0].Session, start.Run, saying("edited"), troupe.Input{User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	begun := collectOf(t, engine, id)
	w := &world{done: map[string]int{}}
	_, end, err := gather(engine.Resume(t.Context(), s.step(t, w), id))
	if err != nil {
		t.Fatalf("%s, run %s: %v", start.Agent, start.Run, err)
	}
	full := collectOf(t, engine, id)
	if kept, all := countOf[*troupe.ModelReplied](begun), countOf[*troupe.ModelReplied](full); kept+asks(w, nil) != all {
		t.Errorf("%s: %d replies kept and %d models asked, %d replies in all", start.Agent, kept, asks(w, nil), all)
	}
	was := start.Body.(*troupe.RunStarted).Input
	now := was.Clone()
	now.Summary = "edited"
	forked, _ := begun[len(begun)-1].Body.(*troupe.SessionForked)
	want := &troupe.SessionForked{From: log[0].Session, After: start.Seq - 1, Run: start.Run, Agent: start.Agent, Input: &now, Was: &was, User: "ann"}
	if diff := cmp.Diff(want, forked); diff != "" {
		t.Errorf("%s: what the log says of the edit: %s", start.Agent, diff)
	}
	for i := range full {
		if full[i].Session != id || full[i].Seq != int64(i+1) {
			t.Fatalf("event %d is number %d of session %s", i+1, full[i].Seq, full[i].Session)
		}
		if got, ok := full[i].Body.(*troupe.RunStarted); ok && (full[i].Run == start.Run) != got.Edited {
			t.Errorf("%s: the run of %s is edited: %v", start.Agent, full[i].Agent, got.Edited)
		} else if ok && got.Edited && (got.EditedBy != "ann" || !cmp.Equal(got.Input, now) || i < len(begun)) {
			t.Errorf("%s: it was given %+v, edited by %q, in event %d", start.Agent, got.Input, got.EditedBy, i+1)
		}
	}
	for cut := len(begun); cut < len(full); cut++ {
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), id, full[:cut]...); err != nil {
			t.Fatal(err)
		}
		again := &world{done: map[string]int{}}
		_, got, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), s.step(t, again), id))
		if err != nil {
			t.Fatalf("%s, cut after %d: %v", start.Agent, cut, err)
		}
		if diff := cmp.Diff(end.Output, got.Output, cmpopts.IgnoreFields(troupe.HandoffMeta{}, "Time")); diff != "" {
			t.Errorf("%s, cut after %d: it came to something else: %s", start.Agent, cut, diff)
		}
		if replies := countOf[*troupe.ModelReplied](full[:cut]) + asks(again, nil); replies != countOf[*troupe.ModelReplied](full) {
			t.Errorf("%s, cut after %d: %d model calls in all, not %d", start.Agent, cut, replies, countOf[*troupe.ModelReplied](full))
		}
	}
}

// What a person has edited is what the steps after it hear of, too, and the branch
// beside it keeps what it came to.
func TestAnEditReachesTheStepsAfterIt(t *testing.T) {
	w := &world{done: map[string]int{}}
	relay := func() troupe.Step {
		return flow.Sequence("relay", echo(t, w, "ann"), flow.Parallel("both", echo(t, w, "bob"), echo(t, w, "cid")), echo(t, w, "dora"))
	}
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, relay(), "go")
	log = stored(log)
	once := w.total()

	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "cid", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	_, end, err := gather(engine.Resume(t.Context(), relay(), id))
	if err != nil {
		t.Fatal(err)
	}
	if got := end.Output.Summary; !strings.Contains(got, "bob heard ann heard") || !strings.Contains(got, "cid heard EDITED") {
		t.Errorf("it came to %q", got)
	}
	for what, n := range w.total() {
		isAgain := strings.HasPrefix(what, "cid") || strings.HasPrefix(what, "dora")
		if isAgain && n != once[what]+1 || !isAgain && n != once[what] {
			t.Errorf("%s %d times, after %d", what, n, once[what])
		}
	}

	id, err = engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "both", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	_, end, err = gather(engine.Resume(t.Context(), relay(), id))
	if err != nil {
		t.Fatal(err)
	}
	if end.Output.Outputs["ann"] != "EDITED" || !strings.Contains(end.Output.Summary, "cid heard EDITED") {
		t.Errorf("the steps after it heard of %v: %s", end.Output.Outputs, end.Output.Summary)
	}
}

// What is handed to a member of a team is what the members after it hear of.
func TestAnEditReachesTheMembersAfterIt(t *testing.T) {
	w := &world{done: map[string]int{}}
	to := func(name, summary string) func(troupe.Handoff) turn {
		return func(troupe.Handoff) turn {
			return turn{calls: []troupe.ToolCall{call("t", "transfer_to_"+name, `{"summary":"`+summary+`"}`)}}
		}
	}
	desk := func() troupe.Step {
		return flow.Team("desk", caller(t, w, "front", to("bills", "wants money")), caller(t, w, "bills", to("boss", "ask the boss")), echo(t, w, "boss"))
	}
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, desk(), "go")
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bills", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := gather(engine.Resume(t.Context(), desk(), id)); err != nil {
		t.Fatal(err)
	}
	forked := collectOf(t, engine, id)
	for _, e := range nestedIn(forked) {
		if b := e.Body.(*troupe.RunStarted); e.Agent == "boss" && (b.Input.Outputs["front"] != "EDITED" || b.Input.Summary != "ask the boss") {
			t.Errorf("the boss was given %+v", b.Input)
		}
	}
}

// A step that took its flow down gets another input, and the flow goes on from there. That
// it failed happened in the other session.
func TestAStepThatFailedIsEdited(t *testing.T) {
	w := &world{done: map[string]int{}}
	picky := agentWith(t, troupe.AgentConfig{ID: "picky", Model: modelFunc(func(req *troupe.Request) turn {
		if !strings.Contains(req.Messages[0].Text, "EDITED") {
			return turn{err: &troupe.ModelError{Status: 400, Message: "not so"}}
		}
		return turn{text: "fine"}
	})})
	relay := flow.Sequence("relay", echo(t, w, "ann"), picky, echo(t, w, "bob"))
	engine := newEngine(t, troupe.Config{})
	log, _, err := play(t, engine, relay, troupe.Input{Text: "go"})
	if err == nil {
		t.Fatal("it did not fail")
	}
	if _, _, err := gather(engine.Resume(t.Context(), relay, log[0].Session)); err == nil { // nor does that help
		t.Fatal("it did not fail again")
	}
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "picky", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	_, end, err := gather(engine.Resume(t.Context(), relay, id))
	if err != nil || end.Output.Summary != "bob heard fine" {
		t.Errorf("it came to %v: %v", end, err)
	}
	forked := collectOf(t, engine, id)
	if failed, cancelled := countOf[*troupe.RunFailed](forked), countOf[*troupe.RunCancelled](forked); failed != 0 || cancelled != 1 {
		t.Errorf("the log has %d failures and was cut %d times", failed, cancelled)
	}
	if n := w.total()["ann is asked with 1 messages"]; n != 1 {
		t.Errorf("the first step was asked %d times", n)
	}
}

// The same step of a loop is told apart by its run, and the rounds before stay.
func TestARoundOfALoopIsEdited(t *testing.T) {
	rounds := 0
	polish := func() troupe.Step {
		rounds = 0
		return flow.Loop("polish", agentWith(t, troupe.AgentConfig{ID: "writer", Model: modelFunc(func(req *troupe.Request) turn {
			var h troupe.Handoff
			if err := h.ReadPrompt(req.Messages[0].Text); err != nil {
				t.Error(err)
			}
			return turn{text: h.Summary + "x"}
		})}), func(h troupe.Handoff) (bool, error) {
			rounds++
			return len(h.Summary) >= 4, nil
		})
	}
	engine := newEngine(t, troupe.Config{})
	log, end := mustAnswer(t, engine, polish(), "go")
	if end.Output.Summary != "xxxx" || len(nestedIn(log)) != 4 {
		t.Fatalf("it came to %q", end.Output.Summary)
	}
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "writer", 2), saying("y"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	_, end, err = gather(engine.Resume(t.Context(), polish(), id))
	if err != nil || end.Output.Summary != "yxxx" || rounds != 5 {
		t.Errorf("it came to %v after %d rounds: %v", end, rounds, err)
	}

	// What was edited before stays where it comes before, and goes where it comes after.
	log = collectOf(t, engine, id)
	for _, c := range []struct {
		round int
		want  string
	}{{3, "zxx"}, {2, "zxxx"}, {0, "zxxx"}} {
		again, err := engine.ForkStep(t.Context(), id, runOf(t, log, "writer", c.round), saying("z"), troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		_, end, err = gather(engine.Resume(t.Context(), polish(), again))
		if err != nil || end.Output.Summary != c.want {
			t.Errorf("round %d edited: it came to %v, not %s: %v", c.round+1, end, c.want, err)
		}
		var edits []string
		for _, b := range bodies[*troupe.RunStarted](collectOf(t, engine, again)) {
			if b.Edited {
				edits = append(edits, b.Input.Summary)
			}
		}
		if want := map[int][]string{3: {"y", "z"}, 2: {"z"}, 0: {"z"}}[c.round]; !slices.Equal(edits, want) {
			t.Errorf("round %d edited: the log has the edits %v, not %v", c.round+1, edits, want)
		}
	}
}

// Without an edit the step is done again as it was, beside branches that stay.
func TestAStepIsDoneAgainAsItWas(t *testing.T) {
	w := &world{done: map[string]int{}}
	both := func() troupe.Step { return flow.Parallel("both", echo(t, w, "bob"), echo(t, w, "cid")) }
	engine := newEngine(t, troupe.Config{})
	log, first := mustAnswer(t, engine, both(), "go")
	same := func(h troupe.Handoff) (troupe.Handoff, error) { return h, nil }
	for _, edit := range []func(troupe.Handoff) (troupe.Handoff, error){nil, same} {
		chosen := "11111111-1111-4111-8111-11111111111" + map[bool]string{true: "1", false: "2"}[edit == nil]
		id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bob", 0), edit, troupe.Input{Session: chosen, User: "ann"})
		if err != nil || id != chosen {
			t.Fatalf("session %s: %v", id, err)
		}
		_, end, err := gather(engine.Resume(t.Context(), both(), id))
		if err != nil || end.Output.Summary != first.Output.Summary {
			t.Errorf("it came to %v: %v", end, err)
		}
		for _, b := range bodies[*troupe.SessionForked](collectOf(t, engine, id)) {
			if b.Input != nil || b.Was != nil || b.User != "" {
				t.Errorf("the log says that something was edited: %+v", b)
			}
		}
		if _, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bob", 0), edit, troupe.Input{Session: chosen}); !errors.Is(err, troupe.ErrConflict) {
			t.Errorf("a session was made twice: %v", err)
		}
	}
	if n := w.total()["cid is asked with 1 messages"]; n != 1 {
		t.Errorf("the branch beside it was done %d times", n)
	}
}

// A value must fit what the agent that it comes from returns, and its text follows it.
func TestAnEditedValueFits(t *testing.T) {
	type plan struct {
		Pages int `json:"pages"`
	}
	heard := ""
	relay := func() troupe.Step {
		planner := agentWith(t, troupe.AgentConfig{ID: "planner", Output: troupe.OutputOf[plan](), Model: inTurn(t, turn{text: `{"pages": 3}`})})
		return flow.Sequence("relay", planner, agentWith(t, troupe.AgentConfig{ID: "writer", Model: modelFunc(func(req *troupe.Request) turn {
			heard = req.Messages[0].Text
			return turn{text: "done"}
		})}))
	}
	store := troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	log, _ := mustAnswer(t, engine, relay(), "go")
	writer := runOf(t, log, "writer", 0)
	valued := func(value string) func(troupe.Handoff) (troupe.Handoff, error) {
		return func(h troupe.Handoff) (troupe.Handoff, error) {
			h.Value = json.RawMessage(value)
			return h, nil
		}
	}
	for name, c := range map[string]struct {
		edit func(troupe.Handoff) (troupe.Handoff, error)
		want string
	}{
		"another type":         {valued(`{"pages":"many"}`), "the value does not fit what planner returns"},
		"no JSON":              {valued(`{"pages":`), "the value is no JSON"},
		"text":                 {saying("many"), "the value is no JSON"},
		"text of another type": {saying(`{"pages":true}`), "the value does not fit what planner returns"},
		"no JSON in an output": {func(h troupe.Handoff) (troupe.Handoff, error) {
			h.Outputs = map[string]any{"x": make(chan int)}
			return h, nil
		}, `output "x" cannot be handed over`},
	} {
		if _, err := engine.ForkStep(t.Context(), log[0].Session, writer, c.edit, troupe.Input{}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for info, err := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
		if err != nil || info.ID != log[0].Session {
			t.Errorf("there is another session: %s, %v", info.ID, err)
		}
	}
	for name, edit := range map[string]func(troupe.Handoff) (troupe.Handoff, error){"value": valued(`{ "pages": 5 }`), "text": saying(`{"pages":5}`)} {
		id, err := engine.ForkStep(t.Context(), log[0].Session, writer, edit, troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		_, end, err := gather(engine.Resume(t.Context(), relay(), id))
		if err != nil || !strings.Contains(heard, `{\"pages\":5}`) {
			t.Errorf("%s edited: the writer was told %q: %v", name, heard, err)
		}
		if got, err := flow.Output[plan](end.Output, "planner"); err != nil || got.Pages != 5 {
			t.Errorf("%s edited: the plan is %+v: %v", name, got, err)
		}
	}
}
