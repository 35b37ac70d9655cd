package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/troupetest"
)

// The log is what the method's own script makes of the same session.
func TestAMemlogIsWhatTheScriptMakes(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(corpus.Path(t, "bmad/customization-vectors"), "memlog", "memlog.expected.md"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 15, 8, 54, 0, 0, time.UTC)
	text, isThere := "", false
	for i, in := range []memlogRequest{
		{Action: "init", Fields: map[string]string{"topic": "A lamp"}},
		{Action: "set", Key: "goal", Value: "sell"},
		{Action: "append", Type: "decision", By: "user", Text: "One button only."},
		{Action: "append", Text: "plain note"},
		{Action: "append", By: "coach", Text: "two\nlines"},
		{Action: "set", Key: "goal", Value: "sell 100"},
	} {
		in.Workspace = "ws"
		l, err := changeMemlog(text, isThere, in, now)
		if err != nil {
			t.Fatal(i, err)
		}
		text, isThere = l.String(), true
	}
	if text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if _, err := changeMemlog(text, true, memlogRequest{Action: "init", Workspace: "ws"}, now); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second beginning: %v", err)
	}
}

// An agent of the versions that have it keeps a log with a tool, in the run's folder.
func TestAgentsKeepAMemlog(t *testing.T) {
	dir := unpackTree(t, "toml")
	c := find(t, dir, Config{})
	s := play(t, c, "pm", Options{Outputs: filepath.Join(dir, "data", "agent-outputs")},
		troupetest.Call("memlog", `{"action":"init","workspace":"{planning_artifacts}/prds/prd-x","fields":{"topic":"Lamps"}}`),
		troupetest.Call("memlog", `{"action":"append","workspace":"{planning_artifacts}/prds/prd-x","type":"decision","text":"One button"}`),
		troupetest.Call("read_file", `{"file_path":"{planning_artifacts}/prds/prd-x/.memlog.md"}`), troupetest.Say("Done."))
	got := s.say("log it")
	if !strings.Contains(got[1].Content, `"entries":1`) || !strings.Contains(got[2].Content, `topic: Lamps`) || !strings.Contains(got[2].Content, `- (decision) One button`) {
		t.Errorf("%+v, %+v, %+v", got[0], got[1], got[2])
	}
	older := find(t, unpackTree(t, "compiled"), Config{})
	if specs, err := older.Tools("pm", Options{}); err != nil || len(specs) == 0 || specs[len(specs)-1].Name == "memlog" {
		t.Errorf("an older version has it, too: %v", err)
	}
}
