package pipeline_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/workspace"
)

// explore returns what discovery gets to see of a project.
func explore(t *testing.T, dir string) (pipeline.FileMap, *world) {
	t.Helper()
	ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: workspace.ProjectRoot, Dir: dir, Access: workspace.ReadOnly}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	w := newWorld(t)
	c := w.config()
	c.Project, c.From, c.To = ws, "discovery", "discovery"
	s, _ := mustEnd(t, deliver(t, c))
	var files pipeline.FileMap
	for _, e := range s.events() {
		if b, ok := e.Body.(*troupe.ToolReturned); ok && b.Tool == "gather_files" {
			if err := json.Unmarshal([]byte(b.Content), &files); err != nil {
				t.Fatalf("%v: %s", err, b.Content)
			}
		}
	}
	return files, w
}

func TestDiscoverySeesTheProjectAndNoSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"README.md": "# A todo list", "main.go": "package main", "web/todo/page.go": "package todo", "logo.png": "\x89PNG\x00\x00",
		".env": "CANARY", ".git/config": "CANARY", "deploy/server.key": "CANARY", "credentials.json": "CANARY",
		"node_modules/left-pad/index.js": "CANARY", "a/b/c/d/e/f/g/h/i.txt": "deep",
	} {
		mustWrite(t, dir, name, content)
	}
	files, w := explore(t, dir)
	var names []string
	for _, f := range files.Files {
		names = append(names, f.Path)
	}
	if want := []string{"README.md", "logo.png", "main.go", "web/todo/page.go"}; !slices.Equal(names, want) {
		t.Errorf("it lists %q", names)
	}
	if len(files.Excerpts) != 3 || files.Excerpts[0].Path != "README.md" {
		t.Errorf("it shows %+v", files.Excerpts)
	}
	prompt := w.prompt("discovery")
	for _, part := range []string{"# A todo list", "node_modules/ holds", "logo.png is binary", "is too deep", "dot-files and keys are never shown"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("discovery is not told %q: %s", part, prompt)
		}
	}
	if strings.Contains(prompt, "CANARY") || strings.Contains(prompt, dir) {
		t.Errorf("discovery is told a secret: %s", prompt)
	}
}

func TestAFileMapKeepsToItsBudget(t *testing.T) {
	dir := t.TempDir()
	for i := range 1100 {
		mustWrite(t, dir, fmt.Sprintf("d%d/f%d.txt", i%7, i), strings.Repeat("x", 6<<10))
	}
	files, _ := explore(t, dir)
	size := 0
	for _, e := range files.Excerpts {
		size += len(e.Text)
		if !e.Truncated {
			t.Errorf("%s is not marked as cut", e.Path)
		}
	}
	if len(files.Files) != 1000 || size > 48<<10 || size < 40<<10 {
		t.Errorf("%d files, %d bytes of excerpts", len(files.Files), size)
	}
	if told := strings.Join(files.LeftOut, "\n"); !strings.Contains(told, "100 more files") || !strings.Contains(told, "listed without an excerpt") {
		t.Errorf("left out: %s", told)
	}
}

func TestWithoutAProjectNothingIsGathered(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.From, c.To = "discovery", "discovery"
	s, _ := mustEnd(t, deliver(t, c))
	for _, e := range s.events() {
		if b, ok := e.Body.(*troupe.ToolCalled); ok && b.Tool == "gather_files" {
			t.Error("files were gathered")
		}
	}
}
