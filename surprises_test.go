package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// What surprised somebody who used the library for the first time. Each test says what
// was expected, and failed when it was written.

func surprised(id string, turns ...troupetest.Turn) *troupe.Agent {
	return orPanic(troupe.NewAgent(troupe.AgentConfig{ID: id, Model: troupetest.NewScript(nil, turns...)}))
}

// 1. A value that fits the schema and not the Go type is corrected like any other misfit.
func TestAnAnswerThatIsNoTIsCorrected(t *testing.T) {
	type meeting struct {
		When time.Time `json:"when"`
	}
	agent := surprised("a", troupetest.Say(`{"when":"tomorrow"}`), troupetest.Say(`{"when":"2026-01-02T03:04:05Z"}`))
	got, _, err := troupe.Ask[meeting](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "?"})
	if err != nil || got.When.Year() != 2026 {
		t.Errorf("got %v, %v", got, err)
	}
}

// 2. json.RawMessage is any JSON, not a list of bytes.
func TestRawJSONInATypeIsAnyJSON(t *testing.T) {
	type any struct {
		Data json.RawMessage `json:"data"`
	}
	agent := surprised("a", troupetest.Say(`{"data":{"x":1}}`).Forever())
	got, _, err := troupe.Ask[any](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "?"})
	if err != nil || string(got.Data) != `{"x":1}` {
		t.Errorf("got %s, %v", got.Data, err)
	}
}

// 3. A required list with minItems cannot be null.
func TestARequiredListIsNotNull(t *testing.T) {
	type list struct {
		Items []string `json:"items" minItems:"1"`
	}
	agent := surprised("a", troupetest.Say(`{"items":null}`), troupetest.Say(`{"items":["x"]}`))
	got, _, err := troupe.Ask[list](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "?"})
	if err != nil || len(got.Items) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// 4. The last answer at a limit counts if it fits.
func TestAFittingLastAnswerAtALimitIsAValue(t *testing.T) {
	look := troupe.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "x", nil })
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "a", Tools: []troupe.Tool{look}, Limits: troupe.Limits{Turns: 1},
		Model: troupetest.NewScript(nil, troupetest.Call("look", `{}`), troupetest.Say(`{"answer":9}`)),
	}))
	got, outcome, err := troupe.Ask[int](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "?"})
	if err != nil || got != 9 || outcome.Stop != "turns" {
		t.Errorf("got %d, stop %q, %v", got, outcome.Stop, err)
	}
}

// 5. The outcome of a failed run says what it spent, from Collect as from Handle.Wait.
func TestAFailedRunSaysWhatItSpent(t *testing.T) {
	look := troupe.NewTool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "x", nil })
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "a", Tools: []troupe.Tool{look}, Price: troupe.Price{Input: 1, Output: 1},
		Model: troupetest.NewScript(nil, troupetest.Call("look", `{}`).Using(troupe.Usage{Input: 1000, Output: 10}), troupetest.Fail(errors.New("boom"))),
	}))
	outcome, err := troupe.Collect(newEngine(t, troupe.Config{}).Run(t.Context(), agent, troupe.Input{Text: "go"}))
	if err == nil || outcome.Spent.Usage.Input != 1000 || outcome.Spent.Cost == 0 {
		t.Errorf("spent %+v, %v", outcome.Spent, err)
	}
}

// 6. An answer where nothing was asked is an error, also without a session.
func TestAnAnswerToNothingIsRefused(t *testing.T) {
	agent := surprised("a", troupetest.Say("yes?").Forever())
	_, err := troupe.Collect(newEngine(t, troupe.Config{}).Run(t.Context(), agent, troupe.Input{Answer: &troupe.Answer{Approved: true}}))
	if !errors.Is(err, troupe.ErrNoQuestion) {
		t.Errorf("got %v", err)
	}
}

// 7. A step whose code now calls another tool does not get the old one's result.
func TestAnotherToolAtARecordedCallIsAChange(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	step := func(name string, err error) troupe.Step {
		return troupe.NewStep("s", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			tool := troupe.NewTool(name, "x", func(context.Context, struct{}) (string, error) { return name, nil })
			result, callErr := run.Call(ctx, tool, struct{}{})
			return troupe.Handoff{Summary: result.Content}, errors.Join(callErr, err)
		})
	}
	outcome, _ := troupe.Collect(engine.Run(t.Context(), step("read", errors.New("boom")), troupe.Input{Text: "x"}))
	outcome, err := troupe.Collect(engine.Resume(t.Context(), step("delete", nil), outcome.Session))
	if !errors.Is(err, troupe.ErrChanged) {
		t.Errorf("got %q, %v", outcome.Text, err)
	}
}

// 8. A session that was answered and not yet resumed does not run.
func TestAnAnsweredSessionDoesNotRunYet(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	ask := troupe.NewToolWithCall("ask", "Asks.", func(_ context.Context, call *troupe.Invocation, _ struct{}) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: "ok?", CallAgain: true}
		}
		return "thanks", nil
	})
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "a", Tools: []troupe.Tool{ask}, Model: troupetest.NewScript(nil, troupetest.Call("ask", `{}`))}))
	outcome := orPanic(troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "go"})))
	if err := engine.Answer(t.Context(), outcome.Session, outcome.Handoff.Meta.Asked, troupe.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	for info, err := range engine.Sessions(t.Context(), troupe.SessionFilter{ID: outcome.Session}) {
		if err != nil || info.Status == "running" {
			t.Errorf("status %s, %v", info.Status, err)
		}
	}
}

// 9. Running no step at all is an error in words, from inside a step too.
func TestRunningNoStepIsSaidInWords(t *testing.T) {
	router := troupe.NewStep("router", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return run.Do(ctx, map[string]troupe.Step{}[in.Task], in)
	})
	_, err := troupe.Collect(newEngine(t, troupe.Config{}).Run(t.Context(), router, troupe.Input{Text: "x"}))
	if err == nil || strings.Contains(err.Error(), "nil pointer") {
		t.Errorf("got %v", err)
	}
}

// 10. The same idempotency key is the same run.
func TestTheSameKeyIsTheSameRun(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	agent := surprised("a", troupetest.Say("1"), troupetest.Say("2"))
	first := orPanic(troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "hi", IdempotencyKey: "k"})))
	second := orPanic(troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "hi", IdempotencyKey: "k"})))
	if first.Run != second.Run {
		t.Errorf("two runs: %q and %q", first.Text, second.Text)
	}
}

// 11. A limit in money on a model whose price nobody knows is an error, not a limit that
// does nothing (decision 27).
func TestAMoneyLimitNeedsAPrice(t *testing.T) {
	engine := newEngine(t, troupe.Config{Limits: troupe.Limits{Cost: 0.01}})
	if outcome, err := troupe.Collect(engine.Run(t.Context(), surprised("a", troupetest.Say("x")), troupe.Input{Text: "x"})); err == nil {
		t.Errorf("it answered %q at an unknown price", outcome.Text)
	}
}
