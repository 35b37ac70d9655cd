package troupe_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// A typed tool: its schema comes from the argument's type, its arguments are checked,
// and its error goes to the model, which may try again.
func ExampleNewTool() {
	type Query struct {
		City string `json:"city" jsonschema:"the city's name in English"`
		Days int    `json:"days,omitempty" jsonschema:"how many days ahead" minimum:"0" maximum:"14"`
	}
	weather := troupe.NewTool("weather", "Forecasts the weather.", func(_ context.Context, q Query) (string, error) {
		if q.City == "" {
			return "", errors.New("name the city")
		}
		return "rain in " + q.City, nil
	}, troupe.ReadOnly(), troupe.Timeout(5*time.Second))

	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "sky", Tools: []troupe.Tool{weather},
		Model: troupetest.NewScript(nil,
			troupetest.Call("weather", `{"city":"Oslo","days":30}`),
			troupetest.Call("weather", `{"city":"Oslo","days":3}`),
			troupetest.Say("Take an umbrella.")),
	}))
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Umbrella?"}) {
		if err != nil {
			log.Fatal(err)
		}
		if returned, ok := event.Body.(*troupe.ToolReturned); ok {
			fmt.Println(cmp.Or(returned.Error, returned.Content))
		}
	}
	// Output:
	// field /days: expected at most 14, got number 30
	// rain in Oslo
}

// What the caller knows and the model must not see: Values and User reach the tool
// alone.
func ExampleNewToolWithCall() {
	type nothing struct{}
	orders := troupe.NewToolWithCall("orders", "Lists the customer's orders.",
		func(_ context.Context, call *troupe.Invocation, _ nothing) (string, error) {
			return fmt.Sprintf("orders of %s in %s", call.User, call.Values["tenant"]), nil
		}, troupe.ReadOnly())
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	model := troupetest.NewScript(nil, troupetest.Call("orders", `{}`), troupetest.Say("You have none."))
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: model, Tools: []troupe.Tool{orders}}))

	input := troupe.Input{Text: "My orders?", User: "ann", Values: map[string]any{"tenant": "acme"}}
	orPanic(troupe.Collect(engine.Run(context.Background(), agent, input)))
	for _, message := range model.Requests()[1].Messages {
		fmt.Printf("%s %q\n", message.Role, message.Text)
	}
	// Output:
	// user "My orders?"
	// assistant ""
	// tool "orders of ann in acme"
}

// Progress of a long call. It is on record, and readers of the run see it at once.
func ExampleInvocation_Progress() {
	type nothing struct{}
	index := troupe.NewToolWithCall("index", "Indexes the documents.", func(ctx context.Context, call *troupe.Invocation, _ nothing) (string, error) {
		for _, part := range []string{"half", "all"} {
			if err := call.Progress(ctx, part+" of the documents"); err != nil {
				return "", err
			}
		}
		return "done", nil
	}, troupe.Timeout(time.Hour))
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "librarian", Tools: []troupe.Tool{index},
		Model: troupetest.NewScript(nil, troupetest.Call("index", `{}`), troupetest.Say("All indexed.")),
	}))
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Index."}) {
		if err != nil {
			log.Fatal(err)
		}
		if note, ok := event.Body.(*troupe.Noted); ok {
			var data struct{ Text string }
			orPanic(note, json.Unmarshal(note.Data, &data))
			fmt.Printf("%s: %s\n", note.Name, data.Text)
		}
	}
	// Output:
	// progress: half of the documents
	// progress: all of the documents
}

// A result with an image for the model and a Go value for the program.
func ExampleResult() {
	type chart struct {
		Of string `json:"of"`
	}
	draw := troupe.NewTool("draw", "Draws a chart.", func(_ context.Context, c chart) (troupe.Result, error) {
		return troupe.Result{
			Content: "a chart of " + c.Of,
			Parts:   []troupe.Part{{MIME: "image/png", Name: "chart.png", Data: []byte("\x89PNG")}},
			Value:   map[string]int{"points": 12},
		}, nil
	})
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	model := troupetest.NewScript(nil, troupetest.Call("draw", `{"of":"sales"}`), troupetest.Say("Sales went up."))
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "analyst", Model: model, Tools: []troupe.Tool{draw}}))
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Sales?"}) {
		if err != nil {
			log.Fatal(err)
		}
		if returned, ok := event.Body.(*troupe.ToolReturned); ok {
			fmt.Println(returned.Content, string(returned.Value))
		}
	}
	for _, message := range model.Requests()[1].Messages {
		for _, part := range message.Parts {
			fmt.Println("the model is shown", part.Name)
		}
	}
	// Output:
	// a chart of sales {"points":12}
	// the model is shown chart.png
}

// A narrowed tool is middleware: it wraps a tool and narrows what models may ask of it.
type narrowed struct{ troupe.Tool }

func (n narrowed) Spec() troupe.ToolSpec {
	spec := n.Tool.Spec()
	spec.Input = json.RawMessage(`{"type":"object","properties":{"amount":{"type":"integer","maximum":100}},"required":["amount"]}`)
	return spec
}

// Middleware: to intervene, wrap a tool. What is checked is what the outermost Spec says.
func ExampleTool_middleware() {
	type payment struct {
		Amount int `json:"amount"`
	}
	pay := troupe.NewTool("pay", "Pays an amount.", func(_ context.Context, p payment) (string, error) {
		return fmt.Sprint("paid ", p.Amount), nil
	})
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "cashier", Tools: []troupe.Tool{narrowed{pay}},
		Model: troupetest.NewScript(nil, troupetest.Call("pay", `{"amount":5000}`), troupetest.Call("pay", `{"amount":50}`), troupetest.Say("Paid 50.")),
	}))
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Pay 5000."}) {
		if err != nil {
			log.Fatal(err)
		}
		if returned, ok := event.Body.(*troupe.ToolReturned); ok {
			fmt.Println(cmp.Or(returned.Error, returned.Content))
		}
	}
	// Output:
	// field /amount: expected at most 100, got number 5000
	// paid 50
}

// An agent as a tool: the expert runs nested in the caller's run, within its budget.
func ExampleAsTool() {
	expert := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "sql", Model: troupetest.NewScript(nil, troupetest.Say("SELECT count(*) FROM orders"))}))
	lead := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "lead", Tools: []troupe.Tool{troupe.AsTool(expert, "Writes SQL.")},
		Model: troupetest.NewScript(nil,
			troupetest.Call("sql", `{"task":"Count the orders."}`),
			troupetest.Say("Run: SELECT count(*) FROM orders").Expect(troupetest.ToolResult("sql", "SELECT"))),
	}))
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	outcome := orPanic(troupe.Collect(engine.Run(context.Background(), lead, troupe.Input{Text: "How many orders?"})))
	fmt.Println(outcome.Text, outcome.Spent.Turns)
	// Output: Run: SELECT count(*) FROM orders 3
}

// A tool of another program, whose schema is given.
func ExampleNewRawTool() {
	tool, err := troupe.NewRawTool(troupe.ToolSpec{
		Name: "search", Description: "Searches the catalogue.", ReadOnly: true,
		Input: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string","minLength":1}},"required":["q"]}`),
	}, func(_ context.Context, call *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{Content: "you sent " + string(call.Arguments)}, nil
	})
	fmt.Println(tool.Spec().Name, err)
	_, err = troupe.NewRawTool(troupe.ToolSpec{Name: "bad", Input: json.RawMessage(`{"type":"objekt"}`)}, nil)
	fmt.Println(err)
	// Output:
	// search <nil>
	// tool bad: input schema: /type: "objekt" is not a JSON Schema type
}

// A guardrail that ends the run: a tool decides, and the flow around the agent, or the
// caller, reads the decision.
func ExampleDecision() {
	type reason struct {
		Reason string `json:"reason"`
	}
	escalate := troupe.NewTool("escalate", "Gives the case to a person.", func(_ context.Context, r reason) (string, error) {
		return "", &troupe.Decision{Name: "escalate", Text: r.Reason}
	})
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "desk", Tools: []troupe.Tool{escalate}, Model: troupetest.NewScript(nil, troupetest.Call("escalate", `{"reason":"a refund over 1000"}`)),
	}))
	outcome := orPanic(troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "I want 1200 back."})))
	fmt.Println(outcome.Stop, outcome.Handoff.Meta.Decision.Name, outcome.Text)
	// Output: decided escalate a refund over 1000
}
