package troupe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

// Resume after a crash: a second engine on the same store goes on where the first one
// stopped. The payment is on record and is not made again.
func ExampleEngine_Resume() {
	paid := 0
	pay := troupe.NewTool("pay", "Pays the bill.", func(context.Context, struct{}) (string, error) {
		paid++
		return "paid", nil
	})
	clerk := func(turns ...troupetest.Turn) *troupe.Agent {
		return orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: troupetest.NewScript(nil, turns...), Tools: []troupe.Tool{pay}}))
	}
	store := troupe.NewMemoryStore() // one that lasts: store/sqlite

	first := orPanic(troupe.New(troupe.Config{Store: store}))
	agent := clerk(troupetest.Call("pay", `{}`), troupetest.Fail(errors.New("the power went off")))
	outcome, err := troupe.Collect(first.Run(context.Background(), agent, troupe.Input{Text: "Pay."}))
	fmt.Println(err != nil, paid)
	first.Close()

	second := orPanic(troupe.New(troupe.Config{Store: store}))
	defer second.Close()
	agent = clerk(troupetest.Say("It is paid."))
	outcome = orPanic(troupe.Collect(second.Resume(context.Background(), agent, outcome.Session)))
	fmt.Println(outcome.Text, paid)
	// Output:
	// true 1
	// It is paid. 1
}

// Fork: try another way from some event on. The other session stays as it is.
func ExampleEngine_Fork() {
	ctx := context.Background()
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "host", Model: troupetest.NewScript(nil, troupetest.Say("Tea or coffee?"), troupetest.Say("Here is tea."), troupetest.Say("Here is coffee.")),
	}))
	first := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "I am thirsty."})))
	var last int64
	for event, err := range engine.Events(ctx, first.Session, 0) {
		orPanic(event, err)
		last = event.Seq
	}
	tea := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Session: first.Session, Text: "Tea."})))
	fork, err := engine.Fork(ctx, first.Session, last, troupe.Input{})
	if err != nil {
		log.Fatal(err)
	}
	coffee := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Session: fork, Text: "Coffee."})))
	fmt.Println(tea.Text, coffee.Text)
	// Output: Here is tea. Here is coffee.
}

// ForkStep: do a step of a flow again with another input. The steps before it are not
// asked again, and the log says who has edited what.
func ExampleEngine_ForkStep() {
	ctx := context.Background()
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := func(id string, says ...troupetest.Turn) *troupe.Agent {
		return orPanic(troupe.NewAgent(troupe.AgentConfig{ID: id, Model: troupetest.NewScript(nil, says...)}))
	}
	article := flow.Sequence("article", agent("writer", troupetest.Say("A draft.")), agent("editor", troupetest.Say("Dull."), troupetest.Say("Bold.")))
	first := orPanic(troupe.Collect(engine.Run(ctx, article, troupe.Input{Text: "Write about queues."})))
	editor := ""
	for event, err := range engine.Events(ctx, first.Session, 0) {
		if orPanic(event, err).Agent == "editor" {
			editor = event.Run
		}
	}
	again := orPanic(engine.ForkStep(ctx, first.Session, editor, func(h troupe.Handoff) (troupe.Handoff, error) {
		h.Summary = "A bolder draft."
		return h, nil
	}, troupe.Input{User: "ann"}))
	second := orPanic(troupe.Collect(engine.Resume(ctx, article, again)))
	fmt.Println(first.Text, second.Text, second.Handoff.Outputs["writer"])
	// Output: Dull. Bold. A bolder draft.
}

// Human in the loop: a tool asks before it acts. The run ends with the question, the
// program decides, and the very same call is made.
func ExampleEngine_Answer() {
	ctx := context.Background()
	type target struct {
		Host string `json:"host"`
	}
	deploy := troupe.NewToolWithCall("deploy", "Deploys.", func(_ context.Context, call *troupe.Invocation, t target) (string, error) {
		switch {
		case len(call.Answers) == 0:
			return "", &troupe.InputNeeded{Question: "Deploy to " + t.Host + "?", CallAgain: true, Approval: true}
		case call.Answers[0].Approved:
			return "deployed to " + t.Host, nil
		}
		return "", errors.New("the user said no")
	})
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "ops", Tools: []troupe.Tool{deploy},
		Model: troupetest.NewScript(nil, troupetest.Call("deploy", `{"host":"web-1"}`), troupetest.Say("It is live.")),
	}))
	outcome := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "Ship it."})))
	fmt.Println(outcome.Stop, outcome.Text)

	if err := engine.Answer(ctx, outcome.Session, outcome.Handoff.Meta.Asked, troupe.Answer{Approved: true}); err != nil {
		log.Fatal(err)
	}
	outcome = orPanic(troupe.Collect(engine.Resume(ctx, agent, outcome.Session)))
	fmt.Println(outcome.Stop, outcome.Text)
	// Output:
	// input_requested Deploy to web-1?
	// answered It is live.
}

// A tool that needs something from the user. The next input of the session answers it.
func ExampleInputNeeded() {
	ctx := context.Background()
	book := troupe.NewTool("book", "Books a table.", func(context.Context, struct{}) (string, error) {
		return "", &troupe.InputNeeded{Question: "For how many?"}
	})
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "waiter", Tools: []troupe.Tool{book},
		Model: troupetest.NewScript(nil, troupetest.Call("book", `{}`), troupetest.Say("A table for four.").Expect(troupetest.LastUser("Four"))),
	}))
	asked := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "A table, please."})))
	fmt.Println(asked.Stop, asked.Text)
	for info, err := range engine.Sessions(ctx, troupe.SessionFilter{Status: "waiting"}) {
		fmt.Println(info.Status, info.Title, err)
	}
	answered := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Session: asked.Session, Text: "Four."})))
	fmt.Println(answered.Text)
	// Output:
	// input_requested For how many?
	// waiting A table, please. <nil>
	// A table for four.
}

// Import: a conversation that was had elsewhere goes on here.
func ExampleEngine_Import() {
	ctx := context.Background()
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	model := troupetest.NewScript(nil, troupetest.Say("You like tea."))
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{ID: "host", Model: model}))

	session, err := engine.Import(ctx, "host", []*troupe.Message{
		{Role: troupe.RoleUser, Text: "I like tea."},
		{Role: troupe.RoleAssistant, Text: "Noted."},
	}, troupe.Input{User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	outcome := orPanic(troupe.Collect(engine.Run(ctx, agent, troupe.Input{Session: session, User: "ann", Text: "What do I like?"})))
	fmt.Println(outcome.Text, len(model.Requests()[0].Messages))
	// Output: You like tea. 3
}

// An idempotency key for what a tool does elsewhere: Invocation.ID is unique to the
// call, and the same when the call is repeated after an interruption. The caller's own
// key for the whole request is Input.IdempotencyKey, which is on record.
func ExampleInvocation_idempotency() {
	ctx := context.Background()
	type nothing struct{}
	charge := troupe.NewToolWithCall("charge", "Charges the card.", func(_ context.Context, call *troupe.Invocation, _ nothing) (string, error) {
		fmt.Println("Idempotency-Key has", len(call.ID), "characters") // send it with the payment
		return "charged", nil
	}, troupe.RepeatSafe())
	engine := orPanic(troupe.New(troupe.Config{}))
	defer engine.Close()
	agent := orPanic(troupe.NewAgent(troupe.AgentConfig{
		ID: "cashier", Tools: []troupe.Tool{charge}, Model: troupetest.NewScript(nil, troupetest.Call("charge", `{}`), troupetest.Say("Thank you.")),
	}))
	for event, err := range engine.Run(ctx, agent, troupe.Input{Text: "Charge me.", IdempotencyKey: "order-4711"}) {
		orPanic(event, err)
		if started, ok := event.Body.(*troupe.RunStarted); ok {
			fmt.Println("the run is on record as", started.IdempotencyKey)
		}
	}
	// Output:
	// the run is on record as order-4711
	// Idempotency-Key has 36 characters
}

// Every event as JSON, for a log or a web page.
func ExampleEvent_MarshalJSON() {
	event := troupe.Event{Seq: 3, Session: "s", Run: "r", Step: "2", Agent: "clerk", Body: &troupe.ToolCalled{CallID: "c1", Tool: "add", Arguments: `{"a":1}`, Attempt: 1}}
	data := orPanic(json.Marshal(event))
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		log.Fatal(err)
	}
	fmt.Println(fields["kind"], fields["seq"], fields["agent"])
	// Output: tool_called 3 clerk
}
