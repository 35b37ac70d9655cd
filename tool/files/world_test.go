package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is in files that no agent may read.
const canary = "CANARY-51c0"

const (
	session      = "0b0e6a52-1f0d-4a52-9b6c-2f6f6f3c9a01"
	otherSession = "0b0e6a52-1f0d-4a52-9b6c-2f6f6f3c9a02"
)

// A world is a project with a bundle and two sessions, and a place outside of it.
type world struct {
	dir, outside, project, bundle, session string
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
		session: filepath.Join(project, "data/agent-outputs", session),
	}
	put(t, w.outside, "canary.txt", canary)
	put(t, project, ".env", canary)
	put(t, project, "data/agent-outputs/"+otherSession+"/canary.txt", canary)
	put(t, w.bundle, "config.yaml", "user_name: Ada\n")
	put(t, w.bundle, "templates/page.html", "<p>\"Tom & Ada\"</p>\n")
	put(t, w.bundle, "templates/lines.txt", "one\ntwo\nthree\nfour")
	put(t, w.bundle, "templates/short.txt", "a\nb\nc\n")
	put(t, w.session, "notes.md", "Grüße\n")
	return w
}

func put(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// open returns what finds the workspace that the session has by default.
func (w world) open(t testing.TB) Finder {
	t.Helper()
	ws, err := workspace.Open(workspace.Config{
		Roots: []workspace.Root{
			{Name: workspace.BundleRoot, Dir: w.bundle, Access: workspace.ReadOnly},
			{Name: workspace.ProjectRoot, Dir: w.project},
			{Name: workspace.SessionFolder, Dir: w.session, Access: workspace.ReadWrite},
		},
		Values: map[string]string{"session-id": session, "date": "2026-11-15"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	ws = ws.With(ws.Vars().WithConfig(map[string]string{"output_folder": "{project-root}/docs", "dotdot": ".."}))
	return func(id string) (*workspace.Workspace, error) {
		if id != session {
			return nil, fmt.Errorf("session %s is not at %s", id, w.dir)
		}
		return ws, nil
	}
}

// A play is a step that a test wrote.
type play func(context.Context, *troupe.Run) error

func (play) Name() string { return "play" }

func (play) Definition() *troupe.Definition { return &troupe.Definition{Kind: "step", Name: "play"} }

func (p play) Do(ctx context.Context, run *troupe.Run, _ troupe.Handoff) (troupe.Handoff, error) {
	return troupe.Handoff{}, p(ctx, run)
}

// inRun plays p in the session and returns the files that went on record.
func inRun(t testing.TB, id string, p play) []*troupe.ArtifactSaved {
	t.Helper()
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var saved []*troupe.ArtifactSaved
	for event, err := range engine.Run(t.Context(), p, troupe.Input{Session: id}) {
		if err != nil {
			t.Fatal(err)
		}
		if body, ok := event.Body.(*troupe.ArtifactSaved); ok {
			saved = append(saved, body)
		}
	}
	return saved
}

// call calls a tool and returns what the model is told, and the class of failure.
func call(ctx context.Context, run *troupe.Run, tool troupe.Tool, arguments any) (content string, class string) {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	result, err := tool.Call(ctx, &troupe.Invocation{ID: "call", Arguments: data, Run: run})
	if err == nil {
		return result.Content, ""
	}
	failure, ok := err.(*troupe.ToolError)
	if !ok {
		panic(fmt.Sprintf("%T: %v", err, err))
	}
	return failure.Content, failure.Class
}

type object = map[string]any
