package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// careful is a tool that asks before it works.
func careful(w *world) troupe.Tool {
	return troupe.NewToolWithCall("wipe", "Wipes.", func(_ context.Context, call *troupe.Invocation, in pair) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: fmt.Sprintf("Wipe %d?", in.A), CallAgain: true}
		}
		if call.Answers[0].Text == "yes" {
			w.note("wipe(%d)", in.A)
			return "wiped", nil
		}
		return "", &troupe.ToolError{Class: "unauthorized", Message: "the user said: " + call.Answers[0].Text}
	})
}

// wiper calls the careful tool for each number at once, then says what it was told.
func wiper(w *world, numbers ...int) modelFunc {
	return counted(w, "wiper", func(req *troupe.Request) turn {
		var told []string
		for _, m := range req.Messages {
			if m.Role == troupe.RoleTool {
				told = append(told, m.Text)
			}
		}
		if len(told) > 0 {
			return turn{text: strings.Join(told, ", ")}
		}
		var calls []troupe.ToolCall
		for _, n := range numbers {
			calls = append(calls, call(fmt.Sprint("c", n), "wipe", fmt.Sprintf(`{"a":%d,"b":0}`, n)))
		}
		return turn{calls: calls}
	})
}

// questioning arranges the careful agent in ways that an answer has to find its
// way back to.
func questioning(t testing.TB, w *world, numbers ...int) map[string]troupe.Step {
	agent := func() *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, numbers...), Tools: []troupe.Tool{careful(w)}})
	}
	boss := newAgent(t, counted(w, "boss", func(req *troupe.Request) turn {
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("b", "wiper", `{"task":"wipe"}`)}}
		}
		return turn{text: req.Messages[len(req.Messages)-1].Text}
	}), troupe.AsTool(agent(), "Wipes."))
	return map[string]troupe.Step{"an agent": agent(), "an agent as a tool": boss, "a nested agent": pass{agent()}}
}

// pass runs one step and hands back what it does.
type pass struct{ step troupe.Step }

func (pass) Name() string { return "pass" }
func (pass) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "step", Name: "pass"}
}
func (p pass) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	return run.Do(ctx, p.step, in)
}

func TestACallThatAsksIsMadeWithTheAnswer(t *testing.T) {
	for name := range questioning(t, &world{}) {
		t.Run(name, func(t *testing.T) {
			w := &world{done: map[string]int{}}
			step := questioning(t, w, 7)[name]
			store := troupe.NewMemoryStore()
			events, end := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), step, "go")
			asked := bodies[*troupe.InputRequested](events)
			if end.Stop != "input_requested" || end.Output.Summary != "Wipe 7?" || string(asked[0].Arguments) != `{"a":7,"b":0}` || asked[0].Tool != "wipe" {
				t.Fatalf("it did not ask: %s", render(events))
			}
			before := w.total()
			if before["wipe(7)"] != 0 {
				t.Fatal("it did not wait for the answer")
			}
			again, end, err := play(t, newEngine(t, troupe.Config{Store: store}), step, troupe.Input{Session: events[0].Session, Text: "yes"})
			if err != nil || end.Stop != "answered" || end.Output.Summary != "wiped" {
				t.Fatalf("got %+v, %v: %s", end, err, render(again))
			}
			if w.total()["wipe(7)"] != 1 {
				t.Errorf("it wiped %d times", w.total()["wipe(7)"])
			}
			if n := w.total()["wiper is asked with 1 messages"]; n != before["wiper is asked with 1 messages"] {
				t.Errorf("the model was asked again what it had said")
			}
			if again[0].Run != asked1Run(events) || bodies[*troupe.UserSaid](again)[0].CallID != "c7" {
				t.Errorf("the answer is not that of the call: %s", render(again))
			}
		})
	}
}

func TestARunThatWaitsCanBeStopped(t *testing.T) {
	for name := range questioning(t, &world{}) {
		t.Run(name, func(t *testing.T) {
			w := &world{done: map[string]int{}}
			step := questioning(t, w, 7)[name]
			store := troupe.NewMemoryStore()
			engine := newEngine(t, troupe.Config{Store: store})
			stopped := func() string {
				events, _ := mustAnswer(t, engine, step, "go")
				session := events[0].Session
				if err := engine.Cancel(t.Context(), session); err != nil {
					t.Fatal(err)
				}
				if err := engine.Cancel(t.Context(), session); err != nil {
					t.Errorf("to stop it once more: %v", err)
				}
				info, _, err := store.Ask(t.Context(), session, troupe.SessionRequest{})
				if err != nil || info.Status != "cancelled" || info.Events != events[len(events)-1].Seq+1 {
					t.Fatalf("it stands as %+v, %v", info, err)
				}
				return session
			}
			session := stopped()
			again, err := troupe.Collect(engine.Resume(t.Context(), step, session))
			if err != nil || again.Stop != "input_requested" || again.Text != "Wipe 7?" {
				t.Fatalf("resumed, it came to %+v, %v", again, err)
			}
			if _, end, err := play(t, engine, step, troupe.Input{Session: session, Text: "yes"}); err != nil || end.Output.Summary != "wiped" || w.total()["wipe(7)"] != 1 {
				t.Errorf("answered then, it came to %+v, %v", end, err)
			}
			events, _, err := play(t, engine, step, troupe.Input{Session: stopped(), Text: "yes"})
			if err != nil || countOf[*troupe.RunStarted](events) == 0 || w.total()["wipe(7)"] != 1 {
				t.Errorf("what is said after it was stopped is no answer to what it asked: %s, %v", render(events), err)
			}
		})
	}
}

// asked1Run is the run that asked first.
func asked1Run(events []troupe.Event) string {
	for _, e := range events {
		if e.Kind() == "input_requested" {
			return e.Run
		}
	}
	return ""
}

// Whatever of a conversation with a question in it is on record, the rest comes to
// the same end, and no call is carried out twice.
func TestAnAnsweredRunIsResumedFromAnyEvent(t *testing.T) {
	for name := range questioning(t, &world{}) {
		t.Run(name, func(t *testing.T) {
			w := &world{done: map[string]int{}}
			store := troupe.NewMemoryStore()
			engine := newEngine(t, troupe.Config{Store: store})
			step := questioning(t, w, 7, 8)[name]
			events, _ := mustAnswer(t, engine, step, "go")
			session := events[0].Session
			for _, answer := range []string{"yes", "no"} {
				if _, _, err := play(t, engine, step, troupe.Input{Session: session, Text: answer}); err != nil {
					t.Fatal(err)
				}
			}
			log := collect(t, store, session)
			final := log[len(log)-1].Body.(*troupe.RunFinished).Output.Summary
			if !strings.HasPrefix(final, "wiped, ") || !strings.Contains(final, "the user said: no") {
				t.Fatalf("it came to %s", final)
			}
			for cut := 3; cut < len(log); cut++ {
				finishFrom(t, name, log, cut, final)
			}
		})
	}
}

func finishFrom(t *testing.T, name string, log []troupe.Event, cut int, final string) {
	t.Helper()
	store, session := troupe.NewMemoryStore(), log[0].Session
	if err := store.Append(t.Context(), session, log[:cut]...); err != nil {
		t.Fatal(err)
	}
	w := &world{done: map[string]int{}}
	for _, e := range log[:cut] {
		if b, ok := e.Body.(*troupe.ToolReturned); ok && b.CallID == "c7" {
			w.note("wipe(7)")
		}
	}
	engine, step := newEngine(t, troupe.Config{Store: store}), questioning(t, w, 7, 8)[name]
	answers := []string{"yes", "no"}[countOf[*troupe.UserSaid](log[:cut])-1:]
	end, waits := log[cut-1].Body.(*troupe.RunFinished)
	if waits = waits && log[cut-1].Parent == "" && end.Stop == "input_requested"; !waits {
		_, got, err := gather(engine.Resume(t.Context(), step, session))
		if err != nil {
			t.Fatalf("cut after %d (%s): %v", cut, log[cut-1].Kind(), err)
		}
		end = got
	}
	for _, answer := range answers {
		if end.Stop != "input_requested" {
			break
		}
		_, got, err := play(t, engine, step, troupe.Input{Session: session, Text: answer})
		if err != nil {
			t.Fatalf("cut after %d (%s), told %s: %v", cut, log[cut-1].Kind(), answer, err)
		}
		end = got
	}
	// A call that was made and has no outcome on record is not made again.
	told := strings.Contains(end.Output.Summary, "interrupted")
	if end.Output.Summary != final && !told {
		t.Errorf("cut after %d (%s): it came to %q, not %q", cut, log[cut-1].Kind(), end.Output.Summary, final)
	}
	if n := w.total()["wipe(7)"]; n > 1 || n == 0 && !told {
		t.Errorf("cut after %d (%s): it wiped %d times", cut, log[cut-1].Kind(), n)
	}
}

func TestANestedAgentGetsTheAnswerToItsQuestion(t *testing.T) {
	asks := troupe.NewTool("ask_user", "Asks.", func(context.Context, struct{}) (string, error) {
		return "", &troupe.InputNeeded{Question: "Which city?"}
	})
	guide := agentWith(t, troupe.AgentConfig{ID: "guide", Tools: []troupe.Tool{asks}, Model: modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		last := req.Messages[len(req.Messages)-1]
		if last.Role == troupe.RoleUser && last.Text != "weather?" {
			return turn{text: "In " + last.Text + " it rains."}
		}
		return turn{calls: []troupe.ToolCall{call("1", "ask_user", "{}")}}
	})})
	engine := newEngine(t, troupe.Config{})
	events, end := mustAnswer(t, engine, pass{guide}, "weather?")
	if end.Stop != "input_requested" || end.Output.Summary != "Which city?" {
		t.Fatalf("got %s", render(events))
	}
	_, end, err := play(t, engine, pass{guide}, troupe.Input{Session: events[0].Session, Text: "Oslo"})
	if err != nil || end.Output.Summary != "In Oslo it rains." {
		t.Errorf("got %+v, %v", end, err)
	}
	_, end, err = play(t, engine, pass{guide}, troupe.Input{Session: events[0].Session, Text: "weather?"})
	if err != nil || end.Stop != "input_requested" {
		t.Errorf("the next message is not a new task: %+v, %v", end, err)
	}
}

// A question that the user leaves alone is not in the way of another agent.
func TestAnUnansweredCallDoesNotStopTheConversation(t *testing.T) {
	w := &world{done: map[string]int{}}
	engine := newEngine(t, troupe.Config{})
	events, _ := mustAnswer(t, engine, questioning(t, w, 7)["an agent"], "go")
	other := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		return turn{text: "hello"}
	}))
	again, end, err := play(t, engine, other, troupe.Input{Session: events[0].Session, Text: "yes"})
	if err != nil || end.Output.Summary != "hello" || again[0].Run == events[0].Run {
		t.Errorf("got %+v, %v", end, err)
	}
	if w.total()["wipe(7)"] != 0 {
		t.Error("what was said to another agent was taken for the answer")
	}
}

// wipeBoth is a step that calls the careful tool itself, twice.
func wipeBoth(w *world) troupe.Step {
	tool := careful(w)
	return troupe.NewStep("both", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		var told []string
		for _, n := range []int{7, 8} {
			result, err := run.Call(ctx, tool, pair{A: n})
			if failure, ok := errors.AsType[*troupe.ToolError](err); ok {
				result.Content = string(failure.Class) + ": " + failure.Message
			} else if err != nil {
				return troupe.Handoff{}, err
			}
			told = append(told, result.Content)
		}
		return troupe.Handoff{Task: in.Task, Summary: strings.Join(told, ", ")}, nil
	})
}

func TestAStepMayCallToolsAndAskThroughThem(t *testing.T) {
	w := &world{done: map[string]int{}}
	store := troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	plan := flow.Sequence("flow", wipeBoth(w), echo(t, w, "ann"))
	events, end := mustAnswer(t, engine, plan, "go")
	session := events[0].Session
	for _, answer := range []string{"yes", "no"} {
		if end.Stop != "input_requested" {
			t.Fatalf("it did not ask: %+v", end)
		}
		var err error
		if _, end, err = play(t, engine, plan, troupe.Input{Session: session, Text: answer}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "ann heard wiped, unauthorized: the user said: no"; end.Output.Summary != want || w.total()["wipe(7)"] != 1 {
		t.Fatalf("it came to %q after %v", end.Output.Summary, w.total())
	}
	log := collect(t, store, session)
	for cut := 3; cut < len(log); cut++ {
		again := troupe.NewMemoryStore()
		if err := again.Append(t.Context(), session, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		world := &world{done: map[string]int{}}
		plan := flow.Sequence("flow", wipeBoth(world), echo(t, world, "ann"))
		engine := newEngine(t, troupe.Config{Store: again})
		_, _, err := gather(engine.Resume(t.Context(), plan, session))
		if err != nil && !errors.Is(err, troupe.ErrNothingToResume) {
			t.Errorf("cut after %d (%s): %v", cut, log[cut-1].Kind(), err)
		}
		if recorded := strings.Contains(fmt.Sprint(kinds(log[:cut])), "tool_returned"); recorded && world.total()["wipe(7)"] > 0 {
			t.Errorf("cut after %d (%s): it wiped again", cut, log[cut-1].Kind())
		}
	}
}

// What was said before the output limit is the answer, incomplete, where nothing follows.
func TestACutAnswerThatIsNotGoneOnWithIsKept(t *testing.T) {
	model := inTurn(t, turn{text: "One, two", finish: troupe.FinishLength}, turn{text: " "})
	outcome, err := troupe.Collect(newEngine(t, troupe.Config{}).Run(t.Context(), newAgent(t, model), troupe.Input{Text: "count"}))
	if err != nil || outcome.Text != "One, two" || outcome.Stop != "length" {
		t.Errorf("%q (%s), %v", outcome.Text, outcome.Stop, err)
	}
}

// An answer that says nothing, or yes and no at once, decides nothing: the question stays
// open, and whoever would go on without an answer is told what is missing.
func TestAnAnswerThatSaysNothingIsRefused(t *testing.T) {
	w := &world{done: map[string]int{}}
	agent := agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 1), Tools: []troupe.Tool{careful(w)}})
	engine := newEngine(t, troupe.Config{})
	outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "wipe"}))
	if err != nil || outcome.Stop != "input_requested" {
		t.Fatal(outcome.Stop, err)
	}
	for want, answer := range map[string]troupe.Answer{"says nothing": {Text: " "}, "both": {Approved: true, Denied: true}} {
		if err := engine.Answer(t.Context(), outcome.Session, outcome.Handoff.Meta.Asked, answer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", answer, err)
		}
		if _, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Session: outcome.Session, Answer: &answer})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v as input: %v", answer, err)
		}
	}
	if _, err := troupe.Collect(engine.Resume(t.Context(), agent, outcome.Session)); !errors.Is(err, troupe.ErrNothingToResume) || !strings.Contains(err.Error(), "waits for an answer") {
		t.Errorf("to go on without an answer: %v", err)
	}
	outcome, err = troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Session: outcome.Session, Text: "yes"}))
	if err != nil || outcome.Text != "wiped" {
		t.Errorf("answered at last: %q, %v", outcome.Text, err)
	}
}

// A flow of somebody's own need not know that steps ask: the question reaches the user, and
// the flow is run again with the answer, whatever it makes of what it got before.
func TestAQuestionInAFlowOfOnesOwnIsNotLost(t *testing.T) {
	for name, end := range map[string]func(troupe.Handoff, troupe.Handoff) (troupe.Handoff, error){
		"that takes it for an answer": func(_, other troupe.Handoff) (troupe.Handoff, error) { return other, nil },
		"that cannot make sense of it": func(got, other troupe.Handoff) (troupe.Handoff, error) {
			if got.Summary != "wiped" {
				return troupe.Handoff{}, fmt.Errorf("%q makes no sense", got.Summary)
			}
			return other, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{done: map[string]int{}}
			asks := agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 1), Tools: []troupe.Tool{careful(w)}})
			other := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "the longest answer of them all"} }))
			own := troupe.NewStep("own", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
				steps, answers := []troupe.Step{asks, other}, make([]troupe.Handoff, 2)
				branches := make([]func(context.Context, *troupe.Run) error, 2)
				for i := range steps {
					branches[i] = func(ctx context.Context, run *troupe.Run) (err error) {
						answers[i], err = run.Do(ctx, steps[i], in)
						return err
					}
				}
				if err := errors.Join(run.All(ctx, 0, branches...)...); err != nil {
					return troupe.Handoff{}, err
				}
				return end(answers[0], answers[1])
			}, asks, other)
			store := troupe.NewMemoryStore()
			outcome, err := troupe.Collect(newEngine(t, troupe.Config{Store: store}).Run(t.Context(), own, troupe.Input{Text: "wipe"}))
			if err != nil || outcome.Stop != "input_requested" || w.done["wipe(1)"] > 0 {
				t.Fatalf("%q, %v; done is %v", outcome.Stop, err, w.done)
			}
			outcome, err = troupe.Collect(newEngine(t, troupe.Config{Store: store}).Run(t.Context(), own, troupe.Input{Session: outcome.Session, Text: "yes"}))
			if err != nil || outcome.Stop != "answered" || outcome.Text != "the longest answer of them all" || w.done["wipe(1)"] != 1 {
				t.Errorf("%q, %q, %v; done is %v", outcome.Stop, outcome.Text, err, w.done)
			}
		})
	}
}
