package outputs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Wherever a process is killed that deletes a session, the next one finishes it.
func TestADeletionThatWasCutIsFinished(t *testing.T) {
	for name, cut := range map[string]func(f *Folders, store troupe.Store) error{
		"the folder is set aside": func(f *Folders, _ troupe.Store) error { return f.setFolderAside(id(1), asideOf(id(1))) },
		"the session is forgotten": func(f *Folders, store troupe.Store) error {
			return errors.Join(f.setFolderAside(id(1), asideOf(id(1))), store.Delete(t.Context(), id(1)))
		},
	} {
		store, dir := troupe.NewMemoryStore(), t.TempDir()
		f := keep(t, store, dir, Options{})
		for n := 1; n <= 2; n++ {
			appendTo(t, f, id(n), 1, begun("hi")...)
			put(t, fileIn(t, f, id(n), "a.md"), "x")
		}
		if err := cut(f, store); err != nil {
			t.Fatal(err)
		}
		again := keep(t, store, dir, Options{})
		found, err := again.Find(t.Context(), Filter{})
		if err != nil || len(found) != 1 || found[0].SessionID != id(2) {
			t.Errorf("killed when %s: found are %+v, %v", name, found, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 || entries[1].Name() != id(2) {
			t.Errorf("killed when %s: what is left is %v, %v", name, entries, err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, deletedFolder)); err != nil || len(left) != 0 {
			t.Errorf("killed when %s: of deleted sessions %v are left, %v", name, left, err)
		}
	}
}

// What another process has begun again is not deleted any more.
func TestASessionThatSomebodyHasIsNotDeletedAtTheStart(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	if err := f.setFolderAside(id(1), asideOf(id(1))); err != nil {
		t.Fatal(err)
	}
	own(t, store, id(1))
	found, err := keep(t, store, dir, Options{}).Find(t.Context(), Filter{})
	if err != nil || len(found) != 1 {
		t.Errorf("found are %+v, %v", found, err)
	}
}
