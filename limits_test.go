package troupe_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// busy is a model that never stops of itself: it calls a tool with other
// arguments every time, until it is offered none.
func busy(usage troupe.Usage, last string) modelFunc {
	n := 0
	return func(req *troupe.Request) turn {
		if req.Tools == nil {
			return turn{text: last, usage: usage}
		}
		n++
		return turn{text: fmt.Sprint("step ", n), calls: []troupe.ToolCall{call("c", "add", fmt.Sprintf(`{"a":%d,"b":0}`, n))}, usage: usage}
	}
}

func TestEveryLimitEndsInAnAnswerThatSaysWhich(t *testing.T) {
	t.Attr("FR", "FR-035")
	usage := troupe.Usage{Input: 900, Output: 100}
	cases := []struct {
		limits troupe.Limits
		stop   string
		turns  int
		words  string
	}{
		{troupe.Limits{}, "turns", 51, "all 50 turns of this run are used up"},
		{troupe.Limits{Turns: 3}, "turns", 4, "all 3 turns of this run are used up"},
		{troupe.Limits{ToolCalls: 4}, "tool_calls", 5, "all 4 tool calls of this run are used up"},
		{troupe.Limits{Tokens: 5000}, "tokens", 6, "the 5000 tokens of this run are used up"},
		{troupe.Limits{Cost: 0.01}, "cost", 6, "the 0.01 US dollars of this run are spent"},
	}
	for _, c := range cases {
		for _, last := range []string{"what I have", ""} {
			t.Run(fmt.Sprintf("%s %d %q", c.stop, c.turns, last), func(t *testing.T) {
				agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Model: busy(usage, last), Tools: []troupe.Tool{adder()}, Price: troupe.Price{Input: 1, Output: 11}})
				events, end, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: c.limits})
				if err != nil {
					t.Fatal(err)
				}
				if end.Stop != c.stop || end.Output.Meta.Stop != c.stop || end.Output.Meta.Status != "partial" || end.Spent.Turns != c.turns {
					t.Errorf("ended with %+v", end)
				}
				if last != "" && end.Output.Summary != last {
					t.Errorf("answer %q", end.Output.Summary)
				}
				// A model that has no closing words is spoken for, in words for people.
				spoken := "(I had to stop before I was done: " + c.words + ". The model gave no closing answer. The last thing said was: step "
				if last == "" && !strings.HasPrefix(end.Output.Summary, spoken) {
					t.Errorf("answer %q", end.Output.Summary)
				}
				if end.Spent.Usage.Total() != 1000*c.turns || end.Spent.Cost < 0.0019*float64(c.turns) {
					t.Errorf("spent %+v", end.Spent)
				}
				if n := countOf[*troupe.ToolCalled](events); n != c.turns-1 {
					t.Errorf("%d calls", n)
				}
			})
		}
	}
}

// A limit below a cent is not said to be none.
func TestASmallMoneyLimitIsNamedAsItIs(t *testing.T) {
	agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Model: busy(troupe.Usage{Input: 1000}, "done"), Tools: []troupe.Tool{adder()}, Price: troupe.Price{Input: 1, Output: 1}})
	events, _, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: troupe.Limits{Cost: 0.003}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if limit, ok := e.Body.(*troupe.LimitReached); ok {
			if !strings.Contains(limit.Message, "The 0.003 US dollars") {
				t.Errorf("%+v", limit)
			}
			return
		}
	}
	t.Error("no limit was reached")
}

// What the model is told is not what a person reads, and the model is told the same
// by the log.
func TestALimitIsToldToPeopleInWordsForThem(t *testing.T) {
	var told []string
	model := modelFunc(func(req *troupe.Request) turn {
		last := req.Messages[len(req.Messages)-1].Text
		for _, m := range req.Messages {
			if strings.HasPrefix(m.Text, "[Notice] ") {
				told = append(told, m.Text)
			}
		}
		if req.Tools == nil || last == "and then?" {
			return turn{text: "as far as I came"}
		}
		return turn{calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":0}`)}}
	})
	agent := newAgent(t, model, adder())
	events, _, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: troupe.Limits{Turns: 1}})
	if err != nil {
		t.Fatal(err)
	}
	limits := bodies[*troupe.LimitReached](events)
	if len(limits) != 1 || limits[0].Message != "The 1 turn of this run is used up; the agent answers with what it has." {
		t.Fatalf("%+v", limits)
	}
	goOn := func() {
		store, log := troupe.NewMemoryStore(), stored(events)
		if err := store.Append(t.Context(), log[0].Session, log...); err != nil {
			t.Fatal(err)
		}
		if _, _, err := play(t, newEngine(t, troupe.Config{Store: store}), agent, troupe.Input{Session: log[0].Session, Text: "and then?"}); err != nil {
			t.Fatal(err)
		}
	}
	goOn()
	const want = "[Notice] No more tools can be called: the 1 turn of this run is used up. Answer now with what you have, and say what is missing."
	if len(told) != 2 || told[0] != want || told[1] != want {
		t.Errorf("the model was told %q", told)
	}
	limits[0].Message, limits[0].Notice = "No more tools.", "" // as in older logs
	goOn()
	if len(told) != 3 || told[2] != "[Notice] No more tools." {
		t.Errorf("the model was told %q", told)
	}
}

// A limit is checked between answers: one that goes past it is the last one, and people
// are told what it has cost.
func TestAnAnswerThatCostsMoreThanTheLimitIsToldOf(t *testing.T) {
	for _, c := range []struct {
		limit float64
		want  string
	}{{0.1, "This run has cost $2.0000, and may cost $0.10: a limit is checked between answers, and one answer went past it."}, {2, ""}, {3, ""}} {
		agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Model: modelFunc(func(*troupe.Request) turn { return turn{text: "dear", usage: troupe.Usage{Input: 2e6}} }), Price: troupe.Price{Input: 1}})
		for name, step := range map[string]troupe.Step{"an agent": agent, "a flow": flow.Sequence("flow", agent)} {
			events, end, err := play(t, newEngine(t, troupe.Config{}), step, troupe.Input{Text: "go", Limits: troupe.Limits{Cost: c.limit}})
			if err != nil || end.Stop != "answered" {
				t.Fatalf("%s: %+v, %v", name, end, err)
			}
			told := ""
			for _, w := range bodies[*troupe.Warned](events) {
				told += w.Code + " " + w.Message
			}
			if want := strings.TrimSpace("cost_exceeded " + c.want); c.want != "" && told != want || c.want == "" && told != "" {
				t.Errorf("%s, limit %v: %q", name, c.limit, told)
			}
		}
	}
}

// moody withholds its answers, which are paid for, and has another model asked, which
// answers.
type moody struct {
	asked int
	cost  float64
}

func (m *moody) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if m.asked++; m.asked > 1 {
			yield(troupe.Chunk{Text: "here you are", End: &troupe.End{Finish: troupe.FinishStop, Usage: troupe.Usage{Input: 10}}}, nil)
			return
		}
		cause := &troupe.ModelError{Reason: "refused", Message: "withheld", End: &troupe.End{Usage: troupe.Usage{Input: 1000, Output: 500}, Cost: &m.cost, Model: "m-1"}}
		passing := *cause
		passing.Temporary, passing.Elsewhere, passing.Message, passing.Err = true, true, "b is asked instead", cause
		yield(troupe.Chunk{}, &passing)
	}
}

// An answer that was withheld is paid for: it counts, and where it takes the rest of
// what a run may cost no other model is asked. A log says the same again.
func TestAnAnswerThatCameToNothingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name   string
			cost   float64
			limits troupe.Limits
			stop   string
			asked  int
		}{
			{"cheap", 0.01, troupe.Limits{Cost: 1}, "answered", 2},
			{"dear", 2, troupe.Limits{Cost: 1}, "cost", 1},
			{"dear in the last turn", 2, troupe.Limits{Cost: 1, Turns: 1}, "cost", 1},
			{"long", 0.01, troupe.Limits{Tokens: 1500}, "tokens", 1},
		} {
			model := &moody{cost: c.cost}
			agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Model: model, Price: troupe.Price{Input: 1, Output: 1}})
			events, end, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: c.limits})
			if err != nil || end.Stop != c.stop || model.asked != c.asked {
				t.Fatalf("%s: %+v, %v; asked %d times", c.name, end, err, model.asked)
			}
			if end.Spent.Cost < c.cost || end.Spent.Usage.Output != 500 || end.Spent.Usage.Input < 1000 {
				t.Errorf("%s: spent %+v", c.name, end.Spent)
			}
			failed := bodies[*troupe.ModelFailed](events)
			if len(failed) != 1 || failed[0].Cost != c.cost || failed[0].Usage.Input != 1000 || failed[0].Model != "m-1" || (failed[0].RetryIn > 0) != (c.asked > 1) {
				t.Errorf("%s: %+v", c.name, failed)
			}
			if isTold := strings.Contains(failed[0].Error, "b is asked instead"); isTold != (c.asked > 1) {
				t.Errorf("%s: %s", c.name, failed[0].Error)
			}
			if limits := bodies[*troupe.LimitReached](events); (len(limits) == 1) != (c.asked == 1) || len(limits) == 1 && !strings.Contains(limits[0].Message, "no model is asked any more") {
				t.Errorf("%s: %+v", c.name, limits)
			}
			var sums []troupe.DayCost
			log := stored(events)
			for i := range log {
				sums = log[i].AddCost(sums)
			}
			if len(sums) != 1 || sums[0].Cost < c.cost {
				t.Errorf("%s: costs %+v", c.name, sums)
			}
			for cut := 1; cut < len(log); cut++ {
				store := troupe.NewMemoryStore()
				if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
					t.Fatal(err)
				}
				again := &moody{cost: c.cost}
				_, resumed, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), agentWith(t, troupe.AgentConfig{ID: "clerk", Model: again, Price: troupe.Price{Input: 1, Output: 1}}), log[0].Session))
				if err != nil || resumed.Stop != c.stop || resumed.Spent.Cost < c.cost {
					t.Errorf("%s, cut after %d: %+v, %v", c.name, cut, resumed, err)
				}
			}
		}
	})
}

func TestCallsBeyondTheLimitAreNotCarriedOut(t *testing.T) {
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		if req.Tools == nil {
			return turn{text: "two of three"}
		}
		return turn{calls: []troupe.ToolCall{call("1", "add", `{"a":1,"b":0}`), call("2", "add", `{"a":2,"b":0}`), call("3", "add", `{"a":3,"b":0}`)}}
	})
	events, end, err := play(t, newEngine(t, troupe.Config{}), newAgent(t, model, adder()), troupe.Input{Text: "go", Limits: troupe.Limits{ToolCalls: 2}})
	if err != nil || end.Stop != "tool_calls" {
		t.Fatalf("%+v, %v", end, err)
	}
	returned := bodies[*troupe.ToolReturned](events)
	refused := 0
	for _, r := range returned {
		if r.Class != "" {
			refused++
		}
	}
	if len(returned) != 3 || refused != 1 {
		t.Errorf("%d outcomes, %d refused", len(returned), refused)
	}
}

func TestNestedAgentsShareTheBudget(t *testing.T) {
	t.Attr("FR", "FR-020")
	expert := agentWith(t, troupe.AgentConfig{ID: "expert", Model: busy(troupe.Usage{Input: 10}, "the expert's best"), Tools: []troupe.Tool{adder()}})
	model := modelFunc(func(req *troupe.Request) turn {
		if req.Tools == nil {
			return turn{text: "what the expert had"}
		}
		return turn{calls: []troupe.ToolCall{call("1", "expert", `{"task":"find out"}`)}}
	})
	agent := newAgent(t, model, troupe.AsTool(expert, "Knows."))
	events, end, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: troupe.Limits{Turns: 5}})
	if err != nil || end.Stop != "turns" || end.Output.Summary != "what the expert had" {
		t.Fatalf("%+v, %v", end, err)
	}
	// One turn of the clerk, four of the expert, and a last one for each.
	if end.Spent.Turns != 2 || end.SpentBelow.Turns != 5 {
		t.Errorf("%d turns, and %d of the expert", end.Spent.Turns, end.SpentBelow.Turns)
	}
	for _, r := range bodies[*troupe.ToolReturned](events) {
		if r.Tool == "expert" && r.Content != "the expert's best" {
			t.Errorf("the expert handed back %q", r.Content)
		}
	}
	for _, e := range events {
		if e.Agent == "expert" && (e.Parent == "" || !strings.HasPrefix(e.Run, e.Parent+":")) {
			t.Errorf("an event of the expert has parent %q and run %q", e.Parent, e.Run)
		}
	}
}

func TestNestingHasAnEnd(t *testing.T) {
	t.Attr("FR", "FR-021 FR-022 FR-038")
	relay := func(tool string) modelFunc {
		return func(req *troupe.Request) turn {
			if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleTool {
				return turn{text: last.Text}
			}
			if req.Tools.Len() == 0 {
				return turn{text: "bottom"}
			}
			return turn{calls: []troupe.ToolCall{call("1", tool, `{"task":"go on"}`)}}
		}
	}
	tower := func(levels int) *troupe.Agent {
		inner := agentWith(t, troupe.AgentConfig{ID: "level0", Model: relay("")})
		for i := 1; i <= levels; i++ {
			inner = agentWith(t, troupe.AgentConfig{ID: fmt.Sprint("level", i), Model: relay(inner.Name()), Tools: []troupe.Tool{troupe.AsTool(inner, "Below.")}})
		}
		return inner
	}
	if _, end := mustAnswer(t, newEngine(t, troupe.Config{}), tower(5), "go"); end.Output.Summary != "bottom" {
		t.Errorf("five levels came to %q", end.Output.Summary)
	}
	if _, end := mustAnswer(t, newEngine(t, troupe.Config{}), tower(6), "go"); !strings.Contains(end.Output.Summary, "nested too deep") || !strings.Contains(end.Output.Summary, "level6 → level5 → level4") {
		t.Errorf("six levels came to %q", end.Output.Summary)
	}
}

func TestACircleIsRefusedBeforeAModelIsAsked(t *testing.T) {
	t.Attr("FR", "FR-038")
	asked := 0
	model := modelFunc(func(req *troupe.Request) turn {
		asked++
		if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleTool {
			return turn{text: last.Text}
		}
		return turn{calls: []troupe.ToolCall{call("1", "b", `{"task":"x"}`)}}
	})
	inner := agentWith(t, troupe.AgentConfig{ID: "a", Model: model})
	b := agentWith(t, troupe.AgentConfig{ID: "b", Tools: []troupe.Tool{troupe.AsTool(inner, "A.")}, Model: modelFunc(func(req *troupe.Request) turn {
		if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleTool {
			return turn{text: last.Text}
		}
		return turn{calls: []troupe.ToolCall{call("1", "a", `{"task":"x"}`)}}
	})})
	a := agentWith(t, troupe.AgentConfig{ID: "a", Model: model, Tools: []troupe.Tool{troupe.AsTool(b, "B.")}})
	_, end := mustAnswer(t, newEngine(t, troupe.Config{}), a, "go")
	if !strings.Contains(end.Output.Summary, "a → b → a") || asked != 2 {
		t.Errorf("a was asked %d times and said %q", asked, end.Output.Summary)
	}
}

func TestALastTurnThatFailsIsSpokenFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := modelFunc(func(req *troupe.Request) turn {
			if req.Tools == nil {
				return turn{err: &troupe.ModelError{Status: 503, Message: "overloaded", Temporary: true}}
			}
			return turn{calls: []troupe.ToolCall{call("c", "add", `{"a":1,"b":1}`)}}
		})
		_, end, err := play(t, newEngine(t, troupe.Config{}), newAgent(t, model, adder()), troupe.Input{Text: "go", Limits: troupe.Limits{Turns: 1}})
		if err != nil || end.Stop != "turns" || end.Output.Summary == "" {
			t.Errorf("%+v, %v", end, err)
		}
	})
}
