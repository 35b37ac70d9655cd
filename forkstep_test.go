package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

func TestWhatCannotBeDoneAgainByItself(t *testing.T) {
	w := &world{done: map[string]int{}}
	expert := echo(t, w, "expert")
	clerk := agentWith(t, troupe.AgentConfig{ID: "clerk", Tools: []troupe.Tool{troupe.AsTool(expert, "Knows.")}, Model: modelFunc(func(req *troupe.Request) turn {
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("1", "expert", `{"task":"what?"}`)}}
		}
		return turn{text: "so"}
	})})
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, flow.Sequence("relay", clerk), "go")
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
		begin()
		<-ctx.Done()
		yield(troupe.Chunk{}, ctx.Err())
	})})
	quick := agentWith(t, troupe.AgentConfig{ID: "quick", Model: modelFunc(func(req *troupe.Request) turn {
		<-begun
		return turn{text: req.Messages[0].Text}
	})})
	race := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "race", Quorum: 1, Steps: []troupe.Step{quick, slow}}))
	raced, _ := mustAnswer(t, engine, race, "go")
	if nested := nestedIn(raced); len(nested) != 2 {
		t.Fatalf("%d runs", len(nested))
	}
	refuses := errors.New("not so")
	for name, c := range map[string]struct {
		session, run string
		edit         func(troupe.Handoff) (troupe.Handoff, error)
		is           error
		want         string
	}{
		"the whole run":         {log[0].Session, log[0].Run, nil, errors.ErrUnsupported, "whole run of relay"},
		"no such run":           {log[0].Session, log[0].Run + ":77", nil, errors.ErrUnsupported, "no such run"},
		"no run":                {log[0].Session, "", nil, errors.ErrUnsupported, "no such run"},
		"an agent of an agent":  {log[0].Session, runOf(t, log, "expert", 0), nil, errors.ErrUnsupported, "called by an agent as a tool"},
		"ended by the others":   {raced[0].Session, runOf(t, raced, "slow", 0), nil, errors.ErrUnsupported, "enough of the others were done"},
		"no such session":       {"00000000-0000-4000-8000-000000000000", "x", nil, troupe.ErrNotFound, ""},
		"the edit itself fails": {log[0].Session, runOf(t, log, "clerk", 0), func(troupe.Handoff) (troupe.Handoff, error) { return troupe.Handoff{}, refuses }, refuses, "not so"},
	} {
		if _, err := engine.ForkStep(t.Context(), c.session, c.run, c.edit, troupe.Input{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "clerk", 0), nil, troupe.Input{Session: "mine"}); err == nil || !strings.Contains(err.Error(), "UUID") {
		t.Errorf("an id that is none: %v", err)
	}
	id, err := engine.ForkStep(t.Context(), raced[0].Session, runOf(t, raced, "quick", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, end, err := gather(engine.Resume(t.Context(), race, id)); err != nil || !strings.Contains(end.Output.Summary, "EDITED") {
		t.Errorf("the one that ended the others, done again: %v, %v", end, err)
	}
}

// One of several successes that ended the others is done again: the others of them stay, and
// what was ended goes on.
func TestAStepOfAQuorumIsEdited(t *testing.T) {
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
		begin()
		<-ctx.Done()
		yield(troupe.Chunk{}, ctx.Err())
	})})
	quick := func(id string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: id, Model: modelFunc(func(req *troupe.Request) turn {
			<-begun
			return turn{text: id + " was told " + req.Messages[0].Text}
		})})
	}
	two := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "two", Quorum: 2, Steps: []troupe.Step{quick("bob"), quick("cid"), slow}}))
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, two, "go")
	for edited, other := range map[string]string{"bob": "cid", "cid": "bob"} {
		id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, edited, 0), saying("EDITED"), troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		_, end, err := gather(engine.Resume(t.Context(), two, id))
		if err != nil || !strings.Contains(fmt.Sprint(end.Output.Outputs[edited]), "EDITED") || end.Output.Outputs[other] != other+" was told go" {
			t.Errorf("%s edited: it came to %v: %v", edited, end, err)
		}
	}
	if _, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "slow", 0), nil, troupe.Input{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the one that was ended: %v", err)
	}
}

// A question that a branch beside the step has asked is still open, and is answered in the
// fork.
func TestAQuestionBesideAnEditedStepStaysOpen(t *testing.T) {
	w := &world{done: map[string]int{}}
	asker := agentWith(t, troupe.AgentConfig{ID: "asker", Tools: []troupe.Tool{troupe.NewTool("ask", "Asks.", func(context.Context, struct{}) (string, error) {
		return "", &troupe.InputNeeded{Question: "Which?"}
	})}, Model: counted(w, "asker", func(req *troupe.Request) turn {
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("1", "ask", "{}")}}
		}
		return turn{text: "asker: " + req.Messages[len(req.Messages)-1].Text}
	})})
	both := flow.Parallel("both", asker, echo(t, w, "bob"))
	engine := newEngine(t, troupe.Config{})
	log, end := mustAnswer(t, engine, both, "go")
	if end.Stop != "input_requested" {
		t.Fatalf("it ended with %s", end.Stop)
	}
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bob", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, end, err = gather(engine.Resume(t.Context(), both, id)); err != nil || end.Stop != "input_requested" {
		t.Fatalf("it came to %v: %v", end, err)
	}
	_, end, err = play(t, engine, both, troupe.Input{Session: id, Text: "This one."})
	if err != nil || !strings.Contains(end.Output.Summary, "asker: This one.") || !strings.Contains(end.Output.Summary, "bob heard EDITED") {
		t.Errorf("it came to %v: %v", end, err)
	}
	if n := w.total()["asker is asked with 1 messages"]; n != 1 {
		t.Errorf("the one who asks was asked %d times", n)
	}
}

// A run of an earlier message is forked without what was said after it, and what was
// loaded there is still known.
func TestAStepOfAnEarlierRunIsEdited(t *testing.T) {
	w := &world{done: map[string]int{}}
	told := func(name string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: name, Instructions: "Be brief.", Model: counted(w, name, func(req *troupe.Request) turn {
			if system := req.Messages[0].Text; !strings.Contains(system, "Be brief.") {
				t.Errorf("%s was told %q", name, system)
			}
			return turn{text: name}
		})})
	}
	both := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "both", Steps: []troupe.Step{told("bob"), told("cid")}, MaxParallel: 1}))
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, both, "one")
	if _, _, err := play(t, engine, both, troupe.Input{Session: log[0].Session, Text: "two"}); err != nil {
		t.Fatal(err)
	}
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bob", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := gather(engine.Resume(t.Context(), both, id)); err != nil {
		t.Fatal(err)
	}
	forked := collectOf(t, engine, id)
	for i, e := range forked {
		if loaded, ok := e.Body.(*troupe.ContextLoaded); ok {
			if loaded.Content == "" {
				t.Errorf("event %d: what was loaded is lost", i+1)
			}
			break
		}
	}
	if n := countOf[*troupe.UserSaid](forked); n != 1 {
		t.Errorf("the user has said %d things", n)
	}
}
