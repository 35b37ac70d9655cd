package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// An agent of troupe.yaml looks for files that are not there, searches a granted
// directory, writes a path with a stray space, and changes a file after a first
// try that did not fit: what models do, played by a model server.
func TestAnAgentSearchesAndEditsGrantedFiles(t *testing.T) {
	call := func(id, tool, arguments string) troupetest.Exchange {
		return troupetest.ServeCalls(troupe.ToolCall{ID: id, Name: tool, Arguments: arguments})
	}
	server := troupetest.NewServer(t,
		call("c1", "read_file", `{"file_path":"{docs}/a.md"}`),
		call("c2", "read_file", `{"file_path":"{docs}/b.md"}`),
		call("c3", "read_file", `{"file_path":"{docs}/c.md"}`),
		call("c4", "search_files", `{"pattern":"monday","path":"{docs}","ignore_case":true}`),
		call("c5", "read_file", `{"file_path":" {docs}/plan.md\n","line":3,"lines":1}`),
		call("c6", "edit_file", `{"file_path":"{docs}/plan.md","edits":[{"search":"Ship  on Monday.","replace":"Ship on Tuesday."}]}`),
		call("c7", "edit_file", `{"file_path":"{docs}/plan.md","edits":[{"search":"Ship on Monday.","replace":"Ship on Tuesday."}]}`),
		troupetest.ServeText("Moved to Tuesday."),
	)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"troupe.yaml":  "model: local/m\nproviders: {local: {base_url: \"" + server.URL + "\"}}\nagents:\n  editor: {instructions: You edit., tools: [read_file, search_files, edit_file], write: {docs: ./docs}}\n",
		"docs/plan.md": "# Plan\n\nShip on Monday.\nRest.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir, nil, nil, "run", "editor", "Move the date to Tuesday.")
	if code := p.code(); code != 0 || !strings.Contains(p.out.String(), "Moved to Tuesday.") {
		t.Fatalf("exit code %d\n%s\n%s", code, &p.out, &p.err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "docs/plan.md")); err != nil || string(text) != "# Plan\n\nShip on Tuesday.\nRest.\n" {
		t.Errorf("the plan is %q, %v", text, err)
	}
	asked := server.Requests()
	conversation := string(asked[len(asked)-1].Body)
	for _, told := range []string{
		`read {docs}/c.md: not found`,
		`3:Ship on Monday.`,
		`\"content\":\"Ship on Monday.\\n\"`,
		`only with other spaces, tabs or line breaks`,
		`\"success\":true,\"path\":\"{docs}/plan.md\"`,
	} {
		if !strings.Contains(conversation, told) {
			t.Errorf("the model was not told %s in\n%s", told, conversation)
		}
	}
}
