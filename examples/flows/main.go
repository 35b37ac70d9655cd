// Command flows arranges agents: one researches, two write at the same time, an editor
// sends the text back until it is good.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/troupetest"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func agent(id string, turns ...troupetest.Turn) *troupe.Agent {
	a, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Model: troupetest.NewScript(nil, turns...)}) // with a key: openai.New
	if err != nil {
		log.Fatal(err)
	}
	return a
}

func run(w io.Writer) error {
	polish, err := flow.NewLoop(flow.LoopConfig{
		Name: "polish", MaxRounds: 3,
		Body:  agent("writer", troupetest.Say("Otters are animals that, while they sleep, hold hands."), troupetest.Say("Sleeping otters hold hands.")),
		Check: agent("editor", troupetest.Call("revise", `{"feedback":"at most five words"}`), troupetest.Call("accept", `{}`)),
	})
	if err != nil {
		return err
	}
	article := flow.Sequence("article",
		agent("researcher", troupetest.Say("They hold hands. They use tools.")),
		flow.Parallel("drafts", agent("poet", troupetest.Say("O otter!")), agent("reporter", troupetest.Say("Otters hold hands."))),
		polish)
	engine, err := troupe.New(troupe.Config{Limits: troupe.Limits{Turns: 20}}) // for all of them together
	if err != nil {
		return err
	}
	defer engine.Close()
	for event, err := range engine.Run(context.Background(), article, troupe.Input{Text: "Write about otters."}) {
		if err != nil {
			return err
		}
		switch body := event.Body.(type) {
		case *troupe.HandedOff:
			fmt.Fprintf(w, "%s -> %s\n", body.From, body.To)
		case *troupe.RunFinished:
			if event.Parent == "" { // the whole flow, not a step of it
				fmt.Fprintf(w, "%s (%d turns)\n", strings.TrimSpace(body.Output.Summary), body.SpentBelow.Turns)
			}
		}
	}
	return nil
}
