// Command streaming prints an answer while the model writes it, with its reasoning, and
// follows a run of the background from another place.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	ctx := context.Background()
	model := troupetest.NewScript(nil, // with a key: openai.New
		troupetest.Think("A short one.").Say("Roses ", "are ", "red."),
		troupetest.Say("Violets ", "are ", "blue."))
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "poet", Model: model})
	if err != nil {
		return err
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		return err
	}
	defer engine.Close()

	// In the foreground: range over the run. To break is to cancel it.
	session := ""
	for event, err := range engine.Run(ctx, agent, troupe.Input{Text: "A line, please."}) {
		if err != nil {
			return err
		}
		show(w, event)
		session = event.Session
	}

	// In the background: the run goes on whether or not somebody looks.
	handle, err := engine.Start(ctx, agent, troupe.Input{Session: session, Text: "And another."})
	if err != nil {
		return err
	}
	for event, err := range handle.Events(ctx) {
		if err != nil {
			return err
		}
		show(w, event)
	}
	outcome, err := handle.Wait(ctx)
	fmt.Fprintln(w, outcome.Stop)
	return err
}

func show(w io.Writer, event troupe.Event) {
	switch body := event.Body.(type) {
	case *troupe.ThoughtDelta:
		fmt.Fprintf(w, "(%s)\n", body.Text)
	case *troupe.TextDelta: // a change of Attempt means: drop what came before
		fmt.Fprint(w, body.Text)
	case *troupe.ModelReplied:
		fmt.Fprintln(w)
	}
}
