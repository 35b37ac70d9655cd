// Command tools gives an agent a typed tool that knows the user, and the calculator, and
// shows what the model is told when a call fails.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/calc"
	"github.com/troupe-dev/troupe/troupetest"
)

// An Order is what look_up_order is asked for.
type Order struct {
	Number int `json:"number" jsonschema:"the order's number" minimum:"1"`
}

// lookUp is called with arguments that were checked. The user's name does not come from
// the model: nobody can talk it into showing somebody else's order.
func lookUp(_ context.Context, call *troupe.Invocation, o Order) (string, error) {
	if o.Number != 17 {
		return "", fmt.Errorf("%s has no order %d; the latest is 17", call.User, o.Number)
	}
	return fmt.Sprintf("order 17 of %s: 2 shelves at 49.50", call.User), nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	model := troupetest.NewScript(nil, // with a key: openai.New
		troupetest.Call("look_up_order", `{"number":"seventeen"}`),
		troupetest.Call("look_up_order", `{"number":71}`),
		troupetest.Call("look_up_order", `{"number":17}`),
		troupetest.Call("calculator", `{"expression":"2 * 49.50"}`),
		troupetest.Say("You paid 99 euros."))
	order := troupe.NewToolWithCall("look_up_order", "Looks up an order of the customer.", lookUp,
		troupe.ReadOnly(), troupe.Timeout(5*time.Second))
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: model, Tools: []troupe.Tool{order, calc.New()}})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "What did I pay?", User: "ann"}) {
		if err != nil {
			return err
		}
		switch body := event.Body.(type) {
		case *troupe.ToolCalled:
			fmt.Fprintf(w, "%s %s\n", body.Tool, body.Arguments)
		case *troupe.ToolReturned:
			fmt.Fprintf(w, "  %s\n", cmp.Or(body.Error, body.Content))
		case *troupe.RunFinished:
			fmt.Fprintln(w, body.Output.Summary)
		}
	}
	return nil
}
