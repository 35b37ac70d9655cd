package files_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/troupetest"
	"github.com/troupe-dev/troupe/workspace"
)

// An agent with one directory. It names files by relative paths and reaches nothing
// outside of it.
func ExampleDir() {
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tools, err := files.Dir(dir, workspace.ReadWrite)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "editor", Tools: tools,
		Model: troupetest.NewScript(nil,
			troupetest.Call("write_file", `{"file_path":"plan.md","content":"Measure. Cut once."}`),
			troupetest.Call("edit_file", `{"file_path":"plan.md","edits":[{"search":"Measure.","replace":"Measure twice."}]}`),
			troupetest.Call("read_file", `{"file_path":"../../etc/passwd"}`),
			troupetest.Say("The plan is written.")),
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Plan."}) {
		if err != nil {
			log.Fatal(err)
		}
		switch body := event.Body.(type) {
		case *troupe.ArtifactSaved:
			fmt.Println("saved", body.Path)
		case *troupe.ToolReturned:
			fmt.Printf("%s %q\n", body.Tool, body.Class)
		}
	}
	plan, err := os.ReadFile(filepath.Join(dir, "plan.md"))
	fmt.Println(string(plan), err)
	// Output:
	// saved plan.md
	// write_file ""
	// saved plan.md
	// edit_file ""
	// read_file "unauthorized"
	// Measure twice. Cut once. <nil>
}
