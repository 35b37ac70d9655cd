// Command approval asks a person before money is spent. The run ends with the question
// and waits, for a minute or a month; the decision has that very call made.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/troupetest"
)

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount" minimum:"1"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(in io.Reader, w io.Writer) error {
	ctx := context.Background()
	pay := troupe.NewTool("pay", "Pays somebody.", func(_ context.Context, p payment) (string, error) {
		fmt.Fprintf(w, "%d euros go to %s\n", p.Amount, p.To)
		return "paid", nil
	})
	policy := approve.Policy{{Tool: "pay", Do: approve.Ask}} // rules by tool and arguments: allow, ask, deny
	if err := policy.Check(pay); err != nil {
		return err
	}
	model := troupetest.NewScript(nil, troupetest.Call("pay", `{"to":"Ann","amount":120}`), troupetest.Say("I did what you decided.")) // with a key: openai.New
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "cashier", Model: model, Tools: policy.Tools(pay)})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "Pay Ann 120 euros."}))
	lines := bufio.NewScanner(in)
	for err == nil && outcome.Stop == "input_requested" {
		fmt.Fprintln(w, outcome.Text)
		lines.Scan()
		decision := troupe.Answer{Denied: true, Text: lines.Text()}
		if strings.TrimSpace(lines.Text()) == "yes" {
			decision = troupe.Answer{Approved: true}
		}
		if err := engine.Answer(ctx, outcome.Session, outcome.Handoff.Meta.Asked, decision); err != nil {
			return err
		}
		outcome, err = troupe.Collect(engine.Resume(ctx, agent, outcome.Session))
	}
	fmt.Fprintln(w, outcome.Text)
	return err
}
