package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// canary is in files that no agent may read: outside of all roots, in keys, in
// other people's sessions.
const canary = "CANARY-7f3a"

// A world is a project with a bundle, a core and two sessions, and a place outside.
//
//	<dir>/outside/canary.txt
//	<dir>/project/.env
//	<dir>/project/docs/plan.md
//	<dir>/project/bmad/core/tasks/workflow.md
//	<dir>/project/bmad/custom/bundles/demo/config.yaml
//	<dir>/project/bmad/custom/bundles/demo-evil/canary.txt
//	<dir>/project/data/agent-outputs/one/notes.md
//	<dir>/project/data/agent-outputs/two/canary.txt
type world struct {
	dir                                     string
	outside, project, bundle, core, session string
}

func newWorld(t testing.TB) world {
	t.Helper()
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	w := world{
		dir:     dir,
		outside: filepath.Join(dir, "outside"),
		project: project,
		bundle:  filepath.Join(project, "bmad/custom/bundles/demo"),
		core:    filepath.Join(project, "bmad/core"),
		session: filepath.Join(project, "data/agent-outputs/one"),
	}
	put(t, w.outside, "canary.txt", canary)
	put(t, project, ".env", canary)
	put(t, project, "deploy/server.pem", canary)
	put(t, project, "docs/plan.md", "the plan")
	put(t, w.core, "tasks/workflow.md", "the workflow engine")
	put(t, w.bundle, "config.yaml", "user_name: Ada\n")
	put(t, w.bundle, "workflows/intake/workflow.yaml", "name: intake\n")
	put(t, w.bundle, "workflows/intake/steps/step-01.md", "step one")
	put(t, w.bundle+"-evil", "canary.txt", canary)
	put(t, w.session, "notes.md", "notes")
	put(t, project, "data/agent-outputs/two/canary.txt", canary)
	return w
}

// open gives an agent what it has by default, and the roots given, which replace
// a default one of the same name.
func (w world) open(t testing.TB, further ...Root) *Workspace {
	t.Helper()
	roots := []Root{
		{Name: BundleRoot, Dir: w.bundle, Access: ReadOnly},
		{Name: CoreRoot, Dir: w.core, Access: ReadOnly},
		{Name: ProjectRoot, Dir: w.project},
		{Name: SessionFolder, Dir: w.session, Access: ReadWrite},
	}
	for _, r := range further {
		replaced := false
		for i := range roots {
			if roots[i].Name == r.Name {
				roots[i], replaced = r, true
			}
		}
		if !replaced {
			roots = append(roots, r)
		}
	}
	return openWith(t, Config{Roots: roots, Values: map[string]string{"session-id": "one", "date": "2026-11-15"}})
}

func openWith(t testing.TB, c Config) *Workspace {
	t.Helper()
	ws, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return ws
}

func put(t testing.TB, dir, name, content string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func link(t testing.TB, target, dir, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func read(ws *Workspace, name string) (string, error) {
	loc, err := ws.Resolve(name)
	if err != nil {
		return "", err
	}
	return ws.ReadFile(loc)
}

func write(ws *Workspace, name, content string) (Location, error) {
	loc, _, err := ws.ResolveOutput(name)
	if err != nil {
		return loc, err
	}
	return loc, ws.Write(loc, []byte(content))
}

func wantRead(t *testing.T, ws *Workspace, name, want string) {
	t.Helper()
	if got, err := read(ws, name); err != nil || got != want {
		t.Errorf("read %s = %q, %v; want %q", name, got, err, want)
	}
}

// wantRefusal checks that an error is of the wanted kind, and that it tells
// nothing about the host.
func wantRefusal(t *testing.T, err, want error, hostDir string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v; want %v", err, want)
	}
	if err == nil {
		return
	}
	if strings.Contains(err.Error(), hostDir) {
		t.Errorf("error shows the host's directory: %v", err)
	}
	if len(err.Error()) > 2048 {
		t.Errorf("error has %d bytes", len(err.Error()))
	}
	if want == ErrDenied && !strings.HasPrefix(err.Error(), "Security violation: Access denied: ") {
		t.Errorf("refusal reads %q", err)
	}
}
