// Command resume survives its own death. Run it twice: the first time the process ends
// in the middle of a run, the second time the run goes on where its log ends.
//
//	go run ./examples/resume     # charges the card, and dies while it ships
//	go run ./examples/resume     # ships; the card is not charged again
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/store/sqlite"
)

type nothing struct{}

func main() {
	if err := run(os.Stdout, filepath.Join(os.TempDir(), "troupe-example-resume.db")); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, path string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		return err
	}
	defer engine.Close()
	open := "" // a session whose process died
	for info, err := range engine.Sessions(ctx, troupe.SessionFilter{Agent: "shop", Status: "interrupted", Limit: 1}) {
		if err != nil {
			return err
		}
		open = info.ID
	}
	charge := troupe.NewTool("charge_card", "Charges the card.", func(context.Context, nothing) (string, error) {
		fmt.Fprintln(w, "the card is charged")
		return "charged", nil
	})
	ship := troupe.NewTool("ship_order", "Ships the order.", func(context.Context, nothing) (string, error) {
		if open == "" {
			fmt.Fprintln(w, "the process dies")
			os.Exit(1)
		}
		fmt.Fprintln(w, "the order is shipped")
		return "shipped", nil
	}, troupe.RepeatSafe()) // it may be done again when nobody knows whether it was done
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "shop", Model: rehearsal.New(), Tools: []troupe.Tool{charge, ship}})
	if err != nil {
		return err
	}
	events := engine.Run(ctx, agent, troupe.Input{Text: "Please charge_card and ship_order."})
	if open != "" {
		events = engine.Resume(ctx, agent, open)
	}
	outcome, err := troupe.Collect(events)
	fmt.Fprintln(w, outcome.Stop)
	return err
}
