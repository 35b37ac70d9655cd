package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// A process that is killed in the middle of a run loses nothing that it had done:
// another one goes on, and asks for nothing that it had been told.
func TestAKilledRunIsResumed(t *testing.T) {
	reached := make(chan struct{})
	save := troupe.ToolCall{ID: "c1", Name: "save_output", Arguments: `{"file_path":"{session-folder}/note.md","content":"once"}`}
	server := troupetest.NewServer(t,
		troupetest.ServeCalls(save),
		troupetest.ServeText("The beginning of an answer").PauseAfterChunks(2, reached),
		troupetest.ServeText("Saved, as you asked."),
	)
	dir := newProject(t, strings.TrimSuffix(server.URL, "/v1"))
	environment := []string{"CANARY=k"}
	p := start(t, dir, environment, nil, "run", "mira", "Save a note.")
	for began := time.Now(); len(server.Requests()) < 2; runtime.Gosched() {
		if time.Since(began) > 5*time.Minute {
			p.Process.Kill()
			p.code()
			t.Fatalf("it does not come to its second request: %s", &p.err)
		}
	}
	p.Process.Kill()
	if code := p.code(); code != -1 {
		t.Fatalf("it ended by itself with %d: %s", code, &p.err)
	}
	close(reached)
	manifests, err := filepath.Glob(filepath.Join(dir, "data", "agent-outputs", "*", "manifest.json"))
	if err != nil || len(manifests) != 1 {
		t.Fatal(manifests, err)
	}
	session := filepath.Base(filepath.Dir(manifests[0]))
	again := start(t, dir, environment, nil, "sessions", "resume", session[:8])
	if code := again.code(); code != 0 || !strings.Contains(again.out.String(), "Saved, as you asked.") {
		t.Fatalf("exit code %d\n%s\n%s", code, &again.out, &again.err)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests in all, want 3: the first answer was on record", n)
	}
	log := start(t, dir, environment, nil, "sessions", "show", "--events", session)
	log.code()
	if n := strings.Count(log.out.String(), `"kind":"tool_returned"`); n != 1 {
		t.Errorf("the tool ran %d times:\n%s", n, &log.out)
	}
	if note, err := os.ReadFile(filepath.Join(dir, "data", "agent-outputs", session, "note.md")); err != nil || string(note) != "once" {
		t.Errorf("%q, %v", note, err)
	}
}
