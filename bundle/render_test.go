package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/troupetest"
)

// A skill that must be rendered is rendered as BMAD's own script does.
func TestASkillIsRenderedAsItsAuthorsDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(corpus.Path(t, "bmad/installed-6.12.0"))); err != nil {
		t.Fatal(err)
	}
	s := play(t, find(t, dir, Config{}), "Amelia", Options{},
		troupetest.Call("execute_workflow", `{"workflow_path":"bmad-build"}`), troupetest.Say("Done."))
	result := object(t, s.say("BD")[0])
	const snapshot = "{session-folder}/.rendered/bmad-build"
	wants, err := filepath.Glob(filepath.Join(corpus.Path(t, "bmad/customization-vectors/render-bmad-build"), "*.expected.md"))
	if err != nil || len(wants) < 4 {
		t.Fatal(wants, err)
	}
	for _, file := range wants {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".expected.md")
		got, err := os.ReadFile(filepath.Join(dir, "data", "agent-outputs", s.session, ".rendered", "bmad-build", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "{snapshot}", snapshot), string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if text, _ := result["instructions"].(string); !strings.Contains(text, snapshot) || strings.Contains(text, "render_skill.py") {
		t.Errorf("the instructions are %.300s", text)
	}
}
