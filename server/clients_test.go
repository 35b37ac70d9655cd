package server

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
)

// runClient has a client by others talk to the server, and returns what it reports.
func (w *world) runClient(script string, packages ...string) (report map[string]any) {
	w.t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		w.t.Skipf("node is not installed, and %s needs it", script)
	}
	modules := filepath.Join(corpus.ModuleRoot(w.t), "tools", "npm", "node_modules")
	for _, name := range packages {
		if found, _ := filepath.Glob(filepath.Join(modules, name, "package.json")); found == nil {
			w.t.Skipf("%s is not installed: run make setup", name)
		}
	}
	client := exec.CommandContext(w.t.Context(), node, filepath.Join("testdata", script), w.url+"/v1", w.token, modules)
	var complaint strings.Builder
	client.Stderr = &complaint
	data, err := client.Output()
	if err != nil {
		w.t.Fatalf("%s: %v: %s%s", script, err, data, complaint.String())
	}
	if err := json.Unmarshal(data, &report); err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, data)
	}
	return report
}

// inOneSession checks that a client's conversation is one on record.
func (w *world) inOneSession(report map[string]any) {
	w.t.Helper()
	session, _ := report["session"].(string)
	var said []string
	for e, err := range w.store.Events(w.t.Context(), session, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		if user, ok := e.Body.(*troupe.UserSaid); ok {
			said = append(said, user.Text)
		}
	}
	if diff := cmp.Diff([]string{"hello", "again"}, said); diff != "" {
		w.t.Errorf("session %s: %s", session, diff)
	}
	delete(report, "session")
}

func TestOpenAIsOwnClientIsServed(t *testing.T) {
	w := open(t, clerk(t, echo()))
	report := w.runClient("openai.mjs", "openai")
	w.inOneSession(report)
	want := map[string]any{
		"models": []any{"clerk", "round"}, "model": "round",
		"first": "You said: hello", "finish": "stop", "usage": 10.0, "second": "You said: again", "streamUsage": 10.0, "runner": "You said: hi",
		"noModel": []any{"NotFoundError", 404.0, "model_not_found", "model"}, "noKey": []any{"AuthenticationError", 401.0, "invalid_api_key", nil},
		"tools": []any{"BadRequestError", 400.0, "unsupported_parameter", "tools"},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
}

func TestVercelsSDKIsServed(t *testing.T) {
	w := open(t, clerk(t, echo()))
	report := w.runClient("ai.mjs", "ai", "@ai-sdk/openai-compatible")
	w.inOneSession(report)
	want := map[string]any{
		"first": "You said: hello", "finish": "stop", "usage": 10.0, "second": "You said: again", "streamUsage": 10.0,
		"noModel": []any{404.0, `there is no agent or flow named "nobody"`},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
}
