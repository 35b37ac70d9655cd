package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/troupetest"
)

// Sessions that survive the process, and a search over all of them.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "troupe.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "guide", Model: troupetest.NewScript(nil, troupetest.Say("Otters hold hands."))})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "Tell me something."})); err != nil {
		log.Fatal(err)
	}
	for info, err := range engine.Sessions(ctx, troupe.SessionFilter{Agent: "guide"}) {
		fmt.Println(info.Title, info.Status, err)
	}
	for hit, err := range store.Search(ctx, sqlite.Query{Text: "otters", Kinds: []string{"model_replied"}}) {
		fmt.Println(hit.Event.Body.(*troupe.ModelReplied).Message.Text, err)
	}
	// Output:
	// Tell me something. completed <nil>
	// Otters hold hands. <nil>
}
