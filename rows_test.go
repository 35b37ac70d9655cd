package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// M1, decision 22: that something is not there is an answer: it closes nothing and
// counts for nothing.
func TestNegativeAnswersAreAnswers(t *testing.T) {
	reads := 0
	read := troupe.NewTool("read", "Reads.", func(_ context.Context, in struct {
		Path string `json:"path"`
	}) (string, error) {
		if reads++; in.Path == "there" {
			return "content", nil
		}
		return "", &troupe.ToolError{Class: "not_found", Message: "no file " + in.Path}
	}, troupe.ReadOnly())
	var calls []turn
	for i := range 6 {
		calls = append(calls, turn{calls: []troupe.ToolCall{call(fmt.Sprint(i), "read", fmt.Sprintf(`{"path":"optional-%d"}`, i))}})
	}
	calls = append(calls, turn{calls: []troupe.ToolCall{call("7", "read", `{"path":"there"}`)}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, inTurn(t, calls...), read), "go")
	returned := bodies[*troupe.ToolReturned](events)
	if reads != 7 || returned[6].Content != "content" {
		t.Errorf("%d reads, the last gave %+v", reads, returned[6])
	}
	for _, c := range bodies[*troupe.ToolCalled](events) {
		if c.Attempt != 1 {
			t.Errorf("call %s counts as attempt %d", c.CallID, c.Attempt)
		}
	}
	if strings.Contains(returned[5].Content, "attempt") {
		t.Errorf("the model was told %s", returned[5].Content)
	}
}

// M2 to M4, decision 21: what changes something takes effect in the order the model
// wrote it; what only reads runs at the same time.
func TestCallsTakeEffectInTheModelsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type in struct {
			Text string `json:"text"`
			Ms   int    `json:"ms"`
		}
		file := ""
		save := troupe.NewTool("save", "Saves.", func(_ context.Context, in in) (string, error) {
			time.Sleep(time.Duration(in.Ms) * time.Millisecond)
			file = in.Text
			return "saved", nil
		})
		read := troupe.NewTool("read", "Reads.", func(_ context.Context, in in) (string, error) {
			time.Sleep(time.Duration(in.Ms) * time.Millisecond)
			return file, nil
		}, troupe.ReadOnly())
		model := inTurn(t, turn{calls: []troupe.ToolCall{
			call("1", "save", `{"text":"long","ms":50}`), call("2", "read", `{"text":"","ms":10}`), call("3", "read", `{"text":"","ms":10}`),
			call("4", "save", `{"text":"short","ms":1}`), call("5", "read", `{"text":"","ms":10}`),
		}}, turn{text: "ok"})
		began := time.Now()
		events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, save, read), "go")
		got := map[string]string{}
		for _, r := range bodies[*troupe.ToolReturned](events) {
			got[r.CallID] = r.Content
		}
		if file != "short" || got["2"] != "long" || got["3"] != "long" || got["5"] != "short" {
			t.Errorf("the file is %q; the reads gave %v", file, got)
		}
		if took := time.Since(began); took != 71*time.Millisecond { // 50, 10 together, 1, 10
			t.Errorf("it took %s", took)
		}
	})
}

// M5: what has only one meaning is taken as meant, anything else is told field by field.
func TestArgumentsAreTakenAsMeant(t *testing.T) {
	type in struct {
		Path  string `json:"path"`
		Lines int    `json:"lines,omitempty"`
		Deep  bool   `json:"deep,omitempty"`
		Mode  string `json:"mode,omitempty" enum:"text,binary"`
	}
	var mu sync.Mutex
	var got []in
	tool := troupe.NewTool("read", "Reads.", func(_ context.Context, in in) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, in)
		return "ok", nil
	}, troupe.ReadOnly())
	model := inTurn(t, turn{calls: []troupe.ToolCall{
		call("1", "read", `{"path":"a","lines":null,"deep":null}`), call("2", "read", `{"path":"a","lines":"12","deep":"true"}`),
		call("3", "read", `{"path":"a","mode":"TEXT"}`), call("4", "read", `{"path":"a","lines":"a dozen"}`), call("5", "read", `{"path":null}`),
	}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
	classes := map[string]string{}
	for _, r := range bodies[*troupe.ToolReturned](events) {
		classes[r.CallID] = string(r.Class) + r.Error
	}
	if len(got) != 3 || classes["1"]+classes["2"]+classes["3"] != "" {
		t.Errorf("taken: %+v; %v", got, classes)
	}
	if !strings.Contains(classes["4"], "/lines") || !strings.Contains(classes["5"], "/path") {
		t.Errorf("told: %v", classes)
	}
	for _, in := range got {
		if in.Path != "a" || in.Lines != 0 && in.Lines != 12 || in.Mode != "" && in.Mode != "text" {
			t.Errorf("taken as %+v", in)
		}
	}
}

// G3: the same types on the first pass and on every later one.
func TestHandoffsAreData(t *testing.T) {
	var seen [][]string
	type point struct{ X, Y int }
	first := troupe.NewStep("first", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return troupe.Handoff{Summary: "one", Outputs: map[string]any{"n": 3, "at": point{1, 2}, "list": []int{1}}, Custom: in.Custom}, nil
	})
	second := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "two"} }))
	step := troupe.NewStep("flow", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		out, err := run.Do(ctx, first, in)
		if err != nil {
			return out, err
		}
		var types []string
		for _, v := range []any{out.Outputs["n"], out.Outputs["at"], out.Outputs["list"], out.Custom["when"], in.Custom["when"]} {
			types = append(types, fmt.Sprint(reflect.TypeOf(v)))
		}
		seen = append(seen, types)
		return run.Do(ctx, second, troupe.Handoff{Task: "go"})
	}, first, second)
	input := troupe.Input{Text: "go", Custom: map[string]any{"when": time.Second}}
	events, _, err := play(t, newEngine(t, troupe.Config{}), step, input)
	if err != nil {
		t.Fatal(err)
	}
	log := stored(events)
	for cut := 3; cut < len(log); cut++ {
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		if _, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, log[0].Session)); err != nil {
			t.Fatal(err)
		}
	}
	for i, types := range seen {
		if fmt.Sprint(types) != "[float64 map[string]interface {} []interface {} float64 float64]" {
			t.Errorf("pass %d saw %v", i, types)
		}
	}
	_, _, err = play(t, newEngine(t, troupe.Config{}), step, troupe.Input{Text: "go", Custom: map[string]any{"f": func() {}}})
	if err == nil || !strings.Contains(err.Error(), `custom value "f" cannot be handed over`) {
		t.Errorf("a function was handed over: %v", err)
	}
}

// G4: whoever has the conversation keeps it, with its history and attachments.
func TestATeamHoldsAConversation(t *testing.T) {
	var bob [][]*troupe.Message
	ann := agentWith(t, troupe.AgentConfig{ID: "ann", Model: modelFunc(func(*troupe.Request) turn {
		return turn{calls: []troupe.ToolCall{call("1", "transfer_to_bob", `{"summary":"they want tea"}`)}}
	})})
	helper := agentWith(t, troupe.AgentConfig{ID: "bob", Model: modelFunc(func(req *troupe.Request) turn {
		bob = append(bob, req.Messages)
		return turn{text: fmt.Sprintf("bob's answer %d", len(bob))}
	})})
	store := troupe.NewMemoryStore()
	team := flow.Team("desk", ann, helper)
	picture := troupe.Part{MIME: "image/png", Name: "cup.png", Data: []byte{1, 2}}
	events, _, err := play(t, newEngine(t, troupe.Config{Store: store}), team, troupe.Input{Text: "What is this?", Parts: []troupe.Part{picture}})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"And with milk?", "Thanks."} {
		// Each time in another process, so to speak.
		_, end, err := play(t, newEngine(t, troupe.Config{Store: store}), team, troupe.Input{Session: events[0].Session, Text: text})
		if err != nil || end.Output.Summary != fmt.Sprintf("bob's answer %d", i+2) || end.Output.Meta.Source != "bob" {
			t.Fatalf("%q: %+v, %v", text, end, err)
		}
	}
	if len(bob[0]) != 1 || len(bob[0][0].Parts) != 1 || !strings.Contains(bob[0][0].Text, "they want tea") {
		t.Errorf("bob was handed %+v", bob[0][0])
	}
	last := bob[2]
	if len(last) != 5 || last[1].Text != "bob's answer 1" || last[2].Text != "And with milk?" || last[4].Text != "Thanks." || len(last[0].Parts) != 1 {
		t.Errorf("bob's third request has %d messages, the last %q", len(last), last[len(last)-1].Text)
	}
}

// A flow that the user talks to knows what was said before.
func TestAFlowKnowsTheConversation(t *testing.T) {
	var asked []string
	agent := func(id string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: id, Model: modelFunc(func(req *troupe.Request) turn {
			var texts []string
			for _, m := range req.Messages {
				texts = append(texts, m.Text)
			}
			asked = append(asked, id+": "+strings.Join(texts, " | "))
			return turn{text: id + " says so"}
		})})
	}
	store := troupe.NewMemoryStore()
	relay := flow.Sequence("relay", agent("ann"), agent("bob"))
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), relay, "Hello?")
	if _, _, err := play(t, newEngine(t, troupe.Config{Store: store}), relay, troupe.Input{Session: events[0].Session, Text: "Again."}); err != nil {
		t.Fatal(err)
	}
	if want := "ann: Hello? | bob says so | Again."; asked[2] != want {
		t.Errorf("got %q, want %q", asked[2], want)
	}
}

// G5: a wrapper that narrows the schema is what is checked.
func TestAWrappedToolIsCheckedByItsOwnSchema(t *testing.T) {
	inner := troupe.NewTool("pay", "Pays.", func(_ context.Context, in struct {
		Amount int `json:"amount"`
	}) (string, error) {
		return fmt.Sprint("paid ", in.Amount), nil
	})
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "pay", `{"amount":500}`), call("2", "pay", `{"amount":50}`)}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, limited{inner}), "go")
	returned := bodies[*troupe.ToolReturned](events)
	if returned[0].Class != "invalid_arguments" || !strings.Contains(returned[0].Error, "at most 100") || returned[1].Content != "paid 50" {
		t.Errorf("got %+v and %+v", returned[0], returned[1])
	}
}

type limited struct{ troupe.Tool }

func (c limited) Spec() troupe.ToolSpec {
	spec := c.Tool.Spec()
	spec.Input = json.RawMessage(strings.Replace(string(spec.Input), `"integer"`, `"integer","maximum":100`, 1))
	return spec
}

// G7, G12: a tool knows its caller, and its call by an id that nobody else has.
func TestAToolKnowsItsCaller(t *testing.T) {
	var mu sync.Mutex
	ids := map[string]bool{}
	var last *troupe.Invocation
	who := troupe.NewToolWithCall("who", "Says who.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		ids[call.ID], last = true, call
		return "somebody", nil
	}, troupe.ReadOnly())
	var requests []*troupe.Request
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		requests = append(requests, req)
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("same", "who", "{}"), call("same", "who", "{}")}}
		}
		return turn{text: "ok"}
	}), who)
	engine := newEngine(t, troupe.Config{})
	for range 3 {
		if _, _, err := play(t, engine, agent, troupe.Input{Text: "go", User: "ann", Values: map[string]any{"tenant": "acme-9", "n": 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 6 {
		t.Errorf("6 calls had %d ids", len(ids))
	}
	if last.User != "ann" || last.Values["tenant"] != "acme-9" || last.Values["n"] != 1.0 {
		t.Errorf("the tool was told %q, %v", last.User, last.Values)
	}
	for _, req := range requests {
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "acme-9") {
				t.Errorf("the model was told %q", m.Text)
			}
		}
	}
}

// Results may carry parts and a value.
func TestAResultHasPartsAndAValue(t *testing.T) {
	shot := troupe.NewTool("shot", "Takes a picture.", func(context.Context, struct{}) (troupe.Result, error) {
		return troupe.Result{Content: "a cat", Parts: []troupe.Part{{MIME: "image/png", Data: []byte{7}}}, Value: map[string]int{"legs": 4}}, nil
	}, troupe.ReadOnly())
	var shown []troupe.Part
	model := modelFunc(func(req *troupe.Request) turn {
		if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleTool {
			shown = last.Parts
			return turn{text: "ok"}
		}
		return turn{calls: []troupe.ToolCall{call("1", "shot", "{}")}}
	})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, shot), "go")
	if len(shown) != 1 || shown[0].Data[0] != 7 || string(bodies[*troupe.ToolReturned](events)[0].Value) != `{"legs":4}` {
		t.Errorf("the model was shown %v; on record: %s", shown, render(events))
	}
	step := troupe.NewStep("look", func(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
		result, err := run.Call(ctx, shot, struct{}{})
		return troupe.Handoff{Summary: fmt.Sprint(result.Content, result.Value, len(result.Parts))}, err
	})
	if _, end := mustAnswer(t, newEngine(t, troupe.Config{}), step, "go"); end.Output.Summary != "a catmap[legs:4] 1" {
		t.Errorf("the step got %q", end.Output.Summary)
	}
}

// G9: a handle.
func TestAHandleWaitsAndShows(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	agent := newAgent(t, inTurn(t, turn{calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":2}`)}}, turn{text: "3"}), adder())
	handle, err := engine.Start(t.Context(), agent, troupe.Input{Text: "1+2?"})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := handle.Wait(t.Context())
	if err != nil || outcome.Text != "3" || outcome.Session != handle.Session || outcome.Spent.ToolCalls != 1 || outcome.Stop != "answered" {
		t.Errorf("got %+v, %v", outcome, err)
	}
	events, end, err := gather(handle.Events(t.Context()))
	if err != nil || end == nil || events[0].Kind() != "run_started" || events[0].Run != handle.Run {
		t.Errorf("its events: %s, %v", kinds(events), err)
	}
	done, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	hanging, err := engine.Start(t.Context(), newAgent(t, hang{}), troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hanging.Wait(done); err == nil || err.Error() != "no time" {
		t.Errorf("got %v", err)
	}
}

// hang is a model that never answers.
type hang struct{}

func (hang) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		<-ctx.Done()
		yield(troupe.Chunk{}, ctx.Err())
	}
}

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
	if limits := bodies[*troupe.LimitReached](events); len(limits) != 3 || limits[0].Stop != "turns" || !strings.Contains(limits[0].Message, "all 2 turns") {
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
	var systems []string
	down := true
	agent := func(instructions string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: instructions, Model: modelFunc(func(req *troupe.Request) turn {
			if systems = append(systems, req.Messages[0].Text); down {
				return turn{err: &troupe.ModelError{Status: 400, Message: "down"}}
			}
			return turn{text: "fine"}
		})})
	}
	store := troupe.NewMemoryStore()
	events, _, _ := play(t, newEngine(t, troupe.Config{Store: store}), agent("Be brief."), troupe.Input{Text: "go"})
	down = false
	resumed, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), agent("Be long."), events[0].Session))
	if err != nil || len(systems) != 2 || systems[1] != "Be brief." {
		t.Errorf("it was told %q, %v", systems, err)
	}
	if warned := bodies[*troupe.Warned](resumed); len(warned) != 1 || !strings.Contains(warned[0].Message, "the instructions of agent clerk have changed") {
		t.Errorf("nobody was warned: %s", kinds(resumed))
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
	agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: "You are a clerk.", Model: model, Window: 2000, Tools: []troupe.Tool{workflow, fill}})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "Write my brief about otters.")
	if countOf[*troupe.ContextCompacted](events) == 0 {
		t.Fatal("nothing was compacted")
	}
	var texts []string
	for _, m := range last {
		texts = append(texts, m.Text)
	}
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "Write my brief about otters.") || !strings.Contains(all, "Step 3 of the workflow") || strings.Contains(all, "Step 1 of the workflow") {
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
