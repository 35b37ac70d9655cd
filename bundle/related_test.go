package bundle

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
)

// reading is a model that reads one file and then says what it got.
type reading struct{ file string }

func (r reading) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == troupe.RoleTool {
			_ = yield(troupe.Chunk{Text: last.Text}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
			return
		}
		call := troupe.ToolCall{ID: "1", Name: "read_file", Arguments: `{"file_path":"` + r.file + `"}`}
		_ = yield(troupe.Chunk{Call: &call}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
	}
}

// The files of a session that the user has linked can be read, those of others cannot,
// and a link that is taken away is gone.
func TestOnlyLinkedSessionsCanBeRead(t *testing.T) {
	dir := project(t)
	c := find(t, dir, Config{})
	folders := t.TempDir()
	for n, text := range []string{"mine", "another's"} {
		if err := os.MkdirAll(filepath.Join(folders, uuid(n)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folders, uuid(n), "brief.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	ask := func(session, file string, linked ...string) string {
		t.Helper()
		agent, err := c.Agent("alex", Options{Model: reading{file}, Outputs: folders})
		if err != nil {
			t.Fatal(err)
		}
		input := troupe.Input{Session: session, Text: "Read it."}
		if linked != nil {
			input.Custom, input.Values = outputs.Related(linked)
		}
		said := ""
		for e, err := range engine.Run(t.Context(), agent, input) {
			if err != nil {
				t.Fatal(err)
			}
			if end, ok := e.Body.(*troupe.RunFinished); ok {
				said = end.Output.Summary
			}
		}
		return said
	}
	file := "{session-" + uuid(0) + "}/brief.md"
	if said := ask(uuid(7), file, uuid(0)); !strings.Contains(said, "mine") {
		t.Errorf("a linked session's file: %s", said)
	}
	for _, said := range []string{
		ask(uuid(7), file), ask(uuid(8), "{session-"+uuid(1)+"}/brief.md", uuid(0)), ask(uuid(9), "{agent-outputs}/"+uuid(1)+"/brief.md", uuid(0)),
	} {
		if strings.Contains(said, "mine") || strings.Contains(said, "another's") {
			t.Errorf("what is not linked is read: %s", said)
		}
	}
}
