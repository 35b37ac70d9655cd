package mcp_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// An agent is told what became of its server, and that a result was cut.
func TestARunGoesOnWithoutItsServer(t *testing.T) {
	model := troupetest.NewScript(t,
		troupetest.Call("rogue__large", `{}`),
		troupetest.Call("rogue__die", `{}`).Expect(troupetest.ToolResult("rogue__large", "[cut here: 1048576 of 2097152 bytes shown]")),
		troupetest.Call("rogue__echo", `{}`).Expect(troupetest.ToolResult("rogue__die", `"class":"interrupted"`)),
		troupetest.Say("I went on.").Expect(troupetest.ToolResult("rogue__echo", `"class":"failed"`)),
	)
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "ada", Model: model, Tools: open(t, rogueConfig(t, "plain")).Tools()})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "Go."}))
	if err != nil || outcome.Text != "I went on." {
		t.Errorf("%+v, %v", outcome, err)
	}
}
