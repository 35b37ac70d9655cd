package outputs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestAUselessManifestIsSetAsideAndMadeAgain(t *testing.T) {
	mine := `,"session_id":"` + id(1) + `"`
	for name, content := range map[string]string{
		"garbage": "\x00\x01", "cut short": `{"version":"1.0.0"` + mine, "empty": "", "not an object": `[1]`, "null": `null`,
		"of another session": `{"version":"1.0.0","session_id":"` + id(2) + `"}`, "of no version": `{"outputs":[]}`,
		"of a future version": `{"version":"2.0.0"` + mine + `}`, "of wrong types": `{"version":"1.0.0"` + mine + `,"outputs":"none"}`,
		"followed by something": `{"version":"1.0.0"` + mine + `} x`, "too large": strings.Repeat(" ", maxManifest+1),
	} {
		t.Run(name, func(t *testing.T) {
			var log journal
			f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{Log: log.logger()})
			appendTo(t, f, id(1), 1, begun("hi")...)
			for i, kept := range []string{content, content + " "} {
				put(t, fileIn(t, f, id(1), manifestFile), kept)
				appendTo(t, f, id(1), 3+int64(i), &troupe.ArtifactSaved{Path: fmt.Sprintf("{session-folder}/%d.md", i)})
				askFor(t, f, id(1))
				if m := load(t, f, id(1)); m.SessionID != id(1) || len(m.Outputs) != 1+i || m.UserSummary != "hi" {
					t.Errorf("the manifest says %+v", m)
				}
			}
			aside, err := filepath.Glob(fileIn(t, f, id(1), "manifest.damaged*.json"))
			if err != nil || len(aside) != 2 {
				t.Fatalf("set aside were %v, %v", aside, err)
			}
			if first, err := os.ReadFile(fileIn(t, f, id(1), damagedFile)); err != nil || string(first) != content {
				t.Errorf("the first manifest set aside is %.100q, %v", first, err)
			}
			if log.count("manifest made again from the log") != 2 || log.count("session="+id(1)) != 2 {
				t.Errorf("the log says %s", log.text.String())
			}
		})
	}
}

func TestADirectoryOrALinkInTheManifestsPlaceIsSetAside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.json")
	put(t, outside, "canary")
	for name, replace := range map[string]func(file string) error{
		"directory": func(file string) error { return os.Mkdir(file, 0o700) },
		"link":      func(file string) error { return os.Symlink(outside, file) },
	} {
		f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
		appendTo(t, f, id(1), 1, begun("hi")...)
		askFor(t, f, id(1))
		file := fileIn(t, f, id(1), manifestFile)
		if err := errors.Join(os.Remove(file), replace(file)); err != nil {
			t.Fatal(err)
		}
		appendTo(t, f, id(1), 3, ended())
		if m := load(t, f, id(1)); m.Execution.Status != "completed" {
			t.Errorf("%s: the manifest says %+v", name, m)
		}
		if _, err := os.Lstat(fileIn(t, f, id(1), damagedFile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "canary" {
		t.Errorf("what is outside became %q, %v", content, err)
	}
}

func TestTroubleWithAManifestFailsNothingAndIsOverAtTheNextEvent(t *testing.T) {
	var log journal
	store := troupe.NewMemoryStore()
	f := keep(t, store, t.TempDir(), Options{Log: log.logger()})
	inTheWay := fileIn(t, f, id(1), "")
	put(t, inTheWay, "not a directory")
	appendTo(t, f, id(1), 1, append(begun("hi"), ended())...)
	if log.count("manifest is behind") != 1 {
		t.Errorf("the log says %q", log.text.String())
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	appendTo(t, f, id(1), 4, append(begun("again"), ended())...)
	if m := load(t, f, id(1)); m.UserSummary != "hi" {
		t.Errorf("the manifest says %+v", m)
	}
}

func TestALinkInTheFoldersPlaceIsNotFollowed(t *testing.T) {
	var log journal
	outside := t.TempDir()
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{Log: log.logger()})
	if err := os.Symlink(outside, fileIn(t, f, id(1), "")); err != nil {
		t.Fatal(err)
	}
	appendTo(t, f, id(1), 1, append(begun("hi"), ended())...)
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 || log.count("manifest is behind") != 1 {
		t.Errorf("outside are %v, %v; the log says %s", entries, err, log.text.String())
	}
	if err := f.Delete(t.Context(), id(1)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// A hasty store has a context that ends as soon as something is stored.
type hasty struct {
	troupe.Store
	cancel context.CancelFunc
}

func (h hasty) Append(ctx context.Context, session string, events ...troupe.Event) error {
	defer h.cancel()
	return h.Store.Append(ctx, session, events...)
}

func TestWhatWasStoredIsWrittenThoughItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := keep(t, hasty{troupe.NewMemoryStore(), cancel}, t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	delete(f.live, id(1)) // so that the log is read
	if err := f.Append(ctx, id(1), told(id(1), 3, ended())...); err != nil {
		t.Fatal(err)
	}
	if m := load(t, f, id(1)); m.Execution.Status != "completed" {
		t.Errorf("the manifest says %+v", m)
	}
}

func TestOnlyEventsThatChangeTheManifestAreWritten(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	askFor(t, f, id(1))
	stat := func() os.FileInfo {
		info, err := os.Stat(fileIn(t, f, id(1), manifestFile))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	before := stat()
	seq := int64(3)
	for _, quiet := range []troupe.Body{
		&troupe.ContextLoaded{}, &troupe.ModelReplied{Message: &troupe.Message{}}, &troupe.ToolCalled{}, &troupe.ToolReturned{Tool: "read_file"},
		&troupe.HandedOff{}, &troupe.InputRequested{}, &troupe.ContextCompacted{}, &troupe.Warned{Code: "model_retry"},
	} {
		appendTo(t, f, id(1), seq, quiet)
		seq++
	}
	nested := told(id(1), seq, &troupe.RunStarted{}, &troupe.RunFailed{})
	for i := range nested {
		nested[i].Parent, nested[i].Agent = "r", "other"
	}
	if err := f.Append(t.Context(), id(1), nested...); err != nil {
		t.Fatal(err)
	}
	keep(t, store, dir, Options{})
	if !os.SameFile(before, stat()) {
		t.Error("the manifest was written though nothing in it changed")
	}
	appendTo(t, f, id(1), seq+2, ended())
	if os.SameFile(before, stat()) {
		t.Error("the manifest was not written, or not replaced as a whole")
	}
}

func TestOnlySessionsWithAUUIDGetAFolder(t *testing.T) {
	dir := t.TempDir()
	f := keep(t, troupe.NewMemoryStore(), dir, Options{})
	for _, name := range []string{"..", "a/b", "s1", strings.ToUpper("abcdef00-0000-4000-8000-000000000001"), id(1) + "/", id(1) + "\n"} {
		appendTo(t, f, name, 1, begun("hi")...)
		if _, err := f.Path(name); err == nil {
			t.Errorf("%q has a path", name)
		}
		if err := f.Delete(t.Context(), name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("there are folders %v, %v", entries, err)
	}
}

// A stubborn store deletes nothing.
type stubborn struct{ troupe.Store }

var errStubborn = errors.New("no")

func (stubborn) Delete(context.Context, string) error { return errStubborn }

func TestDeletingASessionRemovesItsFolderAndNothingElse(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.txt")
	put(t, outside, "canary")
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	for n := 1; n <= 3; n++ {
		appendTo(t, f, id(n), 1, begun("hi")...)
		put(t, fileIn(t, f, id(n), "sub/deep/file.md"), "x")
		if err := os.Symlink(filepath.Dir(outside), fileIn(t, f, id(n), "sub/link")); err != nil {
			t.Fatal(err)
		}
	}
	refusing := keep(t, stubborn{store}, dir, Options{})
	if err := refusing.Delete(t.Context(), id(1)); !errors.Is(err, errStubborn) {
		t.Errorf("a session was deleted that the store keeps: %v", err)
	}
	if err := f.Delete(t.Context(), id(1)); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), id(2)); err != nil { // its folder is left
		t.Fatal(err)
	}
	if err := f.Delete(t.Context(), id(2)); err != nil {
		t.Error(err)
	}
	if err := f.Delete(t.Context(), id(2)); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != deletedFolder || entries[1].Name() != id(3) {
		t.Errorf("what is left is %v, %v", entries, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, deletedFolder)); err != nil || len(left) != 0 {
		t.Errorf("of deleted sessions %v are left, %v", left, err)
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "canary" {
		t.Errorf("what is outside became %q, %v", content, err)
	}
	appendTo(t, f, id(1), 1, begun("a new life")...)
	askFor(t, f, id(1))
	if m := load(t, f, id(1)); m.UserSummary != "a new life" || m.MessageCount != 1 {
		t.Errorf("the session that began anew has %+v", m)
	}
}

func TestWhatAKilledProcessLeftBehindIsPutInOrder(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	first := keep(t, store, dir, Options{})
	appendTo(t, first, id(1), 1, begun("hi")...)
	appendTo(t, first, id(2), 1, begun("never written")...)
	// Killed after the event was stored, in the middle of two writes.
	appendTo(t, store, id(1), 3, &troupe.ArtifactSaved{Path: "{session-folder}/a.md"}, ended())
	left := []string{fileIn(t, first, id(1), ".troupe-tmp-ABC"), fileIn(t, first, id(1), "docs/.troupe-tmp-DEF")}
	for _, file := range left {
		put(t, file, "half of")
		long := time.Now().Add(-time.Hour)
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(fileIn(t, first, id(2), "")); err != nil {
		t.Fatal(err)
	}

	second := keep(t, store, dir, Options{})
	if m := load(t, second, id(1)); m.Execution.Status != "completed" || len(m.Outputs) != 1 {
		t.Errorf("the manifest says %+v", m)
	}
	if m := load(t, second, id(2)); m.UserSummary != "never written" {
		t.Errorf("the other manifest says %+v", m)
	}
	for _, file := range left {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", file, err)
		}
	}
}
