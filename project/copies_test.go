package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
)

// foldersIn lists the folders of sessions that a project has files in.
func foldersIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "data", "agent-outputs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// What another server has deleted is removed here: also where this one was away, and nothing that the database
// may not know yet.
func TestTheFilesOfASessionThatIsDeletedElsewhereAreRemoved(t *testing.T) {
	database := postgrestest.Start(t).Schema()
	f := &fleet{t: t}
	var dirs []string
	var servers []*project.Project
	for range 2 {
		dir := t.TempDir()
		if _, _, err := project.Init(dir); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, project.Name)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(string(text)+"\nstore: "+database+"\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		dirs, servers = append(dirs, dir), append(servers, f.start(dir, project.Options{Model: "rehearsal"}))
	}
	// talk has a session with a file, which both servers have shown.
	talk := func() string {
		f.ask("POST", "/api/sessions", `{"agent":"mira"}`)
		for _, text := range []string{"*decide", "a", "b", "c", "d"} {
			f.ask("POST", "/api/sessions/{id}/messages", `{"text":"`+text+`"}`)
			f.settle()
		}
		for range 2 {
			f.ask("GET", "/api/sessions/{id}/files", "")
		}
		return f.session
	}
	kept, gone, goneLater := talk(), talk(), talk()
	unknown := "0190a0a0-0000-7000-8000-000000000001" // of a store that is yet to be copied into the database
	for _, dir := range dirs {
		if err := os.CopyFS(filepath.Join(dir, "data", "agent-outputs", unknown), os.DirFS(filepath.Join(dir, "data", "agent-outputs", kept))); err != nil {
			t.Fatal(err)
		}
		if n := len(foldersIn(t, dir)); n != 4 {
			t.Fatalf("%d folders: %v", n, foldersIn(t, dir))
		}
	}
	both := f.urls
	remove := func(session string) {
		f.session = session
		f.urls = both[1:]
		if answer := f.ask("DELETE", "/api/sessions/{id}", ""); !strings.HasPrefix(answer, "204") {
			t.Fatal(answer)
		}
	}
	sweep := func(p *project.Project, want int) {
		t.Helper()
		if n, err := p.Sweep(t.Context()); err != nil || n != want {
			t.Errorf("%d removed, %v, want %d", n, err, want)
		}
	}
	remove(gone)
	sweep(servers[0], 1)
	sweep(servers[0], 0)
	servers[0].Close()
	remove(goneLater)
	again, err := project.Open(dirs[0], project.Options{Model: "rehearsal"})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	sweep(again, 1)
	sweep(servers[1], 0)
	for _, dir := range dirs {
		if names := foldersIn(t, dir); len(names) != 2 || names[0] != kept && names[1] != kept {
			t.Errorf("left are %v, want %s and %s", names, kept, unknown)
		}
	}
}
