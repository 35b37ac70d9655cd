package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// What is gone over again must ask the same: an answer on record is not that to another
// question.
func TestAStepThatIsGivenSomethingElseIsNotGivenTheOldAnswer(t *testing.T) {
	reviewer := agentWith(t, troupe.AgentConfig{ID: "reviewer", Model: modelFunc(func(req *troupe.Request) turn {
		return turn{text: "review of " + req.Messages[len(req.Messages)-1].Text}
	})})
	look := troupe.NewTool("look", "Looks.", func(_ context.Context, in struct {
		File string `json:"file"`
	}) (string, error) {
		return "seen " + in.File, nil
	}, troupe.ReadOnly())
	does := map[string]func(ctx, *troupe.Run, string) (string, error){
		"a step": func(ctx ctx, run *troupe.Run, file string) (string, error) {
			out, err := run.Do(ctx, reviewer, troupe.Handoff{Task: file})
			return out.Summary, err
		},
		"a tool": func(ctx ctx, run *troupe.Run, file string) (string, error) {
			out, err := run.Call(ctx, look, map[string]string{"file": file})
			return out.Content, err
		},
	}
	for name, do := range does {
		t.Run(name, func(t *testing.T) {
			order := []string{"a.go", "b<&>\xff.go", "c.go"}
			stop := errors.New("stop")
			step := troupe.NewStep("all", func(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
				var got []string
				for i, file := range order {
					if i == 2 && stop != nil {
						return troupe.Handoff{}, stop
					}
					out, err := do(ctx, run, file)
					if err != nil {
						return troupe.Handoff{}, err
					}
					got = append(got, out)
				}
				return troupe.Handoff{Summary: strings.Join(got, ", ")}, nil
			}, reviewer)
			store := troupe.NewMemoryStore()
			events, _, err := play(t, newEngine(t, troupe.Config{Store: store}), step, troupe.Input{Text: "go"})
			if !errors.Is(err, stop) {
				t.Fatal(err)
			}
			stop = nil
			order[0], order[1] = order[1], order[0]
			_, _, err = gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, events[0].Session))
			if !errors.Is(err, troupe.ErrChanged) || !strings.Contains(err.Error(), "a.go") || !strings.Contains(err.Error(), "b<&>") {
				t.Errorf("in another order: %v", err)
			}
			order[0], order[1] = order[1], order[0]
			_, end, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, events[0].Session))
			if err != nil || strings.Count(end.Output.Summary, ".go") != 3 {
				t.Errorf("in the same order: %v, %v", end, err)
			}
		})
	}
}

// A branch that uses the run around it is told so: places would be mixed up.
func TestABranchThatUsesTheRunAroundItIsToldSo(t *testing.T) {
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "ok"} }))
	uses := map[string]func(ctx, *troupe.Run) error{
		"Do": func(ctx ctx, run *troupe.Run) error {
			_, err := run.Do(ctx, agent, troupe.Handoff{Task: "x"})
			return err
		},
		"Note": func(ctx ctx, run *troupe.Run) error { return run.Note(ctx, "x", 1) },
		"Call": func(ctx ctx, run *troupe.Run) error {
			_, err := run.Call(ctx, adder(), map[string]int{"a": 1, "b": 2})
			return err
		},
		"Ask": func(ctx ctx, run *troupe.Run) error { _, err := run.Ask(ctx, agent, &troupe.Request{}); return err },
		"All": func(ctx ctx, run *troupe.Run) error {
			return errors.Join(run.All(ctx, 0, func(context.Context, *troupe.Run) error { return nil })...)
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			step := troupe.NewStep("all", func(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
				return troupe.Handoff{}, errors.Join(run.All(ctx, 0, func(ctx context.Context, _ *troupe.Run) error { return use(ctx, run) })...)
			}, agent)
			if _, _, err := play(t, newEngine(t, troupe.Config{}), step, troupe.Input{Text: "go"}); err == nil || !strings.Contains(err.Error(), "it has one of its own") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An agent that could not be made is no step, whatever type its nil has; and what panics
// before a run has begun leaves nothing that Close would wait for.
func TestWhatIsNoStepIsToldAndNothingStays(t *testing.T) {
	none, err := troupe.NewAgent(troupe.AgentConfig{ID: "none"})
	if err == nil {
		t.Fatal("an agent without a model was made")
	}
	engine := newEngine(t, troupe.Config{})
	for _, step := range []troupe.Step{nil, none} {
		if _, _, err := gather(engine.Run(t.Context(), step, troupe.Input{Text: "go"})); err == nil || !strings.Contains(err.Error(), "no step to run") {
			t.Errorf("Run: %v", err)
		}
		if _, err := engine.Start(t.Context(), step, troupe.Input{Text: "go"}); err == nil || !strings.Contains(err.Error(), "no step to run") {
			t.Errorf("Start: %v", err)
		}
		if _, _, err := gather(engine.Resume(t.Context(), step, "00000000-0000-4000-8000-000000000000")); err == nil || !strings.Contains(err.Error(), "no step to run") {
			t.Errorf("Resume: %v", err)
		}
		if _, err := flow.NewSequence(flow.SequenceConfig{Name: "s", Steps: []troupe.Step{step}}); err == nil || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("NewSequence: %v", err)
		}
		if said := panics(func() { troupe.AsTool(step, "x") }); !strings.Contains(said, "the step is nil") {
			t.Errorf("AsTool: %s", said)
		}
	}
	for _, broken := range []*brokenStep{{name: true}, {definition: true}} {
		said := panics(func() {
			if _, _, err := gather(engine.Run(t.Context(), broken, troupe.Input{Text: "go"})); err != nil {
				panic(err)
			}
		})
		if !strings.Contains(said, "out of order") {
			t.Errorf("Run of what panics: %q", said)
		}
	}
	handle, err := engine.Start(t.Context(), &brokenStep{definition: true}, troupe.Input{Text: "go"})
	if err == nil {
		_, err = handle.Wait(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("Start of what panics: %v", err)
	}
	if err := engine.Close(); err != nil { // it waits for runs, and there is none
		t.Error(err)
	}
}

// A brokenStep panics where it says so.
type brokenStep struct{ name, definition bool }

func (b *brokenStep) Name() string {
	if b.name {
		panic("out of order")
	}
	return "broken"
}

func (b *brokenStep) Definition() *troupe.Definition {
	if b.definition {
		panic("out of order")
	}
	return &troupe.Definition{Kind: "step", Name: "broken"}
}

func (*brokenStep) Do(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
	return troupe.Handoff{}, nil
}

// panics returns what f panics with.
func panics(f func()) (said string) {
	defer func() { said = fmt.Sprint(recover()) }()
	f()
	return ""
}

// What says nothing is refused before a session is made for it.
func TestAnInputThatSaysNothingIsRefused(t *testing.T) {
	engine := newEngine(t, troupe.Config{})
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn { return turn{text: "ok"} }))
	for want, input := range map[string]troupe.Input{
		"set Text or Parts":           {Text: " \n"},
		"part 2 of the input (p.png)": {Text: "x", Parts: []troupe.Part{{MIME: "image/png", URL: "https://a.test/p.png"}, {MIME: "image/png", Name: "p.png"}}},
	} {
		if _, _, err := gather(engine.Run(t.Context(), agent, input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", input, err)
		}
	}
	for _, err := range engine.Sessions(t.Context(), troupe.SessionFilter{}) {
		t.Errorf("there is a session: %v", err)
	}
	if said := panics(func() { troupe.NewStep("", nil) }); !strings.Contains(said, "needs a name and a function") {
		t.Errorf("NewStep: %s", said)
	}
}

// Whoever hears that a run has failed may close the engine, or have the session go on.
func TestWhoeverHearsOfAFailureMayCloseOrGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := true
		agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
			if failing {
				return turn{err: &troupe.ModelError{Reason: "key", Err: errors.New("401")}}
			}
			return turn{text: "well again"}
		}))
		engine := newEngine(t, troupe.Config{})
		var session string
		heard := false
		for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
			if err == nil {
				session = e.Session
				continue
			}
			heard, failing = true, false
			if _, end, err := gather(engine.Resume(t.Context(), agent, session)); err != nil || end.Output.Summary != "well again" {
				t.Errorf("it went on to %v, %v", end, err)
			}
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		}
		if !heard {
			t.Error("the failure was not told")
		}
	})
}
