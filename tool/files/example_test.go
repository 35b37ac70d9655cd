package files_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/workspace"
)

// An author is a model that asks for one call after the other, and prints what
// comes back.
type author []troupe.ToolCall

func (a author) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		turn := 0
		for _, m := range req.Messages {
			if m.Role == troupe.RoleAssistant {
				turn++
			}
		}
		if last := req.Messages[len(req.Messages)-1]; turn > 0 {
			fmt.Println(last.Text)
		}
		if turn < len(a) {
			_ = yield(troupe.Chunk{Call: &a[turn]}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
			return
		}
		_ = yield(troupe.Chunk{Text: "Done."}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
	}
}

// perform runs an agent with these tools, played by a script.
func perform(tools []troupe.Tool, calls ...troupe.ToolCall) {
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "author", Model: author(calls), Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Go ahead."}) {
		if err != nil {
			log.Fatal(err)
		}
	}
}

// exampleDir makes a directory with files in it.
func exampleDir(content map[string]string) string {
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range content {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// An agent that works in one directory.
func ExampleDir() {
	dir := exampleDir(map[string]string{"plan.md": "# Plan\n\nShip on Monday.\n"})
	defer os.RemoveAll(dir)

	tools, err := files.Dir(dir, workspace.ReadWrite)
	if err != nil {
		log.Fatal(err)
	}
	perform(tools,
		troupe.ToolCall{ID: "1", Name: "search_files", Arguments: `{"pattern": "monday", "ignore_case": true}`},
		troupe.ToolCall{ID: "2", Name: "edit_file", Arguments: `{"file_path": "plan.md", "edits": [{"search": "Monday", "replace": "Tuesday"}]}`},
		troupe.ToolCall{ID: "3", Name: "read_file", Arguments: `{"file_path": "plan.md"}`},
	)
	// Output:
	// {"success":true,"matches":1,"files":[{"path":"plan.md","lines":["3:Ship on Monday."]}]}
	// {"success":true,"path":"plan.md","size":25,"lines":[3]}
	// {"success":true,"path":"plan.md","content":"# Plan\n\nShip on Tuesday.\n","size":25}
}

// An agent that reads one directory and writes to another.
func ExampleRoots() {
	docs, drafts := exampleDir(map[string]string{"style.md": "Be brief.\n"}), exampleDir(nil)
	defer os.RemoveAll(docs)
	defer os.RemoveAll(drafts)

	tools, err := files.Roots(
		workspace.Root{Name: "docs", Dir: docs, Access: workspace.ReadOnly},
		workspace.Root{Name: "drafts", Dir: drafts, Access: workspace.ReadWrite},
	)
	if err != nil {
		log.Fatal(err)
	}
	perform(tools,
		troupe.ToolCall{ID: "1", Name: "read_file", Arguments: `{"file_path": "docs/style.md"}`},
		troupe.ToolCall{ID: "2", Name: "write_file", Arguments: `{"file_path": "drafts/post.md", "content": "Hi."}`},
		troupe.ToolCall{ID: "3", Name: "write_file", Arguments: `{"file_path": "docs/post.md", "content": "Hi."}`},
	)
	// Output:
	// {"success":true,"path":"docs/style.md","content":"Be brief.\n","size":10}
	// {"success":true,"path":"drafts/post.md","size":3,"created":true}
	// {"success":false,"error":"Security violation: Access denied: write docs/post.md: writing to docs is not granted","path":"docs/post.md"}
}

// What an agent is told when the text it wants to change is not there as it thinks.
func ExampleEdit() {
	dir := exampleDir(map[string]string{"main.go": "package main\n\nfunc main() {\n\tprintln(\"hi\")\n}\n"})
	defer os.RemoveAll(dir)

	ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: workspace.SessionFolder, Dir: dir, Access: workspace.ReadWrite}}})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	edit := files.Edit(func(session string) (*workspace.Workspace, error) { return ws, nil })
	perform([]troupe.Tool{edit},
		troupe.ToolCall{ID: "1", Name: "edit_file", Arguments: `{"file_path": "main.go", "edits": [{"search": "    println(\"hi\")", "replace": "    println(\"bye\")"}]}`},
		troupe.ToolCall{ID: "2", Name: "edit_file", Arguments: `{"file_path": "main.go", "edits": [{"search": "main", "replace": "run"}]}`},
	)
	// Output:
	// {"success":false,"error":"the search text is in the file only with other spaces, tabs or line breaks; nearest_lines shows them; nothing was changed","path":"main.go","nearest_lines":["4:\tprintln(\"hi\")"]}
	// {"success":false,"error":"the search text occurs 2 times; add lines around it until it can mean only one place; nothing was changed","path":"main.go","found_at_lines":[1,3]}
}
