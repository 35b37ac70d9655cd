package flow_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

// newAgent makes an agent whose model says these turns.
func newAgent(id string, turns ...troupetest.Turn) *troupe.Agent {
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Model: troupetest.NewScript(nil, turns...)})
	if err != nil {
		panic(err)
	}
	return agent
}

// run runs a flow in a session and prints who handed over to whom.
func run(engine *troupe.Engine, step troupe.Step, input troupe.Input) troupe.Outcome {
	outcome, err := troupe.Collect(func(yield func(troupe.Event, error) bool) {
		for event, err := range engine.Run(context.Background(), step, input) {
			if handed, ok := event.Body.(*troupe.HandedOff); ok {
				fmt.Println(handed.From, "->", handed.To)
			}
			if !yield(event, err) {
				return
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	return outcome
}

func newEngine() *troupe.Engine {
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		panic(err)
	}
	return engine
}

// One after the other: each gets the task and what the one before answered.
func ExampleSequence() {
	engine := newEngine()
	defer engine.Close()
	article := flow.Sequence("article",
		newAgent("researcher", troupetest.Say("Otters hold hands.")),
		newAgent("writer", troupetest.Say("Sleeping otters hold hands.").Expect(troupetest.LastUser("Otters hold hands."))))
	fmt.Println(run(engine, article, troupe.Input{Text: "Write about otters."}).Text)
	// Output:
	// researcher -> writer
	// Sleeping otters hold hands.
}

// At the same time, with a quorum: two answers are enough, and the third agent, which
// hangs, is cancelled.
func ExampleNewParallel() {
	engine := newEngine()
	defer engine.Close()
	panel, err := flow.NewParallel(flow.ParallelConfig{
		Name: "panel", Quorum: 2, MaxParallel: 3,
		Steps: []troupe.Step{
			newAgent("ann", troupetest.Say("yes")),
			newAgent("bob", troupetest.Wait(1<<62).Say("never")),
			newAgent("cid", troupetest.Say("no")),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	outcome := run(engine, panel, troupe.Input{Text: "Shall we?"})
	fmt.Println(outcome.Handoff.Outputs)
	// Output: map[ann:yes cid:no]
}

// A team: agents hand the conversation over to each other, and whoever has it keeps it.
// The second message goes straight to billing, which knows what was said.
func ExampleTeam() {
	engine := newEngine()
	defer engine.Close()
	desk := flow.Team("desk",
		newAgent("front", troupetest.Call("transfer_to_billing", `{"summary":"wants a refund"}`)),
		newAgent("billing",
			troupetest.Say("Which order is it?").Expect(troupetest.LastUser("refund")),
			troupetest.Say("Order 17 is refunded.").Expect(troupetest.LastUser("17"))))
	first := run(engine, desk, troupe.Input{Text: "I want my money back."})
	fmt.Println(first.Text)
	second := run(engine, desk, troupe.Input{Session: first.Session, Text: "It is order 17."})
	fmt.Println(second.Text)
	// Output:
	// front -> billing
	// Which order is it?
	// Order 17 is refunded.
}

// A group chat: members speak in turn, and each hears what was said.
func ExampleNewGroupChat() {
	engine := newEngine()
	defer engine.Close()
	panel, err := flow.NewGroupChat(flow.GroupChatConfig{
		Name: "panel", Turns: 3,
		Members: []troupe.Step{
			newAgent("optimist", troupetest.Say("It will work."), troupetest.Say("With tests, it will.")),
			newAgent("sceptic", troupetest.Say("Not without tests.").Expect(troupetest.LastUser("It will work."))),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	outcome := run(engine, panel, troupe.Input{Text: "Will it work?"})
	fmt.Println(outcome.Text)
	fmt.Println(outcome.Handoff.Outputs["conversation"])
	// Output:
	// With tests, it will.
	// [map[speaker:optimist text:It will work.] map[speaker:sceptic text:Not without tests.] map[speaker:optimist text:With tests, it will.]]
}

// A loop with a judge: an agent accepts the outcome, or says what must be better.
func ExampleNewLoop() {
	engine := newEngine()
	defer engine.Close()
	polish, err := flow.NewLoop(flow.LoopConfig{
		Name: "polish", MaxRounds: 3,
		Body: newAgent("writer",
			troupetest.Say("A very long text."),
			troupetest.Say("A text.").Expect(troupetest.LastUser("shorter"))),
		Check: newAgent("editor",
			troupetest.Call("revise", `{"feedback":"make it shorter"}`),
			troupetest.Call("accept", `{}`)),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run(engine, polish, troupe.Input{Text: "Write."}).Text)
	// Output:
	// writer -> writer
	// A text.
}

// A loop until a function is satisfied.
func ExampleLoop() {
	engine := newEngine()
	defer engine.Close()
	draft := newAgent("writer", troupetest.Say("one two three four"), troupetest.Say("one two"))
	short := flow.Loop("short", draft, func(h troupe.Handoff) (bool, error) {
		return len(strings.Fields(h.Summary)) <= 2, nil
	})
	fmt.Println(run(engine, short, troupe.Input{Text: "At most two words."}).Text)
	// Output:
	// writer -> writer
	// one two
}

// Typed hand-over: an agent with an output answers with a value, and a later step of
// the flow, in Go, reads it as that type.
func ExampleOutput() {
	type Plan struct {
		Steps []string `json:"steps"`
	}
	planner, err := newAgent("planner", troupetest.Say(`{"steps":["measure","cut"]}`)).WithOutput(troupe.OutputOf[Plan]())
	if err != nil {
		log.Fatal(err)
	}
	count := troupe.NewStep("count", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		plan, err := flow.Output[Plan](in, "planner")
		if err != nil {
			return troupe.Handoff{}, err
		}
		return troupe.Handoff{Summary: fmt.Sprintf("%d steps, the first is %s", len(plan.Steps), plan.Steps[0])}, nil
	})
	engine := newEngine()
	defer engine.Close()
	fmt.Println(run(engine, flow.Sequence("job", planner, count), troupe.Input{Text: "Plan a shelf."}).Text)
	// Output:
	// planner -> count
	// 2 steps, the first is measure
}

// An Edit changes what one step hands to the next: here it removes a name.
func ExampleEdit() {
	engine := newEngine()
	defer engine.Close()
	anonymous := func(from, to string, h troupe.Handoff) (troupe.Handoff, error) {
		h.Summary = strings.ReplaceAll(h.Summary, "Ann", "the customer")
		return h, nil
	}
	letter, err := flow.NewSequence(flow.SequenceConfig{
		Name: "letter", Edit: anonymous,
		Steps: []troupe.Step{
			newAgent("clerk", troupetest.Say("Ann is owed 12 euros.")),
			newAgent("writer", troupetest.Say("Dear customer, ...").Expect(troupetest.LastUser("the customer is owed"))),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run(engine, letter, troupe.Input{Text: "Write to her."}).Text)
	// Output:
	// clerk -> writer
	// Dear customer, ...
}

// One step on many inputs is a flow of one's own: it runs once for each line, four at a time.
func Example_map() {
	shout := troupe.NewStep("shout", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return troupe.Handoff{Summary: strings.ToUpper(in.Task)}, nil
	})
	each := troupe.NewStep("each", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		inputs := strings.Split(in.Task, "\n")
		answers := make([]string, len(inputs))
		branches := make([]func(context.Context, *troupe.Run) error, len(inputs))
		for i, input := range inputs {
			branches[i] = func(ctx context.Context, run *troupe.Run) error {
				out, err := run.Do(ctx, shout, troupe.Handoff{Task: input})
				answers[i] = out.Summary
				return err
			}
		}
		err := errors.Join(run.All(ctx, 4, branches...)...)
		return troupe.Handoff{Task: in.Task, Summary: strings.Join(answers, "\n")}, err
	}, shout)
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(context.Background(), each, troupe.Input{Text: "otters\nbears\nowls"}))
	fmt.Println(outcome.Text, err)
	// Output:
	// OTTERS
	// BEARS
	// OWLS <nil>
}
