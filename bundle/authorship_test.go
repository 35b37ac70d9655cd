package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/troupetest"
)

// What a person wrote is not replaced by an agent that has not looked at it; what agents
// wrote may be, and so may what was read.
func TestWhatAPersonWroteIsNotReplacedUnread(t *testing.T) {
	dir := unpackTree(t, "compiled")
	c := find(t, dir, Config{})
	const status = "_bmad-output/implementation-artifacts/sprint-status.yaml"
	put(t, dir, status, "development_status:\n  1-1-login: готово # by hand\n")
	file := filepath.Join(dir, filepath.FromSlash(status))
	content := func() string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	save := func(text string) troupetest.Turn {
		return troupetest.Call("save_output", `{"file_path":"{implementation_artifacts}/sprint-status.yaml","content":"`+text+`"}`)
	}
	read := troupetest.Call("read_file", `{"file_path":"{implementation_artifacts}/sprint-status.yaml"}`)
	done := troupetest.Say("Done.")
	s := play(t, c, "pm", Options{Outputs: filepath.Join(dir, "data", "agent-outputs"), Documents: Documents{Dir: t.TempDir(), InPlace: true}},
		save("mine"), done, read, save("ours"), done, save("ours again"), done, save("lost"), done)
	if got := s.say("save it"); got[0].Error == "" || !strings.Contains(got[0].Content, "a person has written or changed this document") {
		t.Errorf("it is replaced unread: %+v", got[0])
	}
	if !strings.Contains(content(), "by hand") {
		t.Errorf("what the person wrote is gone: %s", content())
	}
	if got := s.say("read and save it"); got[1].Error != "" || content() != "ours" {
		t.Errorf("what was read is not saved: %+v", got[1])
	}
	if got := s.say("save it again"); got[0].Error != "" || content() != "ours again" {
		t.Errorf("what an agent wrote is not saved: %+v", got[0])
	}
	put(t, dir, status, "theirs\n")
	if got := s.say("once more"); got[0].Error == "" || content() != "theirs\n" {
		t.Errorf("a change in between is lost: %+v, %s", got[0], content())
	}
}

// A task of the engine that a bundle names and does not bring along is there all the same.
func TestTasksOfTheEngineAreProvided(t *testing.T) {
	dir := unpackTree(t, "compiled")
	c := find(t, dir, Config{})
	s := play(t, c, "pm", Options{Outputs: t.TempDir()},
		troupetest.Call("read_file", `{"file_path":"_bmad/core/tasks/validate-workflow.xml"}`),
		troupetest.Call("read_file", `{"file_path":"{project-root}/_bmad/core/tasks/other.xml"}`), troupetest.Say("Done."))
	got := s.say("validate")
	if got[0].Error != "" || !strings.Contains(got[0].Content, "PARTIAL") {
		t.Errorf("validating: %+v", got[0])
	}
	if got[1].Error == "" {
		t.Errorf("another task is there: %+v", got[1])
	}
}
