package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

type forecast struct {
	City  string   `json:"city" jsonschema:"the city to look up"`
	Days  int      `json:"days,omitempty" jsonschema:"how many days ahead"`
	Units []string `json:"units,omitempty"`
}

func TestASchemaComesFromTheTypes(t *testing.T) {
	t.Attr("FR", "FR-009")
	tool := troupe.NewTool("forecast", "Looks it up.", func(context.Context, forecast) (map[string]int, error) { return nil, nil }, troupe.RepeatSafe())
	spec := tool.Spec()
	var schema struct {
		Type       string
		Required   []string
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(spec.Input, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Type != "object" || len(schema.Required) != 1 || schema.Required[0] != "city" || schema.Properties["days"].Description != "how many days ahead" {
		t.Errorf("input schema %s", spec.Input)
	}
	if !strings.Contains(string(spec.Output), `"integer"`) || !spec.RepeatSafe || spec.Description != "Looks it up." {
		t.Errorf("spec %+v", spec)
	}
}

func TestAMistakeInATypedToolPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"a bad name": func() {
			troupe.NewTool("no spaces", "", func(context.Context, forecast) (string, error) { return "", nil })
		},
		"no object":   func() { troupe.NewTool("x", "", func(context.Context, int) (string, error) { return "", nil }) },
		"no function": func() { troupe.NewTool("x", "", func(context.Context, func()) (string, error) { return "", nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if value := recover(); value == nil || !strings.HasPrefix(value.(string), "troupe.NewTool: ") {
					t.Errorf("got %v", value)
				}
			}()
			f()
		})
	}
}

func TestARawToolHasTheSchemaItIsGiven(t *testing.T) {
	run := func(_ context.Context, in *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{Content: string(in.Arguments) + in.ID}, nil
	}
	tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: "raw", Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}`)}, run)
	if err != nil {
		t.Fatal(err)
	}
	none, err := troupe.NewRawTool(troupe.ToolSpec{Name: "none"}, run)
	if err != nil {
		t.Fatal(err)
	}
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "raw", `{"n":2}`), call("2", "raw", `{"n":4}`), call("3", "none", "")}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool, none), "go")
	got := map[string]string{}
	for _, r := range bodies[*troupe.ToolReturned](events) {
		got[r.CallID] = r.Content
	}
	if !strings.Contains(got["1"], "/n") || !strings.HasPrefix(got["2"], `{"n":4}`) || !strings.HasPrefix(got["3"], `{}`) || got["2"][7:] == got["3"][2:] {
		t.Errorf("got %v", got)
	}
	for spec, says := range map[*troupe.ToolSpec]string{
		{Name: "bad", Input: json.RawMessage(`{"type":"dict"}`)}: "tool bad",
		{Name: "a b"}:                   "a tool's name",
		{Name: strings.Repeat("x", 65)}: "a tool's name",
	} {
		if _, err := troupe.NewRawTool(*spec, run); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", spec.Name, err)
		}
	}
}

func TestAnAgentIsCheckedWhenItIsMade(t *testing.T) {
	t.Attr("FR", "FR-001 FR-003")
	model := inTurn(t)
	for says, c := range map[string]troupe.AgentConfig{
		"needs an ID":              {Model: model},
		"needs a Model":            {ID: "a"},
		"tool add is there":        {ID: "a", Model: model, Tools: []troupe.Tool{adder(), adder()}},
		"tool 0 is nil":            {ID: "a", Model: model, Tools: []troupe.Tool{nil}},
		"not among its":            {ID: "a", Model: model, Allow: []string{"add"}},
		"is negative":              {ID: "a", Model: model, Window: -1},
		"-1 of Price.Input":        {ID: "a", Model: model, Price: troupe.Price{Input: -1}},
		"NaN of Price.Output":      {ID: "a", Model: model, Price: troupe.Price{Output: math.NaN()}},
		"+Inf of Price.CacheWrite": {ID: "a", Model: model, Price: troupe.Price{CacheWrite: math.Inf(1)}},
		"Price.Above 1: -2 of Pr":  {ID: "a", Model: model, Price: troupe.Price{Input: 1, Above: []troupe.Price{{Tokens: 5, CachedInput: -2}}}},
		"is not a number":          {ID: "a", Model: model, Price: troupe.Price{Input: 1}, Limits: troupe.Limits{Cost: math.NaN()}},
		"MaxTokens -1":             {ID: "a", Model: model, Params: troupe.Params{MaxTokens: new(-1)}},
		"both Instructions ":       {ID: "a", Model: model, Instructions: "x", Context: func(context.Context, *troupe.Run) ([]troupe.ContextLoaded, error) { return nil, nil }},
	} {
		if _, err := troupe.NewAgent(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error that says %q, got %v", says, err)
		}
	}
}

func TestOnlyWhatIsSetIsSent(t *testing.T) {
	t.Attr("FR", "FR-002")
	var got []*troupe.Params
	model := modelFunc(func(req *troupe.Request) turn { got = append(got, req.Params); return turn{text: "ok"} })
	engine := newEngine(t, troupe.Config{})
	mustAnswer(t, engine, agentWith(t, troupe.AgentConfig{ID: "a", Model: model}), "go")
	mustAnswer(t, engine, agentWith(t, troupe.AgentConfig{ID: "a", Model: model, Params: troupe.Params{Temperature: new(0.0)}}), "go")
	if got[0] != nil || got[1] == nil || *got[1].Temperature != 0 || got[1].MaxTokens != nil {
		t.Errorf("sent %+v", got)
	}
}

func TestTheModelIsOfferedWhatTheAgentMayUseAndNoMore(t *testing.T) {
	t.Attr("FR", "FR-003 FR-004")
	model := modelFunc(func(req *troupe.Request) turn {
		var names []string
		for _, s := range req.Tools.Specs() {
			names = append(names, s.Name)
		}
		return turn{text: strings.Join(names, ",")}
	})
	agent := agentWith(t, troupe.AgentConfig{ID: "a", Model: model, Tools: []troupe.Tool{failing("x", errBoom), adder(), failing("y", errBoom)}, Allow: []string{"y", "add"}})
	if _, end := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "go"); end.Output.Summary != "add,y" {
		t.Errorf("offered %s", end.Output.Summary)
	}
}

// What Brief returns is told to the model, recorded, and not asked for again.
func TestABriefingIsLoadedOnceAndStays(t *testing.T) {
	loads := 0
	brief := func(_ context.Context, run *troupe.Run) ([]troupe.ContextLoaded, error) {
		loads++
		return []troupe.ContextLoaded{
			{Source: "prompt", Content: "You are Alex of " + run.Session()[:4]},
			{Source: "config.yaml", Role: troupe.RoleSystem, Content: "name: Ada"},
		}, nil
	}
	model := modelFunc(func(req *troupe.Request) turn {
		if len(req.Messages) < 3 || req.Messages[0].Role != troupe.RoleSystem || req.Messages[1].Text != "name: Ada" || !req.Messages[1].Pinned {
			t.Errorf("the model got %d messages, the first: %+v", len(req.Messages), req.Messages[0])
		}
		return turn{text: "hello"}
	})
	agent := agentWith(t, troupe.AgentConfig{ID: "alex", Model: model, Context: brief})
	store := troupe.NewMemoryStore()
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), agent, "hi")
	session := events[0].Session
	for range 2 {
		if _, _, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: session, Text: "again"}); err != nil {
			t.Fatal(err)
		}
	}
	if loads != 1 || countOf[*troupe.ContextLoaded](collect(t, store, session)) != 2 {
		t.Errorf("loaded %d times", loads)
	}
	log := stored(events)
	for cut := 1; cut < len(log); cut++ {
		loads = 0
		cutStore := troupe.NewMemoryStore()
		if err := cutStore.Append(t.Context(), session, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		if _, _, err := gather(newEngine(t, troupe.Config{Store: cutStore}).Resume(t.Context(), agent, session)); err != nil {
			t.Fatalf("cut after %d: %v", cut, err)
		}
		if all := countOf[*troupe.ContextLoaded](log[:cut]) == 2; all != (loads == 0) {
			t.Errorf("cut after %d: loaded %d times", cut, loads)
		}
		if n := countOf[*troupe.ContextLoaded](collect(t, cutStore, session)); n != 2 {
			t.Errorf("cut after %d: %d loads on record", cut, n)
		}
	}
	fails := agentWith(t, troupe.AgentConfig{ID: "alex", Model: inTurn(t), Context: func(context.Context, *troupe.Run) ([]troupe.ContextLoaded, error) {
		return nil, errors.New("critical action failed")
	}})
	if _, _, err := play(t, newEngine(t, troupe.Config{}), fails, troupe.Input{Text: "hi"}); err == nil || !strings.Contains(err.Error(), "critical action failed") {
		t.Errorf("got %v", err)
	}
}

func TestResultsReachTheModelAsTheyAre(t *testing.T) {
	tool := troupe.NewTool("page", "", func(context.Context, struct{}) (map[string]string, error) {
		return map[string]string{"html": "<b>a & b</b>", "bell": "\x07"}, nil
	})
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "page", "{}")}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
	if got := bodies[*troupe.ToolReturned](events)[0].Content; got != `{"bell":"\u0007","html":"<b>a & b</b>"}` {
		t.Errorf("the model was told %s", got)
	}
}

// A typed tool may see the call it answers, and use its run.
func TestATypedToolMayUseItsRun(t *testing.T) {
	tool := troupe.NewToolWithCall("save", "Saves.", func(ctx context.Context, call *troupe.Invocation, in forecast) (string, error) {
		return call.ID + " in " + call.Run.Session(), call.Run.Emit(ctx, &troupe.ArtifactSaved{Path: in.City})
	})
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("c7", "save", `{"city":"Oslo"}`)}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
	saved, returned := bodies[*troupe.ArtifactSaved](events), bodies[*troupe.ToolReturned](events)
	if len(saved) != 1 || saved[0].Path != "Oslo" || !strings.HasSuffix(returned[0].Content, " in "+events[0].Session) {
		t.Errorf("got %s", render(events))
	}
}

// An agent that takes over a conversation is told what it must know, and not what
// the one before it had to.
func TestAnAgentThatTakesOverHasItsOwnBriefing(t *testing.T) {
	var got []string
	agent := func(name string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(req *troupe.Request) turn {
			got = nil
			for _, m := range req.Messages {
				got = append(got, m.Text)
			}
			return turn{text: name + " answers"}
		}), Context: func(context.Context, *troupe.Run) ([]troupe.ContextLoaded, error) {
			return []troupe.ContextLoaded{{Source: "prompt", Content: "you are " + name}, {Source: "file", Content: "the file of " + name}}, nil
		}})
	}
	for _, reopened := range []bool{false, true} {
		store := troupe.NewMemoryStore()
		engine := newEngine(t, troupe.Config{Store: store})
		events, _ := mustAnswer(t, engine, agent("ann"), "one")
		if reopened {
			engine = newEngine(t, troupe.Config{Store: store})
		}
		for _, text := range []string{"two", "three"} {
			if _, _, err := play(t, engine, agent("bob"), troupe.Input{Session: events[0].Session, Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"you are bob", "the file of bob", "one", "ann answers", "two", "bob answers", "three"}
		if !slices.Equal(got, want) {
			t.Errorf("reopened %v: the model got %q", reopened, got)
		}
	}
}

func TestABareAgentOnlyThinks(t *testing.T) {
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		return turn{text: fmt.Sprint(req.Tools.Len(), " tools, ", req.Messages[0].Text)}
	}), adder())
	_, end := mustAnswer(t, newEngine(t, troupe.Config{}), agent.WithoutTools(), "hi")
	if end.Output.Summary != "0 tools, You are a clerk." {
		t.Errorf("got %s", end.Output.Summary)
	}
}
