package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// echo is an agent that says its name and what it was handed.
func echo(t testing.TB, w *world, name string) *troupe.Agent {
	return agentWith(t, troupe.AgentConfig{ID: name, Model: counted(w, name, func(req *troupe.Request) turn {
		var h troupe.Handoff
		err := h.ReadPrompt(req.Messages[len(req.Messages)-1].Text)
		if err != nil {
			t.Error(err)
		}
		return turn{text: strings.TrimSpace(fmt.Sprintf("%s heard %s", name, h.Summary))}
	})})
}

// broken is an agent whose model does not work.
func broken(t testing.TB, name string) *troupe.Agent {
	return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(*troupe.Request) turn {
		return turn{err: &troupe.ModelError{Status: 400, Message: name + " is down"}}
	})})
}

// caller is an agent that makes a call, chosen by what it was handed, and once that
// has a result answers with it.
func caller(t testing.TB, w *world, name string, choose func(troupe.Handoff) turn) *troupe.Agent {
	return agentWith(t, troupe.AgentConfig{ID: name, Model: counted(w, name, func(req *troupe.Request) turn {
		if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleTool {
			return turn{text: last.Text}
		}
		var h troupe.Handoff
		err := h.ReadPrompt(req.Messages[0].Text)
		if err != nil {
			t.Error(err)
		}
		return choose(h)
	})})
}

// flowScenes are one of each kind of flow, for the tests that go over logs again.
func flowScenes() []scene {
	relay := func(t testing.TB, w *world) troupe.Step {
		return flow.Sequence("relay", echo(t, w, "ann"), flow.Parallel("both", echo(t, w, "bob"), echo(t, w, "cid")), echo(t, w, "dora"))
	}
	desk := func(t testing.TB, w *world) troupe.Step {
		return flow.Team("desk",
			caller(t, w, "front", func(troupe.Handoff) turn {
				return turn{calls: []troupe.ToolCall{call("t", "transfer_to_bills", `{"summary":"wants money back"}`)}}
			}), echo(t, w, "bills"))
	}
	panel := func(t testing.TB, w *world) troupe.Step {
		return must(t)(flow.NewGroupChat(flow.GroupChatConfig{Name: "panel", Plan: true,
			Members: []troupe.Step{echo(t, w, "ann"), echo(t, w, "bob")},
			Manager: caller(t, w, "chair", func(h troupe.Handoff) turn {
				switch {
				case !strings.Contains(h.Task, "The ledger:"):
					return turn{calls: []troupe.ToolCall{call("l", "write_ledger", `{"ledger":"ask bob"}`)}}
				case !strings.Contains(h.Task, "[bob]"):
					return turn{calls: []troupe.ToolCall{call("f", "give_floor", `{"to":"bob","instruction":"Speak."}`)}}
				}
				return turn{text: "we agree"}
			})}))
	}
	polish := func(t testing.TB, w *world) troupe.Step {
		return must(t)(flow.NewLoop(flow.LoopConfig{Name: "polish",
			Body: agentWith(t, troupe.AgentConfig{ID: "writer", Model: counted(w, "writer", func(req *troupe.Request) turn {
				if strings.Contains(req.Messages[0].Text, "feedback") {
					return turn{text: "good"}
				}
				return turn{text: "bad"}
			})}),
			Check: caller(t, w, "editor", func(h troupe.Handoff) turn {
				if h.Summary == "good" {
					return turn{calls: []troupe.ToolCall{call("a", "accept", `{}`)}}
				}
				return turn{calls: []troupe.ToolCall{call("r", "revise", `{"feedback":"better"}`)}}
			})}))
	}
	function := func(t testing.TB, w *world) troupe.Step {
		return flow.Sequence("mixed", echo(t, w, "ann"), troupe.NewStep("trim", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			in.Summary = strings.ToUpper(in.Summary)
			return in, nil
		}), echo(t, w, "bob"))
	}
	// G8: a flow of one's own, by the same means: branches, an agent's checked answer, a
	// conversation that goes on, a note, a tool.
	own := func(t testing.TB, w *world) troupe.Step {
		players := []troupe.Step{echo(t, w, "ann"), echo(t, w, "bob")}
		judge := agentWith(t, troupe.AgentConfig{ID: "judge", Output: troupe.OutputOf[struct{ Winner int }](), Model: counted(w, "judge", func(*troupe.Request) turn {
			return turn{text: `{"Winner":1}`}
		})})
		work := countedTool(w, "work", true)
		return troupe.NewStep("tournament", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			answers := make([]troupe.Handoff, len(players))
			errs := run.All(ctx, 0, func(ctx context.Context, run *troupe.Run) (err error) {
				answers[0], err = run.Do(ctx, players[0], in)
				return err
			}, func(ctx context.Context, run *troupe.Run) (err error) {
				answers[1], err = run.Do(ctx, players[1], in)
				return err
			})
			if err := errors.Join(errs...); err != nil {
				return troupe.Handoff{}, err
			}
			verdict, err := run.Do(ctx, judge, troupe.Handoff{Task: "Who?", Outputs: map[string]any{"0": answers[0].Answer(), "1": answers[1].Answer()}})
			if err != nil {
				return troupe.Handoff{}, err
			}
			choice, err := flow.Output[struct{ Winner int }](verdict, "judge")
			if err != nil {
				return troupe.Handoff{}, err
			}
			if err := run.Note(ctx, "winner", choice.Winner); err != nil {
				return troupe.Handoff{}, err
			}
			result, err := run.Call(ctx, work, map[string]int{"a": choice.Winner, "b": 1})
			if err != nil {
				return troupe.Handoff{}, err
			}
			return troupe.Handoff{Summary: answers[choice.Winner].Summary + " " + result.Content, Outputs: map[string]any{"verdict": verdict.Answer()}}, nil
		}, append(players, judge)...)
	}
	in := troupe.Input{Text: "go"}
	return []scene{
		{"a sequence with a parallel in it", relay, in},
		{"a team", desk, in},
		{"a group chat with a plan", panel, in},
		{"a loop with a check", polish, in},
		{"a function between agents", function, in},
		{"a flow of one's own", own, in},
	}
}

func must(t testing.TB) func(troupe.Step, error) troupe.Step {
	return func(step troupe.Step, err error) troupe.Step {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
}

func TestASequenceHandsEachAnswerOn(t *testing.T) {
	t.Attr("FR", "FR-017")
	t.Attr("FR", "FR-023")
	t.Attr("FR", "FR-028")
	w := &world{done: map[string]int{}}
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), flow.Sequence("relay", echo(t, w, "ann"), echo(t, w, "bob"), echo(t, w, "cid")), "go")
	if want := "cid heard bob heard ann heard"; end.Output.Summary != want {
		t.Errorf("got %q, want %q", end.Output.Summary, want)
	}
	if end.Output.Outputs["ann"] != "ann heard" || end.Output.Outputs["bob"] != "bob heard ann heard" || end.Output.Task != "go" {
		t.Errorf("the earlier answers are not outputs: %+v", end.Output)
	}
	var hops []string
	for _, h := range bodies[*troupe.HandedOff](events) {
		hops = append(hops, h.From+">"+h.To)
		if m := h.Handoff.Meta; m.Source != h.From || m.Status != "success" || m.Time.IsZero() {
			t.Errorf("the handoff does not say where it comes from: %+v", m)
		}
	}
	if !slices.Equal(hops, []string{"ann>bob", "bob>cid"}) {
		t.Errorf("control passed %v", hops)
	}
	for _, e := range events {
		if e.Agent == "bob" && (e.Parent == "" || e.Run == e.Parent) {
			t.Errorf("a nested event does not carry its parent: %+v", e)
		}
	}
}

func TestWhatIsHandedOverCanBeEdited(t *testing.T) {
	t.Attr("FR", "FR-023a")
	w := &world{done: map[string]int{}}
	plan := must(t)(flow.NewSequence(flow.SequenceConfig{Name: "relay", Steps: []troupe.Step{echo(t, w, "ann"), echo(t, w, "bob")},
		Edit: func(from, to string, h troupe.Handoff) (troupe.Handoff, error) {
			h.Summary = from + " to " + to
			h.Custom = map[string]any{"budget": 3}
			return h, nil
		}}))
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), plan, "go")
	if end.Output.Summary != "bob heard ann to bob" || fmt.Sprint(bodies[*troupe.HandedOff](events)[0].Handoff.Custom) != "map[budget:3]" {
		t.Errorf("got %+v", end.Output)
	}
	refusing := must(t)(flow.NewSequence(flow.SequenceConfig{Name: "relay", Steps: []troupe.Step{echo(t, w, "ann"), echo(t, w, "bob")},
		Edit: func(string, string, troupe.Handoff) (troupe.Handoff, error) {
			return troupe.Handoff{}, errors.New("not so")
		}}))
	_, _, err := play(t, newEngine(t, troupe.Config{}), refusing, troupe.Input{Text: "go"})
	if err == nil || !strings.Contains(err.Error(), "edit what ann hands to bob: not so") {
		t.Errorf("got %v", err)
	}
}

func TestASequenceStopsWithAStepThatFails(t *testing.T) {
	t.Attr("FR", "FR-036")
	w := &world{done: map[string]int{}}
	plan := flow.Sequence("relay", echo(t, w, "ann"), broken(t, "bob"), echo(t, w, "cid"))
	_, _, err := play(t, newEngine(t, troupe.Config{}), plan, troupe.Input{Text: "go"})
	failure, ok := errors.AsType[*troupe.RunError](err)
	if !ok || failure.Agent != "bob" || failure.Task != "go" || failure.Spent.Turns == 0 || !strings.Contains(err.Error(), "bob is down") {
		t.Errorf("the error does not name the agent, its task and its state: %v", err)
	}
	if len(w.total()) != 1 {
		t.Errorf("it went on: %v", w.total())
	}
}

func TestASequenceMayGoOnWithoutAStep(t *testing.T) {
	w := &world{done: map[string]int{}}
	config := flow.SequenceConfig{Name: "relay", ContinueOnError: true, Steps: []troupe.Step{echo(t, w, "ann"), broken(t, "bob"), echo(t, w, "cid")}}
	engine := newEngine(t, troupe.Config{})
	_, end := mustAnswer(t, engine, must(t)(flow.NewSequence(config)), "go")
	if out := end.Output; out.Meta.Status != "partial" || !strings.Contains(out.Summary, "cid heard bob could not do its part") || out.Outputs["ann"] != "ann heard" {
		t.Errorf("got %+v", out)
	}
	config.Steps = []troupe.Step{broken(t, "ann"), broken(t, "bob")}
	if _, _, err := play(t, engine, must(t)(flow.NewSequence(config)), troupe.Input{Text: "go"}); err == nil || !strings.Contains(err.Error(), "bob is down") {
		t.Errorf("nobody did anything, and it says %v", err)
	}
}

// What was made of parts of which one failed is partial, too: whoever reads the end of it alone
// does not see that.
func TestWhatIsMadeOfAPartIsPartial(t *testing.T) {
	w := &world{done: map[string]int{}}
	for name, want := range map[string]string{"bob": "", "bad": "partial"} {
		step := echo(t, w, name)
		if name == "bad" {
			step = broken(t, name)
		}
		_, end := mustAnswer(t, newEngine(t, troupe.Config{}), flow.Sequence("advice", flow.Parallel("all", echo(t, w, "ann"), step), echo(t, w, "chair")), "go")
		if out := end.Output; out.Meta.Status != want && (want != "" || out.Meta.Status != "success") || !strings.HasPrefix(out.Summary, "chair heard") {
			t.Errorf("with %s it is %+v", name, out)
		}
	}
}

func TestParallelStepsRunAtOnceAndAreGatheredInOrder(t *testing.T) {
	t.Attr("FR", "FR-018")
	t.Attr("FR", "FR-024")
	synctest.Test(t, func(t *testing.T) {
		step := func(name string, wait time.Duration) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(*troupe.Request) turn {
				time.Sleep(wait)
				return turn{text: name + " is done"}
			})})
		}
		began := time.Now()
		events, end := mustAnswer(t, newEngine(t, troupe.Config{}), flow.Parallel("all", step("slow", 3*time.Second), broken(t, "bad"), step("quick", time.Second)), "go")
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
		want := "## slow\n\nslow is done\n\n## bad\n\n(failed: "
		if s := end.Output.Summary; !strings.HasPrefix(s, want) || !strings.HasSuffix(s, "## quick\n\nquick is done") {
			t.Errorf("got %s", s)
		}
		if out := end.Output; out.Meta.Status != "partial" || out.Outputs["slow"] != "slow is done" || out.Outputs["quick"] != "quick is done" {
			t.Errorf("got %+v", out)
		}
		var ended []string
		for _, e := range events {
			if e.Kind() == "run_finished" && e.Parent != "" {
				ended = append(ended, e.Agent)
			}
		}
		if !slices.Equal(ended, []string{"quick", "slow"}) {
			t.Errorf("results did not come as they were ready: %v", ended)
		}
	})
}

func TestEnoughSuccessesEndAParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began, cancelled atomic.Int32
		step := func(name string, wait time.Duration) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: name, Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
				began.Add(1)
				select {
				case <-ctx.Done():
					cancelled.Add(1)
					yield(troupe.Chunk{}, ctx.Err())
				case <-time.After(wait):
					_ = yield(troupe.Chunk{Text: name}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
				}
			})})
		}
		config := flow.ParallelConfig{Name: "race", Quorum: 1, Steps: []troupe.Step{
			step("slow", time.Hour), broken(t, "bad"), step("quick", time.Second), step("quicker", time.Second/2)}}
		engine := newEngine(t, troupe.Config{})
		at := time.Now()
		_, end := mustAnswer(t, engine, must(t)(flow.NewParallel(config)), "go")
		if time.Since(at) != time.Second/2 || end.Output.Summary != "quicker" || end.Output.Meta.Source != "quicker" || cancelled.Load() != 2 {
			t.Errorf("after %s, %d cancelled: %+v", time.Since(at), cancelled.Load(), end.Output)
		}
		config.Quorum, at = 2, time.Now()
		_, end = mustAnswer(t, engine, must(t)(flow.NewParallel(config)), "go")
		if time.Since(at) != time.Second || len(end.Output.Outputs) != 2 || end.Output.Meta.Status != "success" {
			t.Errorf("after %s: %+v", time.Since(at), end.Output)
		}
		config.Quorum = 4
		_, _, err := play(t, engine, must(t)(flow.NewParallel(config)), troupe.Input{Text: "go"})
		if err == nil || !strings.Contains(err.Error(), "3 of 4 steps succeeded, 4 are needed") || !strings.Contains(err.Error(), "bad is down") {
			t.Errorf("got %v", err)
		}
		config.Quorum, config.MaxParallel, at = 0, 1, time.Now()
		began.Store(0)
		mustAnswer(t, engine, must(t)(flow.NewParallel(config)), "go")
		if want := time.Hour + time.Second + time.Second/2; time.Since(at) != want || began.Load() != 3 {
			t.Errorf("one at a time took %s, want %s", time.Since(at), want)
		}
	})
}

// Who was cancelled because others had succeeded is not begun again.
func TestARaceThatWasDecidedStaysDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began atomic.Int32
		step := func(name string, wait time.Duration) troupe.Step {
			return agentWith(t, troupe.AgentConfig{ID: name, Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
				began.Add(1)
				select {
				case <-ctx.Done():
					yield(troupe.Chunk{}, ctx.Err())
				case <-time.After(wait):
					_ = yield(troupe.Chunk{Text: name}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
				}
			})})
		}
		w := &world{done: map[string]int{}}
		race := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "race", Quorum: 1, Steps: []troupe.Step{step("slow", time.Hour), step("quick", time.Second)}}))
		plan := flow.Sequence("flow", race, echo(t, w, "ann"))
		events, end := mustAnswer(t, newEngine(t, troupe.Config{}), plan, "go")
		log := stored(events)
		// The decision is stored together with the success that it follows from.
		decided := slices.IndexFunc(log, func(e troupe.Event) bool { return e.Kind() == "branches_stopped" })
		if before := log[decided-1]; before.Agent != "quick" || before.Kind() != "run_finished" {
			t.Fatalf("the decision comes after %s of %s", before.Kind(), before.Agent)
		}
		for cut := decided + 1; cut < len(log); cut++ {
			store := troupe.NewMemoryStore()
			if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
				t.Fatal(err)
			}
			began.Store(0)
			_, again, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), plan, log[0].Session))
			if err != nil || again.Output.Summary != end.Output.Summary || began.Load() != 0 {
				t.Errorf("cut after %d (%s): %+v, %v, %d begun again", cut, log[cut-1].Kind(), again, err, began.Load())
			}
		}
	})
}

func TestATeamHandsControlOver(t *testing.T) {
	t.Attr("FR", "FR-019")
	w := &world{done: map[string]int{}}
	s := flowScenes()[1]
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), s.step(t, w), "refund")
	if end.Output.Summary != "bills heard wants money back" || end.Output.Meta.Source != "bills" {
		t.Errorf("got %+v", end.Output)
	}
	if h := bodies[*troupe.HandedOff](events); len(h) != 1 || h[0].From != "front" || h[0].To != "bills" || !slices.Equal(h[0].Handoff.Meta.ToolsUsed, []string{"transfer_to_bills"}) {
		t.Errorf("got %s", render(events))
	}
}

func TestATeamsHopsHaveAnEnd(t *testing.T) {
	w := &world{done: map[string]int{}}
	pingPong := func(name, other string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: name, Model: counted(w, name, func(req *troupe.Request) turn {
			if req.Tools == nil {
				return turn{text: name + " has to answer"}
			}
			return turn{calls: []troupe.ToolCall{call("t", "transfer_to_"+other, `{"summary":"yours"}`)}}
		})})
	}
	plan := must(t)(flow.NewTeam(flow.TeamConfig{Name: "table", MaxHandoffs: 3, Members: []flow.Member{{Agent: pingPong("ping", "pong")}, {Agent: pingPong("pong", "ping")}}}))
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), plan, "go")
	if n := countOf[*troupe.HandedOff](events); n != 3 || end.Output.Summary != "pong has to answer" {
		t.Errorf("after %d hops: %+v", n, end.Output)
	}
}

// A team whose last agent does nothing but hand over, to nobody, says so in plain words.
func TestATeamAtItsLimitSaysSo(t *testing.T) {
	transfers := func(name, other string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(*troupe.Request) turn {
			return turn{calls: []troupe.ToolCall{call("t", "transfer_to_"+other, `{"summary":"yours"}`)}}
		})})
	}
	plan := must(t)(flow.NewTeam(flow.TeamConfig{Name: "table", MaxHandoffs: 3, Members: []flow.Member{{Agent: transfers("ping", "pong")}, {Agent: transfers("pong", "ping")}}}))
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), plan, "go")
	const want = "(The work was handed over 3 times, which is as often as it may be. pong had to answer then, and wanted to hand it over once more.)"
	if end.Stop != "handoffs" || end.Output.Meta.Status != "partial" || end.Output.Summary != want {
		t.Errorf("got %+v", end.Output)
	}
	for _, one := range bodies[*troupe.RunFinished](events) {
		if text := one.Output.Summary; strings.Contains(text, "repeated_calls") || strings.Contains(text, "transfer_to") {
			t.Errorf("%q is for programs", text)
		}
	}
}

func TestAGroupChatGoesRoundOrIsLed(t *testing.T) {
	w := &world{done: map[string]int{}}
	var heard []string
	speaker := func(name string) troupe.Step {
		return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(req *troupe.Request) turn {
			heard = append(heard, req.Messages[0].Text)
			return turn{text: fmt.Sprintf("%s speaks %d", name, len(heard))}
		})})
	}
	round := must(t)(flow.NewGroupChat(flow.GroupChatConfig{Name: "round", Members: []troupe.Step{speaker("ann"), speaker("bob")}, Turns: 3}))
	_, end := mustAnswer(t, newEngine(t, troupe.Config{}), round, "go")
	if end.Output.Summary != "ann speaks 3" || !strings.Contains(heard[2], "[ann]\nann speaks 1\n\n[bob]\nbob speaks 2\n\nYou are ann") {
		t.Errorf("got %+v after %q", end.Output, heard)
	}
	_, end = mustAnswer(t, newEngine(t, troupe.Config{}), flowScenes()[2].step(t, w), "go")
	if end.Output.Summary != "we agree" || end.Output.Meta.Source != "chair" || end.Output.Outputs["ledger"] != "ask bob" || w.total()["ann is asked with 1 messages"] != 0 {
		t.Errorf("got %+v", end.Output)
	}
}

// A chat in which nobody had anything to say is no success, and neither are steps side by side
// that all had nothing: the run's end says why.
func TestAFlowInWhichNobodyIsHeardIsNoSuccess(t *testing.T) {
	says := func(id string, end turn) troupe.Step {
		return agentWith(t, troupe.AgentConfig{ID: id, Model: modelFunc(func(*troupe.Request) turn { return end })})
	}
	silent, words := turn{}, turn{text: "so it is"}
	declined := turn{refuse: "I cannot"}
	chair := says("chair", words).(*troupe.Agent)
	chat := func(manager *troupe.Agent, members ...troupe.Step) troupe.Step {
		return must(t)(flow.NewGroupChat(flow.GroupChatConfig{Name: "chat", Members: members, Manager: manager, Turns: 2}))
	}
	floor := 0
	leads := agentWith(t, troupe.AgentConfig{ID: "leads", Model: modelFunc(func(req *troupe.Request) turn {
		if req.Tools.Len() == 0 {
			return words
		}
		floor++
		return turn{calls: []troupe.ToolCall{call(fmt.Sprint("c", floor), "give_floor", `{"to":"ann"}`)}}
	})})
	for name, c := range map[string]struct {
		step         troupe.Step
		stop, status string
	}{
		"silence":                   {chat(nil, says("ann", silent), says("bob", silent)), "empty", "partial"},
		"refusals":                  {chat(nil, says("ann", declined), says("bob", declined)), "refused", "partial"},
		"the last has no word":      {chat(nil, says("ann", words), says("bob", silent)), "empty", "partial"},
		"the last has one":          {chat(nil, says("ann", silent), says("bob", words)), "answered", "success"},
		"a manager of the silent":   {chat(leads, says("ann", silent), says("bob", silent)), "answered", "partial"},
		"a manager of the eloquent": {chat(leads, says("ann", words), says("bob", silent)), "answered", "success"},
		"a manager who knows":       {chat(chair, says("ann", silent), says("bob", silent)), "answered", "success"},
		"side by side":              {flow.Parallel("p", says("ann", silent), says("bob", silent)), "empty", "partial"},
		"one of two, side by side":  {flow.Parallel("p", says("ann", silent), says("bob", words)), "empty", "partial"},
	} {
		t.Run(name, func(t *testing.T) {
			_, end, err := play(t, newEngine(t, troupe.Config{}), c.step, troupe.Input{Text: "go"})
			if err != nil || end.Stop != c.stop || end.Output.Meta.Status != c.status {
				t.Errorf("it ended with %+v, %v", end, err)
			}
		})
	}
}

// What the manager and the members of a chat are told, word by word.
func TestWhatIsSaidInAGroupChat(t *testing.T) {
	var heard []string
	hears := func(req *troupe.Request) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleUser {
			heard = append(heard, last.Text)
		} else {
			heard = append(heard, "("+last.Text+")")
		}
	}
	floor := func(to, instruction string) turn {
		return turn{calls: []troupe.ToolCall{call("f", "give_floor", fmt.Sprintf(`{"to":%q,"instruction":%q}`, to, instruction))}}
	}
	script := inTurn(t,
		turn{calls: []troupe.ToolCall{call("l", "write_ledger", `{"ledger":"ask bob"}`)}},
		floor("eve", ""), floor("bob", "Be brief."), turn{text: "It is done."})
	chair := agentWith(t, troupe.AgentConfig{ID: "chair", Model: modelFunc(func(req *troupe.Request) turn { hears(req); return script(req) })})
	member := func(name string) troupe.Step {
		return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(req *troupe.Request) turn { hears(req); return turn{text: name + " agrees."} })})
	}
	chat := must(t)(flow.NewGroupChat(flow.GroupChatConfig{Name: "panel", Plan: true, Turns: 1, Manager: chair, Members: []troupe.Step{member("ann"), member("bob")}}))
	_, end := mustAnswer(t, newEngine(t, troupe.Config{}), chat, "Decide.")
	const lead, choose = "You lead a conversation between ann, bob.\n\nThe task:\nDecide.\n\nNobody has spoken yet.\n\n",
		"Say who speaks next by calling give_floor. When the task is done, answer it instead: that ends the conversation."
	want := []string{
		lead + "Begin by writing the ledger with write_ledger. " + choose,
		lead + "The ledger:\nask bob\n\nBring it up to date with write_ledger where it no longer holds. " + choose,
		`({"success":false,"class":"failed","error":"there is no participant \"eve\"; there are: ann, bob","attempt":1,"attempts_left":2})`,
		"The task:\nDecide.\n\nNobody has spoken yet.\n\nYou are bob, and it is your turn to speak. Be brief.",
		"The task:\nDecide.\n\nThe conversation so far:\n\n[bob]\nbob agrees.\n\nThe conversation is over. Answer the task with what came of it.",
	}
	if !slices.Equal(heard, want) {
		t.Errorf("heard was\n%s\nwant\n%s", strings.Join(heard, "\n---\n"), strings.Join(want, "\n---\n"))
	}
	if end.Output.Summary != "It is done." || end.Output.Outputs["ledger"] != "ask bob" || fmt.Sprint(end.Output.Outputs["conversation"]) != "[map[speaker:bob text:bob agrees.]]" {
		t.Errorf("got %+v", end.Output)
	}
}

func TestALoopEndsWhenItsOutcomeWillDo(t *testing.T) {
	w := &world{done: map[string]int{}}
	engine := newEngine(t, troupe.Config{})
	_, end := mustAnswer(t, engine, flowScenes()[3].step(t, w), "go")
	if end.Output.Summary != "good" || w.total()["writer is asked with 1 messages"] != 2 {
		t.Errorf("got %+v, %v", end.Output, w.total())
	}
	rounds := 0
	until := func(h troupe.Handoff) (bool, error) { rounds++; return rounds == 3, nil }
	_, end = mustAnswer(t, engine, flow.Loop("polish", echo(t, w, "ann"), until), "go")
	if rounds != 3 || end.Output.Summary != "ann heard ann heard ann heard" {
		t.Errorf("after %d rounds: %+v", rounds, end.Output)
	}
	never := must(t)(flow.NewLoop(flow.LoopConfig{Name: "polish", Body: echo(t, w, "ann"), MaxRounds: 2, Until: func(troupe.Handoff) (bool, error) { return false, nil }}))
	events, end := mustAnswer(t, engine, never, "go")
	if end.Output.Meta.Status != "partial" || bodies[*troupe.Warned](events)[0].Code != "loop_limit" {
		t.Errorf("got %+v", end.Output)
	}
}

// A question from inside a flow ends it; the answer goes to whoever asked, and the
// flow goes on.
func TestAFlowGoesOnWithTheAnswer(t *testing.T) {
	for _, arrange := range []func(asks troupe.Step, t testing.TB, w *world) troupe.Step{
		func(asks troupe.Step, t testing.TB, w *world) troupe.Step {
			return flow.Sequence("flow", echo(t, w, "ann"), asks, echo(t, w, "bob"))
		},
		func(asks troupe.Step, t testing.TB, w *world) troupe.Step {
			return flow.Sequence("flow", flow.Parallel("both", echo(t, w, "ann"), asks), echo(t, w, "bob"))
		},
		func(asks troupe.Step, t testing.TB, w *world) troupe.Step {
			return must(t)(flow.NewGroupChat(flow.GroupChatConfig{Name: "chat", Members: []troupe.Step{echo(t, w, "ann"), asks}, Turns: 2}))
		},
		func(asks troupe.Step, t testing.TB, w *world) troupe.Step {
			return flow.Loop("flow", asks, func(troupe.Handoff) (bool, error) { return true, nil })
		},
	} {
		w := &world{done: map[string]int{}}
		plan := arrange(agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 7), Tools: []troupe.Tool{careful(w)}}), t, w)
		engine := newEngine(t, troupe.Config{})
		events, end := mustAnswer(t, engine, plan, "go")
		if end.Stop != "input_requested" || end.Output.Summary != "Wipe 7?" {
			t.Fatalf("%s did not ask: %+v", plan.Name(), end)
		}
		_, end, err := play(t, engine, plan, troupe.Input{Session: events[0].Session, Text: "yes"})
		if err != nil || end.Stop != "answered" || !strings.Contains(end.Output.Summary, "wiped") || w.total()["wipe(7)"] != 1 {
			t.Errorf("%s: %+v, %v, %v", plan.Name(), end, err, w.total())
		}
		if n := w.total()["ann is asked with 1 messages"]; n > 1 {
			t.Errorf("%s asked ann %d times", plan.Name(), n)
		}
	}
}

func TestAHandoffIsReadBackFromThePrompt(t *testing.T) {
	t.Attr("FR", "FR-023b")
	for _, h := range []troupe.Handoff{
		{Task: "only a task"},
		{Task: "do\n```json\n{}\n```", Summary: "was ```done```\n\nHanded over to you:\n```json\n", Meta: troupe.HandoffMeta{Source: "ann", Status: "success", Time: time.Unix(1e9, 5).UTC(), ToolsUsed: []string{"read_file"}}},
		{Task: "quotes\n\nHanded over to you:\n```json\n{}\n```"},
		{Task: "", Outputs: map[string]any{"file": "a.md", "n": 3.0, "list": []any{"<x>", true}}, Custom: map[string]any{"k": map[string]any{"v": nil}}},
	} {
		var got troupe.Handoff
		err := got.ReadPrompt(h.Prompt())
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", h) {
			t.Errorf("%q came back as %+v, %v", h.Prompt(), got, err)
		}
	}
	for _, text := range []string{"x\n\nHanded over to you:\n```json\n{}\n``` and more", "x\n\nHanded over to you:\n```json\n{\n```"} {
		if err := new(troupe.Handoff).ReadPrompt(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestWhatCannotBeAFlow(t *testing.T) {
	w := &world{}
	ann, bob := echo(t, w, "ann"), echo(t, w, "bob")
	for want, make := range map[string]func() (troupe.Step, error){
		"sequence: it needs a name": func() (troupe.Step, error) {
			return flow.NewSequence(flow.SequenceConfig{Steps: []troupe.Step{ann}})
		},
		"sequence s: it has no steps": func() (troupe.Step, error) { return flow.NewSequence(flow.SequenceConfig{Name: "s"}) },
		"sequence s: step 1 is nil": func() (troupe.Step, error) {
			return flow.NewSequence(flow.SequenceConfig{Name: "s", Steps: []troupe.Step{nil}})
		},
		"sequence ann: a step has the flow's own name": func() (troupe.Step, error) {
			return flow.NewSequence(flow.SequenceConfig{Name: "ann", Steps: []troupe.Step{ann}})
		},
		"parallel p: two steps have the name ann": func() (troupe.Step, error) {
			return flow.NewParallel(flow.ParallelConfig{Name: "p", Steps: []troupe.Step{ann, bob, ann}})
		},
		"parallel p: a quorum of 3 successes is not possible": func() (troupe.Step, error) {
			return flow.NewParallel(flow.ParallelConfig{Name: "p", Steps: []troupe.Step{ann, bob}, Quorum: 3})
		},
		"team t: member 1 is nil": func() (troupe.Step, error) {
			return flow.NewTeam(flow.TeamConfig{Name: "t", Members: []flow.Member{{}}})
		},
		"group chat g: a plan needs a manager": func() (troupe.Step, error) {
			return flow.NewGroupChat(flow.GroupChatConfig{Name: "g", Members: []troupe.Step{ann}, Plan: true})
		},
		"loop l: it needs either Until or Check": func() (troupe.Step, error) { return flow.NewLoop(flow.LoopConfig{Name: "l", Body: ann}) },
		"parallel p: MaxParallel -1 is negative": func() (troupe.Step, error) {
			return flow.NewParallel(flow.ParallelConfig{Name: "p", Steps: []troupe.Step{ann}, MaxParallel: -1})
		},
		"loop l: MaxRounds -1 is negative": func() (troupe.Step, error) {
			return flow.NewLoop(flow.LoopConfig{Name: "l", Body: ann, Check: bob, MaxRounds: -1})
		},
		"team t: MaxHandoffs -1 is negative": func() (troupe.Step, error) {
			return flow.NewTeam(flow.TeamConfig{Name: "t", Members: []flow.Member{{Agent: ann}}, MaxHandoffs: -1})
		},
		"group chat g: Turns -1 is negative": func() (troupe.Step, error) {
			return flow.NewGroupChat(flow.GroupChatConfig{Name: "g", Members: []troupe.Step{ann}, Turns: -1})
		},
	} {
		if _, err := make(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a mistake in the program did not panic")
		}
	}()
	flow.Sequence("s")
}

// BenchmarkFiveInParallel is five agents whose model takes 100 ms, against one.
func BenchmarkFiveInParallel(b *testing.B) {
	agent := func(name string) troupe.Step {
		return agentWith(b, troupe.AgentConfig{ID: name, Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			_ = yield(troupe.Chunk{Text: "done"}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
		})})
	}
	engine := newEngine(b, troupe.Config{})
	five := flow.Parallel("five", agent("a"), agent("b"), agent("c"), agent("d"), agent("e"))
	var one, all time.Duration
	for b.Loop() {
		began := time.Now()
		mustAnswer(b, engine, agent("one"), "go")
		one += time.Since(began)
		began = time.Now()
		mustAnswer(b, engine, five, "go")
		all += time.Since(began)
	}
	b.ReportMetric(float64(all)/float64(one), "times-one-agent")
}

// What a step has failed for is told to the next one, and to whoever reads the answer, in plain
// words with the cause alone, and in the same words when the run is gone over again.
func TestWhyAStepFailedIsToldInPlainWords(t *testing.T) {
	failing := func(err error) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: "bad", Model: modelFunc(func(*troupe.Request) turn { return turn{err: err} })})
	}
	good := agentWith(t, troupe.AgentConfig{ID: "good", Model: modelFunc(func(*troupe.Request) turn { return turn{text: "fine"} })})
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a known cause":    {&troupe.ModelError{Status: 401, Reason: "key", Message: "no"}, "The provider does not accept the key. It is missing, mistyped, revoked, or not allowed to use this model."},
		"one of its own":   {&troupe.ModelError{Status: 400, Reason: "request", Message: "The machine is ill."}, "model: 400: The machine is ill."},
		"a plain error":    {errors.New(`it says "no" to task "go": after all`), `it says "no" to task "go": after all`},
		"of several lines": {errors.New("first\nsecond"), "first\nsecond"},
	} {
		for _, nested := range []bool{false, true} {
			t.Run(fmt.Sprint(name, nested), func(t *testing.T) {
				var bad troupe.Step = failing(c.err)
				if nested {
					bad = flow.Sequence("inner", bad)
				}
				heard := ""
				listener := agentWith(t, troupe.AgentConfig{ID: "listener", Model: modelFunc(func(req *troupe.Request) turn {
					heard = req.Messages[len(req.Messages)-1].Text
					return turn{err: &troupe.ModelError{Status: 400, Message: "stop here"}}
				})})
				all, store := flow.Sequence("all", flow.Parallel("both", good, bad), listener), troupe.NewMemoryStore()
				events, _, err := play(t, newEngine(t, troupe.Config{Store: store}), all, troupe.Input{Text: `say "go"`})
				if err == nil || !strings.Contains(heard, strings.Trim(strconv.Quote("(failed: "+c.want+")"), `"`)) {
					t.Errorf("%v, the next was told %s", err, heard)
				}
				first := heard
				if _, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), all, events[0].Session)); errors.Is(err, troupe.ErrChanged) || heard != first {
					t.Errorf("gone over again, it is told %q: %v", heard, err)
				}
			})
		}
	}
}
