package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// G13: one agent of a sequence has a second, and a model that hangs.
func TestAnAgentsTimeEndsThatAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: hang{}, Limits: troupe.Limits{Time: time.Second}})
		quick := agentWith(t, troupe.AgentConfig{ID: "quick", Model: modelFunc(func(*troupe.Request) turn { return turn{text: "done"} })})
		began := time.Now()
		_, _, err := play(t, newEngine(t, troupe.Config{}), flow.Sequence("relay", quick, slow), troupe.Input{Text: "go"})
		failure, ok := errors.AsType[*troupe.RunError](err)
		if took := time.Since(began); !ok || failure.Agent != "slow" || !strings.Contains(err.Error(), "time limit of 1s for agent slow") || took != time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		began = time.Now()
		tolerant := must(t)(flow.NewSequence(flow.SequenceConfig{Name: "relay", Steps: []troupe.Step{slow, quick}, ContinueOnError: true}))
		_, end := mustAnswer(t, newEngine(t, troupe.Config{}), tolerant, "go")
		if took := time.Since(began); end.Output.Summary != "done" || end.Output.Meta.Status != "partial" || took != time.Second {
			t.Errorf("after %s: %+v", took, end.Output)
		}
	})
}

func TestAnAgentsLimitsBoundItAlone(t *testing.T) {
	expert := agentWith(t, troupe.AgentConfig{ID: "expert", Limits: troupe.Limits{Turns: 2}, Model: busy(troupe.Usage{Input: 10}, "the expert's best"), Tools: []troupe.Tool{adder()}})
	lead := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		if n := results(req); n < 3 {
			return turn{calls: []troupe.ToolCall{call(fmt.Sprint("c", n), "expert", fmt.Sprintf(`{"task":"find out %d"}`, n))}}
		}
		return turn{text: "all of it"}
	}), troupe.AsTool(expert, "Knows."))
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), lead, "go")
	if end.Stop != "answered" || end.SpentBelow.Turns != 9 || end.Spent.Turns != 4 {
		t.Errorf("%+v", end)
	}
	if limits := bodies[*troupe.LimitReached](events); len(limits) != 3 || limits[0].Stop != "turns" || !strings.Contains(limits[0].Message, "All 2 turns") {
		t.Errorf("limits: %+v", limits)
	}
}

// X3: a flow that was edited under an open run is refused before anything is done.
func TestAnEditedFlowIsRefusedBeforeAnythingIsDone(t *testing.T) {
	w := &world{done: map[string]int{}}
	down := true
	flaky := agentWith(t, troupe.AgentConfig{ID: "bob", Model: counted(w, "bob", func(*troupe.Request) turn {
		if down {
			return turn{err: &troupe.ModelError{Status: 400, Message: "down"}}
		}
		return turn{text: "fine"}
	})})
	ann := echo(t, w, "ann")
	store := troupe.NewMemoryStore()
	events, _, err := play(t, newEngine(t, troupe.Config{Store: store}), flow.Sequence("relay", ann, flaky), troupe.Input{Text: "go"})
	if err == nil {
		t.Fatal("it did not fail")
	}
	down = false
	before := w.total()
	for says, edited := range map[string]troupe.Step{
		"step 1 of sequence relay: agent ann is now agent cid": flow.Sequence("relay", echo(t, w, "cid"), ann, flaky),
		"has a new step 3: cid":                                flow.Sequence("relay", ann, flaky, echo(t, w, "cid")),
		"no longer has its step 2: bob":                        flow.Sequence("relay", ann),
		"sequence relay is now parallel relay":                 flow.Parallel("relay", ann, flaky),
		"continue_on_error":                                    must(t)(flow.NewSequence(flow.SequenceConfig{Name: "relay", Steps: []troupe.Step{ann, flaky}, ContinueOnError: true})),
	} {
		_, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), edited, events[0].Session))
		if !errors.Is(err, troupe.ErrChanged) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	if !reflect.DeepEqual(before, w.total()) {
		t.Errorf("something was done: %v, then %v", before, w.total())
	}
	if _, end, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), flow.Sequence("relay", ann, flaky), events[0].Session)); err != nil || end.Output.Summary != "fine" {
		t.Errorf("put back, it came to %+v, %v", end, err)
	}
}

// What an agent is told may change under an open run: it goes on with what it began with.
func TestAnEditedAgentGoesOnWithWhatItBeganWith(t *testing.T) {
	for name, as := range map[string]func(*troupe.Agent) troupe.Step{
		"alone":     func(a *troupe.Agent) troupe.Step { return a },
		"in a flow": func(a *troupe.Agent) troupe.Step { return flow.Sequence("relay", a) },
	} {
		var systems []string
		down := true
		step := func(instructions string) troupe.Step {
			return as(agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: instructions, Model: modelFunc(func(req *troupe.Request) turn {
				if systems = append(systems, req.Messages[0].Text); down {
					return turn{err: &troupe.ModelError{Status: 400, Message: "down"}}
				}
				return turn{text: "fine"}
			})}))
		}
		store := troupe.NewMemoryStore()
		events, _, _ := play(t, newEngine(t, troupe.Config{Store: store}), step("Be brief."), troupe.Input{Text: "go"})
		down = false
		resumed, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step("Be long."), events[0].Session))
		if err != nil || len(systems) != 2 || systems[1] != "Be brief." {
			t.Errorf("%s: it was told %q, %v", name, systems, err)
		}
		if warned := bodies[*troupe.Warned](resumed); len(warned) != 1 || !strings.Contains(warned[0].Message, "the instructions of agent clerk have changed") {
			t.Errorf("%s: nobody was warned: %s", name, kinds(resumed))
		}
	}
}

// M21, decision 26: what compaction may never sum up.
func TestCompactionKeepsTheTaskAndTheWorkflow(t *testing.T) {
	workflow := troupe.NewTool("workflow", "Loads one.", func(_ context.Context, in pair) (troupe.Result, error) {
		return troupe.Result{Content: fmt.Sprintf("Step %d of the workflow: ", in.A) + strings.Repeat("do it well. ", 20), Keep: "workflow"}, nil
	}, troupe.ReadOnly())
	fill := troupe.NewTool("fill", "Fills.", func(context.Context, pair) (string, error) { return strings.Repeat("words ", 300), nil }, troupe.ReadOnly())
	var last []*troupe.Message
	n := 0
	model := modelFunc(func(req *troupe.Request) turn {
		if req.Tools == nil {
			return turn{text: "It went on."}
		}
		last = req.Messages
		n++
		switch {
		case n == 1 || n == 3:
			return turn{calls: []troupe.ToolCall{call(fmt.Sprint(n), "workflow", fmt.Sprintf(`{"a":%d,"b":0}`, n))}}
		case n < 14:
			return turn{calls: []troupe.ToolCall{call(fmt.Sprint(n), "fill", fmt.Sprintf(`{"a":%d,"b":0}`, n))}}
		}
		return turn{text: "done"}
	})
	begins := func(context.Context, *troupe.Run) ([]troupe.ContextLoaded, error) {
		return []troupe.ContextLoaded{{Source: "clerk.md", Content: "You are a clerk."}, {Source: "rules.md", Role: troupe.RoleUser, Content: "Critical: never mention cats."}}, nil
	}
	agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Context: begins, Model: model, Window: 2000, Tools: []troupe.Tool{workflow, fill}})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "Write my brief about otters.")
	if countOf[*troupe.ContextCompacted](events) == 0 {
		t.Fatal("nothing was compacted")
	}
	var texts []string
	for _, m := range last {
		texts = append(texts, m.Text)
	}
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "You are a clerk.") || !strings.Contains(all, "never mention cats") || !strings.Contains(all, "Write my brief about otters.") || !strings.Contains(all, "Step 3 of the workflow") || strings.Contains(all, "Step 1 of the workflow") {
		t.Errorf("after compaction the model saw:\n%.3000s", all)
	}
	checkPairing(t, last)
}

// Decisions by the API, and a guarded tool that asks a question of its own.
func TestAnAnswerIsADecision(t *testing.T) {
	w := &world{done: map[string]int{}}
	twice := troupe.NewToolWithCall("wipe", "Wipes.", func(_ context.Context, call *troupe.Invocation, in pair) (string, error) {
		switch len(call.Answers) {
		case 0:
			return "", &troupe.InputNeeded{Question: "May I?", CallAgain: true, Approval: true}
		case 1:
			if !call.Answers[0].Approved {
				return "", &troupe.ToolError{Class: "unauthorized", Message: "denied"}
			}
			return "", &troupe.InputNeeded{Question: "Which one?", CallAgain: true}
		}
		w.note("wipe %s", call.Answers[1].Text)
		return "wiped " + call.Answers[1].Text, nil
	})
	agent := newAgent(t, wiper(w, 7), twice)
	store := troupe.NewMemoryStore()
	events, end := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), agent, "go")
	session, asked := events[0].Session, bodies[*troupe.InputRequested](events)
	if end.Stop != "input_requested" || !asked[0].Approval || asked[0].ID == "" || asked[0].ID != end.Output.Meta.Asked {
		t.Fatalf("it asked %+v, %+v", asked, end)
	}
	engine := newEngine(t, troupe.Config{Store: store})
	if err := engine.Answer(t.Context(), session, "another#1", troupe.Answer{Approved: true}); !errors.Is(err, troupe.ErrNoQuestion) {
		t.Errorf("another question: %v", err)
	}
	if err := engine.Answer(t.Context(), session, asked[0].ID, troupe.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	_, end, err := gather(engine.Resume(t.Context(), agent, session))
	if err != nil || end.Output.Summary != "Which one?" {
		t.Fatalf("approved, it came to %+v, %v", end, err)
	}
	_, end, err = play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: session, Answer: &troupe.Answer{Text: "the blue one"}})
	if err != nil || end.Output.Summary != "wiped the blue one" || w.total()["wipe the blue one"] != 1 {
		t.Errorf("answered, it came to %+v, %v", end, err)
	}
	if err := engine.Answer(t.Context(), session, asked[0].ID, troupe.Answer{Approved: true}); !errors.Is(err, troupe.ErrNoQuestion) {
		t.Errorf("answered again: %v", err)
	}
}

// Whoever looks at a session in a new process leaves what waits there as it is.
func TestAnAnswerFindsItsQuestionAfterALook(t *testing.T) {
	for name, look := range map[string]func(*troupe.Engine, string) error{
		"followed": func(engine *troupe.Engine, session string) error {
			for _, err := range engine.Tail(t.Context(), session, 0) {
				return err
			}
			return nil
		},
		"renamed": func(engine *troupe.Engine, session string) error {
			return engine.Rename(t.Context(), session, "Another")
		},
	} {
		w := &world{done: map[string]int{}}
		guarded := troupe.NewToolWithCall("wipe", "Wipes.", func(_ context.Context, call *troupe.Invocation, in pair) (string, error) {
			if len(call.Answers) == 0 {
				return "", &troupe.InputNeeded{Question: "May I?", CallAgain: true, Approval: true}
			}
			w.note("wipe")
			return "wiped", nil
		})
		agent := newAgent(t, wiper(w, 7), guarded)
		store := troupe.NewMemoryStore()
		events, _ := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), agent, "go")
		session := events[0].Session
		engine := newEngine(t, troupe.Config{Store: store})
		if err := look(engine, session); err != nil {
			t.Fatal(err)
		}
		_, end, err := play(t, engine, agent, troupe.Input{Session: session, Answer: &troupe.Answer{Approved: true}})
		if err != nil || end.Output.Summary != "wiped" || w.total()["wipe"] != 1 {
			t.Errorf("%s, then approved, it came to %+v, %v", name, end, err)
		}
	}
}

func TestAConversationFromElsewhereGoesOn(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	var asked []string
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		for _, m := range req.Messages {
			asked = append(asked, string(m.Role)+": "+m.Text)
		}
		return turn{text: "ok"}
	}))
	session, err := engine.Import(t.Context(), "clerk", []*troupe.Message{
		{Role: troupe.RoleUser, Text: "Hello"}, {Role: troupe.RoleAssistant, Text: "Hi."}, {Role: troupe.RoleUser, Text: "Bye"},
	}, troupe.Input{User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := play(t, engine, agent, troupe.Input{Session: session, Text: "More.", User: "ann"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " | "); got != "system: You are a clerk. | user: Hello | assistant: Hi. | user: Bye | user: More." {
		t.Errorf("the model saw %s", got)
	}
	for says, messages := range map[string][]*troupe.Message{
		"no message":                {},
		"before any user":           {{Role: troupe.RoleAssistant, Text: "Hi."}},
		"message 2: it calls tools": {{Role: troupe.RoleUser, Text: "x"}, {Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{Name: "a"}}}},
		"role system":               {{Role: troupe.RoleSystem, Text: "x"}},
	} {
		if _, err := engine.Import(t.Context(), "clerk", messages, troupe.Input{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// Nobody can forge an end.
func TestOnlyNotesAndArtifactsCanBeEmitted(t *testing.T) {
	for _, body := range troupe.Bodies() {
		step := troupe.NewStep("forger", func(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
			return troupe.Handoff{Summary: "done"}, run.Emit(ctx, body)
		})
		_, _, err := play(t, newEngine(t, troupe.Config{}), step, troupe.Input{Text: "go"})
		allowed := body.Kind() == "noted" || body.Kind() == "artifact_saved"
		if (err == nil) != allowed {
			t.Errorf("%s: %v", body.Kind(), err)
		}
	}
}

// A flow of one's own with the same means as the built-in ones: the first two of
// three branches that are done end the third, on every pass.
func TestAFlowOfOnesOwnMayStopEarly(t *testing.T) {
	w := &world{done: map[string]int{}}
	names := []string{"ann", "bob", "cid"}
	var agents []troupe.Step
	for _, name := range names {
		agents = append(agents, echo(t, w, name))
	}
	step := troupe.NewStep("race", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		var branches []func(context.Context, *troupe.Run) error
		for i, agent := range agents {
			branches = append(branches, func(ctx context.Context, run *troupe.Run) error {
				if _, err := run.Do(ctx, agent, in); err != nil {
					return err
				}
				if i == 1 {
					return run.StopOthers(ctx)
				}
				return nil
			})
		}
		errs := run.All(ctx, 1, branches...)
		return troupe.Handoff{Summary: fmt.Sprint(errs[0], errs[1], errors.Is(errs[2], troupe.ErrCancelled))}, nil
	}, agents...)
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), step, "go")
	if end.Output.Summary != "<nil> <nil> true" || countOf[*troupe.BranchesStopped](events) != 1 {
		t.Fatalf("got %q", end.Output.Summary)
	}
	log := stored(events)
	for cut := 2; cut < len(log); cut++ {
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		_, again, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, log[0].Session))
		if err != nil || again.Output.Summary != end.Output.Summary || spentIn(again) != spentIn(end) {
			t.Errorf("cut after %d (%s): %+v, %v", cut, log[cut-1].Kind(), again, err)
		}
	}
}
