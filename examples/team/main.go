// Command team lets agents hand a conversation over to each other. Whoever has it keeps
// it: the user's next message goes to that agent, with all that was said to it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func agent(id, instructions string, turns ...troupetest.Turn) *troupe.Agent {
	a, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Instructions: instructions, Model: troupetest.NewScript(nil, turns...)}) // with a key: openai.New
	if err != nil {
		log.Fatal(err)
	}
	return a
}

func run(w io.Writer) error {
	desk, err := flow.NewTeam(flow.TeamConfig{
		Name: "desk", MaxHandoffs: 4,
		Members: []flow.Member{
			{Agent: agent("front", "You find out what the customer needs.",
				troupetest.Call("transfer_to_billing", `{"summary":"wants a refund"}`))},
			{Agent: agent("billing", "You handle refunds.",
				troupetest.Say("Which order is it?"), troupetest.Say("Order 17 is refunded.")), Description: "Handles payments and refunds."},
		},
	})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()
	session := ""
	for _, text := range []string{"I want my money back.", "It is order 17."} {
		fmt.Fprintln(w, "you:", text)
		for event, err := range engine.Run(context.Background(), desk, troupe.Input{Session: session, Text: text}) {
			if err != nil {
				return err
			}
			switch body := event.Body.(type) {
			case *troupe.HandedOff:
				fmt.Fprintf(w, "(%s hands over to %s)\n", body.From, body.To)
			case *troupe.RunFinished:
				if event.Parent == "" {
					fmt.Fprintf(w, "%s: %s\n", body.Output.Meta.Source, body.Output.Summary)
				}
			}
			session = event.Session
		}
	}
	return nil
}
