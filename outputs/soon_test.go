package outputs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

// isThere reports whether a session has a folder, without asking the store for it.
func isThere(t *testing.T, dir, session string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, session))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAFolderIsMadeSoonAfterItsSessionBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := keep(t, troupe.NewMemoryStore(), dir, Options{})
		appendTo(t, f, id(1), 1, begun("hi")...)
		time.Sleep(time.Second)
		appendTo(t, f, id(2), 1, begun("quick")...)
		appendTo(t, f, id(2), 3, ended())
		if isThere(t, dir, id(1)) || !isThere(t, dir, id(2)) {
			t.Error("a first answer waits for the folder, or an end does not")
		}
		appendTo(t, f, id(4), 1, append(begun("a file"), &troupe.ArtifactSaved{Path: "{session-folder}/a.md"})...)
		if m := load(t, f, id(4)); len(m.Outputs) != 1 || m.Execution.Status != "running" {
			t.Errorf("a file is saved, and the manifest says %+v", m)
		}
		time.Sleep(soon)
		synctest.Wait()
		if m := load(t, f, id(1)); m.Execution.Status != "running" || m.UserSummary != "hi" {
			t.Errorf("the manifest says %+v", m)
		}
		appendTo(t, f, id(3), 1, begun("another")...)
		time.Sleep(soon)
		synctest.Wait()
		if m := load(t, f, id(3)); m.UserSummary != "another" {
			t.Errorf("the manifest says %+v", m)
		}
	})
}

func TestAFolderIsThereForWhoeverAsksForIt(t *testing.T) {
	dir := t.TempDir()
	f := keep(t, troupe.NewMemoryStore(), dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	for session, want := range map[string]bool{id(1): true, id(2): false} {
		if path, err := f.Path(session); err != nil || isThere(t, dir, session) != want {
			t.Errorf("%s is there: %v, %v", path, !want, err)
		}
	}
}

func TestWhatWasToBeMadeSoonIsMadeAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	store := troupe.NewMemoryStore()
	f := keep(t, store, dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, id(1), manifestFile)); err != nil {
		t.Error(err)
	}
}

func TestNothingIsMadeOfASessionThatWasDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		dir := t.TempDir()
		f := keep(t, troupe.NewMemoryStore(), dir, Options{Log: log.logger()})
		appendTo(t, f, id(1), 1, begun("hi")...)
		if err := f.Delete(t.Context(), id(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Path(id(1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * soon)
		synctest.Wait()
		if isThere(t, dir, id(1)) || log.text.Len() > 0 {
			t.Errorf("the folder is there again, or the log says %s", log.text.String())
		}
		// Another begins before the time of the deleted one is over: there is one timer, and nobody
		// who closes the folders waits for a second.
		appendTo(t, f, id(2), 1, begun("hi")...)
		if err := f.Delete(t.Context(), id(2)); err != nil {
			t.Fatal(err)
		}
		appendTo(t, f, id(3), 1, begun("hi")...)
		before := time.Now()
		if err := f.Close(); err != nil || time.Since(before) > 0 || !isThere(t, dir, id(3)) {
			t.Errorf("closed after %v: %v", time.Since(before), err)
		}
	})
}

func TestTheManifestIsNotWrittenForEachOfManyShortTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := keep(t, troupe.NewMemoryStore(), dir, Options{})
		seq := int64(1)
		// turns has some turns and returns how many messages the file speaks of then, and which file it is.
		turns := func(n int) (messages int, file fs.FileInfo) {
			for range n {
				appendTo(t, f, id(1), seq, append(begun("hi"), ended())...)
				seq += 3
			}
			return messagesIn(t, dir)
		}
		if n, _ := turns(1); n != 2 {
			t.Errorf("after the first end it speaks of %d messages", n)
		}
		_, before := messagesIn(t, dir)
		n, after := turns(9)
		if n != 2 || !os.SameFile(before, after) {
			t.Errorf("it was written with every turn, and speaks of %d messages", n)
		}
		if m := load(t, f, id(1)); m.MessageCount != 20 || m.Execution.Status != "completed" {
			t.Errorf("whoever asks for it reads %+v", m)
		}
		turns(3)
		time.Sleep(soon)
		synctest.Wait()
		if n, _ := messagesIn(t, dir); n != 26 {
			t.Errorf("it speaks of %d messages in the end", n)
		}
		if n, _ := turns(1); n != 28 {
			t.Errorf("a turn like any other is in it after a while: it speaks of %d messages", n)
		}
	})
}

// messagesIn reads the manifest of the first session without asking the store for it.
func messagesIn(t *testing.T, dir string) (messages int, file fs.FileInfo) {
	t.Helper()
	path := filepath.Join(dir, id(1), manifestFile)
	content, err := os.ReadFile(path)
	if err == nil {
		file, err = os.Stat(path)
	}
	var m Manifest
	if err == nil {
		err = json.Unmarshal(content, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.MessageCount, file
}
