package knowledge_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/troupetest"
)

// Retrieval: documents are kept in one file, and an agent finds passages in them.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "knowledge")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	base, err := knowledge.Open(ctx, filepath.Join(dir, "knowledge.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer base.Close()
	if err := base.Upload(ctx, knowledge.Document{Name: "returns.md", Content: "# Returns\n\nParcels can be returned within 30 days."}); err != nil {
		log.Fatal(err)
	}
	passages, err := base.Query(ctx, "How long can I return a parcel?", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(passages[0].Document, passages[0].Heading)

	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "desk", Tools: knowledge.Tools(base),
		Model: troupetest.NewScript(nil,
			troupetest.Call("search_knowledge", `{"query":"return parcels"}`),
			troupetest.Say("For 30 days.").Expect(troupetest.ToolResult("search_knowledge", "30 days"))),
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(ctx, agent, troupe.Input{Text: "How long can I send it back?"}))
	fmt.Println(outcome.Text, err)
	// Output:
	// returns.md Returns
	// For 30 days. <nil>
}
