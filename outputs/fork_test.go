package outputs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// forked is the log of a fork of session 1 that has saved a file.
func forkedLog() []troupe.Event {
	return told(id(2), 1, append(begun("hi"), &troupe.ArtifactSaved{Path: "{session-folder}/a.md", Size: 1}, &troupe.SessionForked{From: id(1), After: 3})...)
}

func TestAForkHasItsFilesWhenItIsStored(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	put(t, fileIn(t, f, id(1), "a.md"), "x")
	if err := f.Append(t.Context(), id(2), forkedLog()...); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(fileIn(t, f, id(2), "a.md")); err != nil || string(content) != "x" {
		t.Errorf("the fork's file is %q, %v", content, err)
	}
	// One that the store refuses leaves nothing behind.
	refusing := keep(t, refusal{troupe.NewMemoryStore()}, dir, Options{})
	if err := refusing.Append(t.Context(), id(2), forkedLog()...); !errors.Is(err, errStubborn) {
		t.Errorf("it was stored: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, forkFolder)); err != nil || len(left) != 0 {
		t.Errorf("of a fork that is not there %v are left, %v", left, err)
	}
}

// A fork of a fork has the files of the one that it was made from, not of the first.
func TestAForkOfAForkHasItsFiles(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	put(t, fileIn(t, f, id(1), "a.md"), "x")
	if err := f.Append(t.Context(), id(2), forkedLog()...); err != nil {
		t.Fatal(err)
	}
	put(t, fileIn(t, f, id(2), "a.md"), "y")
	again := append(begun("hi"), &troupe.ArtifactSaved{Path: "{session-folder}/a.md", Size: 1}, &troupe.SessionForked{From: id(1), After: 3}, &troupe.SessionForked{From: id(2), After: 4})
	if err := f.Append(t.Context(), id(3), told(id(3), 1, again...)...); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(fileIn(t, f, id(3), "a.md")); err != nil || string(content) != "y" {
		t.Errorf("the file is %q, %v", content, err)
	}
}

type refusal struct{ troupe.Store }

func (refusal) Append(context.Context, string, ...troupe.Event) error { return errStubborn }

func TestAForkThatWasCutIsFinishedOrForgotten(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	put(t, fileIn(t, f, id(1), "a.md"), "x")
	log := forkedLog()
	if err := f.stageFork(t.Context(), id(2), id(1), log); err != nil {
		t.Fatal(err)
	}
	keep(t, store, dir, Options{})
	staged := filepath.Join(dir, forkFolder, id(2))
	if _, err := os.Stat(staged); err != nil {
		t.Errorf("what another process may be about to store is gone: %v", err)
	}
	if err := store.Append(t.Context(), id(2), log...); err != nil { // and killed
		t.Fatal(err)
	}
	f = keep(t, store, dir, Options{})
	if content, err := os.ReadFile(fileIn(t, f, id(2), "a.md")); err != nil || string(content) != "x" {
		t.Errorf("the fork's file is %q, %v", content, err)
	}
	if err := f.stageFork(t.Context(), id(3), id(1), log); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * aftermath)
	if err := os.Chtimes(filepath.Join(dir, forkFolder, id(3)), long, long); err != nil {
		t.Fatal(err)
	}
	keep(t, store, dir, Options{})
	if left, err := os.ReadDir(filepath.Join(dir, forkFolder)); err != nil || len(left) != 0 {
		t.Errorf("of a fork that was never stored %v are left, %v", left, err)
	}
}
