package troupetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// A printer stands for the *testing.T of a test: it prints what would fail it.
type printer struct {
	testing.TB
	cleanup func()
}

func (p *printer) Helper()                           {}
func (p *printer) Cleanup(f func())                  { p.cleanup = f }
func (p *printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleNewScript() {
	t := &printer{} // in a test, its *testing.T
	model := troupetest.NewScript(t,
		troupetest.Call("weather", `{"city":"Oslo"}`).Expect(troupetest.HasTool("weather"), troupetest.LastUser("Oslo")),
		troupetest.Say("It ", "rains.").Expect(troupetest.ToolResult("weather", "rain")),
		troupetest.Say("Goodbye."),
	)
	type place struct {
		City string `json:"city"`
	}
	weather := troupe.NewTool("weather", "Says what the weather is like.", func(_ context.Context, in place) (string, error) {
		return "rain in " + in.City, nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "sky", Model: model, Tools: []troupe.Tool{weather}})
	if err != nil {
		panic(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		panic(err)
	}
	var events []troupe.Event
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "How is Oslo?"}) {
		if err != nil {
			panic(err)
		}
		events = append(events, event)
	}
	fmt.Print(troupetest.Format(events))
	t.cleanup() // the end of the test
	// Output:
	// run_started sky "How is Oslo?"
	// user_said "How is Oslo?"
	// model_replied tool_calls weather({"city":"Oslo"})
	// tool_called weather {"city":"Oslo"}
	// tool_returned weather "rain in Oslo"
	// model_replied stop "It rains."
	// run_finished answered "It rains." turns=2 calls=1
	// script: 1 of 3 turns were never played:
	//   turn 3: say "Goodbye."
}

func ExampleSample() {
	schema := json.RawMessage(`{
		"type": "object",
		"properties": {"unit": {"const": "°C"}, "degrees": {"type": "integer", "minimum": 20, "maximum": 20}},
		"required": ["unit", "degrees"]
	}`)
	value, err := troupetest.Sample(1, schema)
	fmt.Println(string(value), err)
	// Output: {"degrees":20,"unit":"°C"} <nil>
}

// Several agents that share a model, each with a script of its own.
func ExampleNewCast() {
	model := troupetest.NewCast(nil, map[string][]troupetest.Turn{
		"Ann": {troupetest.Say("I am for it.")},
		"Bob": {troupetest.Say("I am against it.")},
	})
	for _, name := range []string{"Bob", "Ann"} {
		agent, err := troupe.NewAgent(troupe.AgentConfig{ID: name, Instructions: "You are " + name + ".", Model: model})
		if err != nil {
			panic(err)
		}
		engine, err := troupe.New(troupe.Config{})
		if err != nil {
			panic(err)
		}
		outcome, err := troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "Well?"}))
		fmt.Println(name, "says:", outcome.Text, err)
	}
	// Output:
	// Bob says: I am against it. <nil>
	// Ann says: I am for it. <nil>
}

// Conformance: a store of your own is checked against all that troupe.Store promises.
// In a file of tests it is one line.
func ExampleTestStore() {
	_ = func(t *testing.T) { // func TestMyStore(t *testing.T)
		troupetest.TestStore(t, func(testing.TB) troupe.Store { return troupe.NewMemoryStore() })
	}
}
