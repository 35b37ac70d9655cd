package bundle

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// An operator may keep an agent to some of its tools.
func TestAnAgentIsKeptToTheToolsThatAreAllowed(t *testing.T) {
	c := find(t, project(t), Config{})
	model := troupetest.NewScript(t,
		troupetest.Call("save_output", `{"file_path":"x.md","content":"x"}`).Expect(troupetest.HasTool("read_file")),
		troupetest.Say("I may not.").Expect(troupetest.ToolResult("save_output", "may not use")),
	)
	id := c.Entries()[0].ID
	agent, err := c.Agent(id, Options{Model: model, Allow: []string{"read_file", "list_files"}, Outputs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "Save it."})); err != nil || outcome.Text != "I may not." {
		t.Errorf("%+v, %v", outcome, err)
	}
	if n := len(model.Requests()[0].Tools.Specs()); n != 2 {
		t.Errorf("the model was offered %d tools", n)
	}
	if _, err := c.Agent(id, Options{Model: model, Allow: []string{"teleport"}}); err == nil || !strings.Contains(err.Error(), "teleport") {
		t.Errorf("an unknown tool: %v", err)
	}
}
