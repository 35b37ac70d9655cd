package troupe_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// A limit of a run ends the flow that it is of: what is there by then is the outcome, it
// is named by the limit, and no further model is asked, however many steps there are.
func TestALimitOfTheRunEndsAFlow(t *testing.T) {
	member := func(id string) *troupe.Agent { // each answer costs a cent and 110 tokens
		return agentWith(t, troupe.AgentConfig{
			ID: id, Price: troupe.Price{Input: 100},
			Model: modelFunc(func(*troupe.Request) turn {
				return turn{text: id + " says: not yet", usage: troupe.Usage{Input: 100, Output: 10}}
			}),
		})
	}
	var twenty []troupe.Step
	for i := range 20 {
		twenty = append(twenty, member(fmt.Sprint("s", i)))
	}
	must := func(step troupe.Step, err error) troupe.Step {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
	never := func(troupe.Handoff) (bool, error) { return false, nil }
	for name, step := range map[string]troupe.Step{
		"sequence":          flow.Sequence("q", twenty...),
		"loop":              must(flow.NewLoop(flow.LoopConfig{Name: "l", Body: member("a"), Until: never, MaxRounds: 20})),
		"loop with a judge": must(flow.NewLoop(flow.LoopConfig{Name: "l", Body: member("a"), Check: member("judge"), MaxRounds: 20})),
		"group chat":        must(flow.NewGroupChat(flow.GroupChatConfig{Name: "g", Members: []troupe.Step{member("a"), member("b")}, Turns: 20})),
		"parallel":          must(flow.NewParallel(flow.ParallelConfig{Name: "p", Steps: twenty, MaxParallel: 1})),
		"nested":            flow.Sequence("n", flow.Sequence("q", twenty...), must(flow.NewLoop(flow.LoopConfig{Name: "l", Body: member("a"), Until: never, MaxRounds: 20}))),
	} {
		for stop, limits := range map[string]troupe.Limits{"cost": {Cost: 0.03}, "turns": {Turns: 3}, "tokens": {Tokens: 330}} {
			t.Run(name+" by "+stop, func(t *testing.T) {
				engine := newEngine(t, troupe.Config{})
				events, end, err := play(t, engine, step, troupe.Input{Text: "go", Limits: limits})
				if err != nil || end == nil {
					t.Fatal(err)
				}
				spent := end.Spent.Add(end.SpentBelow)
				if spent.Turns != 3 || end.Stop != stop || end.Output.Meta.Status != "partial" || !strings.Contains(end.Output.Summary, "says: not yet") {
					t.Errorf("after %d turns it ended with %q, %q: %q", spent.Turns, end.Stop, end.Output.Meta.Status, end.Output.Summary)
				}
				if name == "parallel" && (!strings.Contains(end.Output.Summary, "(not begun: the run's limit on "+stop+" is reached)") || len(end.Output.Outputs) != 3) {
					t.Errorf("%d outputs: %s", len(end.Output.Outputs), end.Output.Summary)
				}
				// Killed anywhere, it comes to the same.
				log := stored(events)
				for cut := 1; cut < len(log); cut++ {
					store := troupe.NewMemoryStore()
					if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
						t.Fatal(err)
					}
					_, again, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, log[0].Session))
					if err != nil || again.Stop != stop || again.Spent.Add(again.SpentBelow).Turns != 3 || again.Output.Summary != end.Output.Summary {
						t.Fatalf("cut after event %d: %+v, %v", cut, again, err)
					}
				}
			})
		}
	}
}

// A provider that does not say what an answer took is bounded all the same: by an estimate,
// which says that it is one.
func TestLimitsHoldWhereNobodySaysWhatWasUsed(t *testing.T) {
	for stop, limits := range map[string]troupe.Limits{"tokens": {Tokens: 500}, "cost": {Cost: 0.0005}} {
		asked := 0
		endless := modelFunc(func(*troupe.Request) turn {
			asked++
			return turn{calls: []troupe.ToolCall{call(fmt.Sprint(asked), "look", fmt.Sprintf(`{"n":%d}`, asked))}}
		})
		look := troupe.NewTool("look", "Looks.", func(_ context.Context, in struct{ N int }) (string, error) {
			return strings.Repeat("what there is to see ", 10), nil
		})
		agent := agentWith(t, troupe.AgentConfig{ID: "a", Model: endless, Tools: []troupe.Tool{look}, Price: troupe.Price{Input: 1, Output: 1}})
		events, end, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go", Limits: limits})
		if err != nil || end.Stop != stop || asked > 20 {
			t.Errorf("%s: after %d answers it ended with %q, %v", stop, asked, end.Stop, err)
		}
		for _, e := range events {
			if b, ok := e.Body.(*troupe.ModelReplied); ok && (!b.Estimated || b.Usage.Total() == 0 || b.Cost == 0) {
				t.Errorf("%s: %+v", stop, b)
			}
		}
	}
}

// An agent that is called as a tool is not begun where a limit leaves its caller nothing but
// a last answer; and where its time is up, its caller has some left to say so.
func TestAnAgentAsAToolLeavesItsCallerALastAnswer(t *testing.T) {
	boss := func(expert troupe.Model) troupe.Step {
		return agentWith(t, troupe.AgentConfig{ID: "boss", Model: modelFunc(func(req *troupe.Request) turn {
			if req.Tools == nil {
				return turn{text: "what I have"}
			}
			return turn{calls: []troupe.ToolCall{call(fmt.Sprint(len(req.Messages)), "expert", fmt.Sprintf(`{"task":"q%d"}`, len(req.Messages)))}, usage: troupe.Usage{Output: 100}}
		}), Tools: []troupe.Tool{troupe.AsTool(agentWith(t, troupe.AgentConfig{ID: "expert", Model: expert}), "Knows.")}})
	}
	for stop, limits := range map[string]troupe.Limits{"turns": {Turns: 5}, "tokens": {Tokens: 450}} {
		begun := 0
		expert := modelFunc(func(*troupe.Request) turn {
			begun++
			return turn{text: "so", usage: troupe.Usage{Output: 100}}
		})
		_, end, err := play(t, newEngine(t, troupe.Config{}), boss(expert), troupe.Input{Text: "go", Limits: limits})
		if err != nil || end.Stop != stop || end.Output.Summary != "what I have" || begun != 2 {
			t.Errorf("%s: %v, %+v, the expert was asked %d times", stop, err, end, begun)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{500 * time.Millisecond, 2 * time.Second, time.Minute} {
			began := time.Now()
			_, end, err := play(t, newEngine(t, troupe.Config{}), boss(hang{}), troupe.Input{Text: "go", Limits: troupe.Limits{Time: limit}})
			if err != nil || end.Stop != "time" || end.Output.Summary != "what I have" || time.Since(began) > limit {
				t.Errorf("%s: %v, %+v after %s", limit, err, end, time.Since(began))
			}
		}
		// Even its own model has nothing to say in time.
		mute := agentWith(t, troupe.AgentConfig{ID: "mute", Model: hang{}})
		_, end, err := play(t, newEngine(t, troupe.Config{}), agentWith(t, troupe.AgentConfig{ID: "boss", Model: oneCall{"mute"}, Tools: []troupe.Tool{troupe.AsTool(mute, "Says nothing.")}}), troupe.Input{Text: "go", Limits: troupe.Limits{Time: time.Second}})
		if err != nil || end.Stop != "time" || !strings.Contains(end.Output.Summary, "I had to stop") {
			t.Errorf("%v, %+v", err, end)
		}
	})
}

// oneCall is a model that calls a tool and then never answers.
type oneCall struct{ tool string }

func (m oneCall) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	if len(req.Messages) > 1 {
		return hang{}.Generate(ctx, req)
	}
	return modelFunc(func(*troupe.Request) turn {
		return turn{calls: []troupe.ToolCall{call("1", m.tool, `{"task":"x"}`)}}
	}).Generate(ctx, req)
}
