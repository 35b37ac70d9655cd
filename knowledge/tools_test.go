package knowledge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

var (
	_ Finder = (*Base)(nil)
	_ Keeper = (*Base)(nil)
	_ Finder = (*Client)(nil)
	_ Keeper = (*Client)(nil)
)

func TestAgentsFindWhatAgentsKeep(t *testing.T) {
	base, _ := newBase(t)
	tools := append(Tools(base), AddTool(base))
	names := map[string]bool{}
	call := func(tool troupe.Tool, arguments string) string {
		t.Helper()
		names[tool.Spec().Name] = tool.Spec().RepeatSafe
		result, err := tool.Call(t.Context(), &troupe.Invocation{ID: "call-1", Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatal(err)
		}
		return result.Content
	}
	if got := call(tools[0], `{"query":"owls"}`); got != `{"passages":[]}` {
		t.Errorf("an empty base says %s", got)
	}
	for range 2 {
		call(tools[1], `{"name":"owls.md","content":"Owls hunt at night.","description":"birds"}`)
	}
	if got := call(tools[0], `{"query":"When do owls hunt?","limit":3}`); strings.Count(got, `"document":"owls.md"`) != 1 || !strings.Contains(got, "at night") {
		t.Errorf("found was %s", got)
	}
	if list := documentsOf(t, base); len(list) != 1 || len(list[0].Tags) != 1 || list[0].Tags[0] != "agent" {
		t.Errorf("kept were %+v", list)
	}
	if len(tools) != 2 || !names["search_knowledge"] || !names["add_knowledge"] {
		t.Errorf("the tools are %v", names)
	}
}
