package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/workspace"
)

// An editor has files open, by their paths, and writes what it is told to.
type editor struct {
	open  map[string]string
	saves bool
	asked []string
}

func (e *editor) Read(path string) (string, bool) {
	e.asked = append(e.asked, path)
	text, ok := e.open[path]
	return text, ok
}

func (e *editor) Write(path, text string) bool {
	e.open[path] = text
	return e.saves && os.WriteFile(path, []byte(text), 0o600) == nil
}

// Files of the project are read and written as they stand in the editor; those of the
// session, and what may not be opened, are none of its business.
func TestFilesThatAreOpenInAnEditor(t *testing.T) {
	project, session := t.TempDir(), t.TempDir()
	for _, dir := range []string{project, session} {
		if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("saved"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := &editor{saves: true, open: map[string]string{
		filepath.Join(project, "a.md"): "open", filepath.Join(session, "a.md"): "open", filepath.Join(project, ".env"): "KEY=k",
	}}
	ws, err := workspace.Open(workspace.Config{Buffers: e, Roots: []workspace.Root{
		{Name: workspace.ProjectRoot, Dir: project, Access: workspace.ReadWrite}, {Name: workspace.SessionFolder, Dir: session, Access: workspace.ReadWrite},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for name, want := range map[string]string{"{project-root}/a.md": "open", "{session-folder}/a.md": "saved"} {
		loc, err := ws.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ws.ReadText(loc, 0, 0); err != nil || got.Content != want {
			t.Errorf("%s: %q, %v", name, got.Content, err)
		}
		if got, err := ws.ReadFile(loc); err != nil || got != "saved" {
			t.Errorf("%s on disk: %q, %v", name, got, err)
		}
	}
	if loc, err := ws.Resolve("{project-root}/.env"); err == nil {
		if _, err := ws.ReadCurrent(loc); err == nil {
			t.Error("a key was read")
		}
	}
	if len(e.asked) != 1 {
		t.Errorf("the editor was asked for %v", e.asked)
	}
	put := func(name, text string) {
		t.Helper()
		loc, _, err := ws.ResolveOutput(name)
		if err == nil {
			err = ws.Write(loc, []byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	onDisk := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(project, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	put("{project-root}/a.md", "written")
	onDisk("a.md", "written")
	if e.open[filepath.Join(project, "a.md")] != "written" {
		t.Error("the editor does not know")
	}
	e.saves = false // it says that it could not
	put("{project-root}/a.md", "by ourselves")
	onDisk("a.md", "by ourselves")
}
