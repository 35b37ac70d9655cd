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
		call("6", "read", `"{\"path\":\"a\",\"lines\":12}"`), call("7", "read", ` "{\"path\":\"a\",\"lines\":\"12\",\"deep\":null}" `), call("8", "read", `"{\"lines\":12}"`), call("9", "read", `"a"`),
	}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
	classes := map[string]string{}
	for _, r := range bodies[*troupe.ToolReturned](events) {
		classes[r.CallID] = string(r.Class) + r.Error
	}
	if len(got) != 5 || classes["1"]+classes["2"]+classes["3"]+classes["6"]+classes["7"] != "" {
		t.Errorf("taken: %+v; %v", got, classes)
	}
	if !strings.Contains(classes["4"], "/lines") || !strings.Contains(classes["5"], "/path") || classes["8"] == "" || classes["9"] == "" {
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
	helper := agentWith(t, troupe.AgentConfig{ID: "bob", Tools: []troupe.Tool{adder()}, Model: modelFunc(func(req *troupe.Request) turn {
		if len(req.Messages) == 1 {
			return turn{calls: []troupe.ToolCall{call("sum", "add", `{"a":2,"b":3}`)}}
		}
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
	if len(bob[0]) != 3 || len(bob[0][0].Parts) != 1 || !strings.Contains(bob[0][0].Text, "they want tea") {
		t.Errorf("bob was handed %+v", bob[0][0])
	}
	last := bob[2]
	if len(last) != 7 || last[2].Text != `{"sum":5}` || last[3].Text != "bob's answer 1" || last[4].Text != "And with milk?" || last[6].Text != "Thanks." || len(last[0].Parts) != 1 {
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
