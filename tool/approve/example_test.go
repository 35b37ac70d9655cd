package approve_test

import (
	"context"
	"fmt"
	"log"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/troupetest"
)

// Human in the loop by rules: payments over three digits need a person, deletions are
// refused, everything else goes through. Tools need not know of it.
func ExamplePolicy() {
	ctx := context.Background()
	type payment struct {
		Amount int `json:"amount"`
	}
	pay := troupe.NewTool("pay", "Pays an amount.", func(_ context.Context, p payment) (string, error) { return fmt.Sprint("paid ", p.Amount), nil })
	policy := approve.Policy{
		{Tool: "pay", Where: map[string]string{"amount": "????*"}, Do: approve.Ask},
		{Tool: "delete_*", Do: approve.Deny},
	}
	if err := policy.Check(pay); err != nil {
		log.Fatal(err)
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "cashier", Tools: policy.Tools(pay),
		Model: troupetest.NewScript(nil, troupetest.Call("pay", `{"amount":5000}`), troupetest.Say("It is paid.").Expect(troupetest.ToolResult("pay", "paid 5000"))),
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "Pay 5000."}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Stop)
	fmt.Println(outcome.Text)
	// A person may say yes as the next message. A program decides:
	if err := engine.Answer(ctx, outcome.Session, outcome.Handoff.Meta.Asked, troupe.Answer{Approved: true}); err != nil {
		log.Fatal(err)
	}
	outcome, err = troupe.Collect(engine.Resume(ctx, agent, outcome.Session))
	fmt.Println(outcome.Text, err)
	// Output:
	// input_requested
	// May I call pay with these arguments? (yes or no)
	//
	//     amount: 5000
	// It is paid. <nil>
}
