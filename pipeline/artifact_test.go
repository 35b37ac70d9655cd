package pipeline_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/workspace"
)

func mustWrite(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// artifacts delivers the requirements alone, with these artifacts.
func artifacts(t *testing.T, w *world, list ...object) *session {
	t.Helper()
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		answer["artifacts"] = list
		return encode(answer)
	}
	c := w.config()
	c.To = "requirements"
	s, _ := mustEnd(t, deliver(t, c))
	return s
}

func TestNoPathLeadsOutOfTheOutputRoot(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Dir(w.output)
	outside := filepath.Join(dir, "outside")
	mustWrite(t, outside, "canary.txt", "canary")
	for name, target := range map[string]string{"link-out": outside, "link-canary": outside + "/canary.txt", "link-up": "../.."} {
		if err := os.Symlink(target, filepath.Join(w.output, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := corpus.Snapshot(t, dir, w.output)
	names := corpus.AttackNames(t, 3000, dir)
	if testing.Short() {
		names = names[len(names)-300:]
	}
	var list []object
	for _, name := range names {
		list = append(list, object{"name": "a.md", "path": name, "content": "written by an agent", "type": "file"})
	}
	s := artifacts(t, w, list...)
	states := map[string]int{}
	for _, a := range s.result("requirements").Artifacts {
		states[a.State]++
		if a.State == pipeline.StateSaved && strings.Contains(a.Path, "..") && slices.Contains(strings.Split(a.Path, "/"), "..") {
			t.Errorf("saved %q", a.Path)
		}
		if strings.Contains(a.Error, dir) && !strings.Contains(a.Path, dir) {
			t.Errorf("the host's path is told: %s", a.Error)
		}
	}
	if t.Log(len(names), "names:", states); states[pipeline.StateSaved] == 0 || states[pipeline.StateFailed] < len(names)/2 {
		t.Error("the test shows nothing")
	}
	if after := corpus.Snapshot(t, dir, w.output); !maps.Equal(before, after) {
		t.Errorf("what is outside of the output root changed from %v to %v", before, after)
	}
}

func TestPathsThatAreNotPlainlyBelowTheRootAreRefused(t *testing.T) {
	w := newWorld(t)
	bad := []string{"/etc/passwd", "../x.md", "a/../../x.md", "a/../b.md", `a\b.md`, "C:/x.md", "{output}/x.md", "{session-folder}/x.md", "a/", "a\x00.md", ".env", "a/.git/hooks/pre-commit", "id_rsa", "NUL"}
	var list []object
	for _, name := range bad {
		list = append(list, object{"name": "", "path": name, "content": "x", "type": "file"})
	}
	s := artifacts(t, w, append(list, object{"name": "good.md", "path": "./docs//good.md", "content": "x", "type": "file"})...)
	for i, a := range s.result("requirements").Artifacts[:len(bad)] {
		if a.State != pipeline.StateFailed || a.Error == "" {
			t.Errorf("%q: %+v", bad[i], a)
		}
	}
	if files := w.files(); len(files) != 1 || files["docs/good.md"] != "x" {
		t.Errorf("it wrote %v", files)
	}
	if r := s.result("requirements"); r.Status != "partial" || s.codes()["artifact_failed"] != len(bad) {
		t.Errorf("status %s, warned %v", r.Status, s.codes())
	}
}

func TestAnArtifactIsWrittenOnce(t *testing.T) {
	w := newWorld(t)
	file := object{"name": "a.md", "path": "a.md", "content": "one\n", "type": "file"}
	other := object{"name": "a.md", "path": "a.md", "content": "two\n", "type": "file"}
	s := artifacts(t, w, file, file, other)
	var changes []string
	for _, a := range s.result("requirements").Artifacts {
		changes = append(changes, a.Change)
	}
	if !slices.Equal(changes, []string{"created", "unchanged", "changed"}) || w.files()["a.md"] != "two\n" {
		t.Errorf("got %q, %v", changes, w.files())
	}
	info, err := os.Stat(filepath.Join(w.output, "a.md"))
	if err != nil {
		t.Fatal(err)
	}
	artifacts(t, w, other)
	if again, err := os.Stat(filepath.Join(w.output, "a.md")); err != nil || !os.SameFile(info, again) || again.ModTime() != info.ModTime() {
		t.Errorf("the same content was written again: %v", err)
	}
}

func TestDatesAndFeaturesAreFilledIn(t *testing.T) {
	w := newWorld(t)
	s := artifacts(t, w, object{"name": "a.md", "path": "a/YYYY-MM-DD-feature.md", "content": "x"}, object{"name": "b.md", "path": "<feature>/YYYY-MM-DD.md", "content": "x"},
		object{"name": "c.md", "path": "d/", "content": "x"}, object{"name": "e.md", "content": "x"})
	date := s.events()[0].Time.Format("2006-01-02")
	want := []string{"a/" + date + "-create-a-simple-todo-app-fur-zoe.md", "create-a-simple-todo-app-fur-zoe/" + date + ".md", "d/c.md", "specs/user-stories/e.md"}
	if got := slices.Sorted(maps.Keys(w.files())); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestOnlyWhatThePhaseWroteIsUploaded(t *testing.T) {
	w := newWorld(t)
	open, calls := w.open(w.output), 0
	c := w.config()
	c.To = "requirements"
	c.Output = func(session string) (*workspace.Workspace, error) {
		if calls++; calls == 2 {
			mustWrite(t, w.output, "a.md", "somebody else's")
		}
		return open(session)
	}
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		answer["artifacts"] = []object{{"name": "a.md", "path": "a.md", "content": "mine", "type": "gkchatty"}}
		return encode(answer)
	}
	s, _ := mustEnd(t, deliver(t, c))
	if a := s.result("requirements").Artifacts[0]; a.State != pipeline.StateFailed || !strings.Contains(a.Error, "has changed since") || len(w.shelf.documents) != 0 {
		t.Errorf("got %+v, uploaded %v", a, w.shelf.documents)
	}
}
