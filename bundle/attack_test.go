package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/troupetest"
)

// No name leads execute_workflow out of the roots, nor does what a user is said to
// have put in: the same names as the file tools get.
func TestNoNameLeadsAWorkflowOutOfTheRoots(t *testing.T) {
	const canary = "CANARY-9c41"
	world := t.TempDir()
	dir := filepath.Join(world, "project")
	if err := os.CopyFS(dir, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "bmad", "custom", "bundles", "requirements")
	put(t, world, "outside/canary.txt", canary)
	put(t, dir, ".env", canary)
	put(t, home+"-evil", "canary.txt", canary)
	for name, target := range map[string]string{
		"link-out": filepath.Join(world, "outside"), "link-canary": filepath.Join(world, "outside", "canary.txt"), "link-up": "../../../../..",
	} {
		if err := os.Symlink(target, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(world, "data")
	outputs := filepath.Join(data, "sessions")
	if err := os.MkdirAll(outputs, 0o700); err != nil {
		t.Fatal(err)
	}
	before := corpus.Snapshot(t, world, data)

	names := corpus.AttackNames(t, 10_000, world, home)
	if testing.Short() {
		names = names[len(names)-1000:]
	}
	const batch = 200
	var turns []troupetest.Turn
	for len(names) > 0 {
		var calls []troupe.ToolCall
		for _, name := range names[:min(batch, len(names))] {
			arguments, err := json.Marshal(map[string]any{"workflow_path": name, "user_input": map[string]string{"template": name, "config_source": name}})
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, troupe.ToolCall{Name: "execute_workflow", Arguments: string(arguments)})
		}
		names = names[len(calls):]
		turns = append(turns, troupetest.Calls(calls...))
	}
	agent, err := find(t, dir, Config{}).Agent("alex", Options{Model: troupetest.NewScript(t, append(turns, troupetest.Say("Done."))...), Outputs: outputs})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{Limits: troupe.Limits{Turns: -1, Attempts: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	outcomes := map[string]int{}
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		returned, ok := e.Body.(*troupe.ToolReturned)
		if !ok {
			continue
		}
		outcomes[fmt.Sprint("class ", returned.Class)]++
		if strings.Contains(returned.Content, canary) || strings.Contains(returned.Content, "root:x:0") {
			t.Errorf("it returned what is outside: %.500s", returned.Content)
		}
	}
	t.Log(outcomes)
	if outcomes["class unauthorized"] == 0 {
		t.Error("nothing was refused: the test shows nothing")
	}
	if after := corpus.Snapshot(t, world, data); !maps.Equal(before, after) {
		t.Error("what is outside of the sessions and documents changed")
	}
}
