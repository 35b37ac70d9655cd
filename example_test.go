package troupe_test

import (
	"context"
	"fmt"
	"log"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// orPanic keeps the examples short. A program returns its errors.
func orPanic[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The shortest whole program: an agent, a tool, an engine, an answer. The model is a
// script here, so that the example runs without a key; package model/openai speaks to
// real ones.
func Example() {
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	add := troupe.NewTool("add", "Adds two numbers.", func(_ context.Context, p pair) (float64, error) {
		return p.A + p.B, nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID:           "clerk",
		Instructions: "You are a precise clerk.",
		Model:        troupetest.NewScript(nil, troupetest.Call("add", `{"a":19.5,"b":22.5}`), troupetest.Say("It is 42.")),
		Tools:        []troupe.Tool{add},
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "What is 19.5 + 22.5?"}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Text, outcome.Stop, outcome.Spent.ToolCalls)
	// Output: It is 42. answered 1
}

// Streaming: pieces of the answer come as the model writes them.
func ExampleEngine_Run() {
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "poet", Model: troupetest.NewScript(nil, troupetest.Say("Roses ", "are ", "red.")),
	}))
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "A line, please."}) {
		if err != nil {
			log.Fatal(err) // the error comes last
		}
		switch body := event.Body.(type) {
		case *troupe.TextDelta:
			fmt.Printf("%q\n", body.Text)
		case *troupe.RunFinished:
			fmt.Println(body.Stop)
		}
	}
	// Output:
	// "Roses "
	// "are "
	// "red."
	// answered
}

// A conversation: the second input goes on with the session of the first.
func ExampleInput_session() {
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	model := troupetest.NewScript(nil, troupetest.Say("Hello, Ann."), troupetest.Say("You are Ann."))
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "host", Model: model}))

	first := orPanic(troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "I am Ann."})))
	second := orPanic(troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Session: first.Session, Text: "Who am I?"})))
	fmt.Println(second.Text)
	for _, message := range model.Requests()[1].Messages {
		fmt.Println("-", message.Role, message.Text)
	}
	// Output:
	// You are Ann.
	// - user I am Ann.
	// - assistant Hello, Ann.
	// - user Who am I?
}

// A background run: Start returns at once, and Wait returns what the run came to.
func ExampleHandle_Wait() {
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: troupetest.NewScript(nil, troupetest.Say("Done."))}))

	handle, err := engine.Start(context.Background(), agent, troupe.Input{Text: "Do it."})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := handle.Wait(context.Background())
	fmt.Println(outcome.Text, outcome.Session == handle.Session, err)
	// Output: Done. true <nil>
}

// A budget. At a limit the model is asked for a last answer without tools, and the
// outcome says which limit it was.
func ExampleLimits() {
	engine := orPanic(troupe.New(troupe.Config{Limits: troupe.Limits{Turns: 1, Cost: 0.05}}))
	defer engine.Close()
	look := troupe.NewTool("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "nothing here", nil })
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "scout", Tools: []troupe.Tool{look}, Price: troupe.Price{Input: 0.15, Output: 0.60},
		Model: troupetest.NewScript(nil,
			troupetest.Call("look", `{}`),
			troupetest.Say("I found nothing so far.").Expect(troupetest.NoTools())),
	}))
	outcome := orPanic(troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "Search the house."})))
	fmt.Println(outcome.Text)
	fmt.Println(outcome.Stop, outcome.Handoff.Meta.Status)
	// Output:
	// I found nothing so far.
	// turns partial
}

// The limits of one agent. They bound each of its runs with all that is nested in it,
// wherever it is used; the limits of the whole run still hold.
func ExampleAgentConfig_limits() {
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	look := troupe.NewTool("look", "Looks around.", func(context.Context, struct{}) (string, error) { return "a door", nil })
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "scout", Tools: []troupe.Tool{look}, Limits: troupe.Limits{ToolCalls: 1},
		Model: troupetest.NewScript(nil, troupetest.Call("look", `{}`), troupetest.Say("There is a door.").Expect(troupetest.NoTools())),
	}))
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "What is there?"}) {
		if err != nil {
			log.Fatal(err)
		}
		switch body := event.Body.(type) {
		case *troupe.LimitReached:
			fmt.Println("limit:", body.Stop)
		case *troupe.RunFinished:
			fmt.Println(body.Output.Summary)
		}
	}
	// Output:
	// limit: tool_calls
	// There is a door.
}
