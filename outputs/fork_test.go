package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// A run in whose middle a session was forked counts as cancelled, though nobody has stopped it.
func TestAForkInTheMiddleOfARunSaysSo(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	cut := append(begun("hi"), &troupe.RunCancelled{Reason: "forked"}, &troupe.SessionForked{From: id(1), After: 2})
	if err := f.Append(t.Context(), id(2), told(id(2), 1, cut...)...); err != nil {
		t.Fatal(err)
	}
	find := func() Execution {
		found, err := f.Find(t.Context(), Filter{Session: id(2)})
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		return found[0].Execution
	}
	if now := find(); now.Status != "cancelled" || !now.Forked {
		t.Errorf("it stands as %+v", now)
	}
	appendTo(t, f, id(2), 5, &troupe.RunResumed{}, &troupe.RunCancelled{})
	askFor(t, f, id(2))
	if now := find(); now.Status != "cancelled" || now.Forked {
		t.Errorf("somebody has stopped it since, and it stands as %+v", now)
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

// saves are what a run records that writes a file: the call with its content, and what came of it.
func saves(path, content string) []troupe.Body {
	arguments, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	sum := sha256.Sum256([]byte(content))
	return []troupe.Body{
		&troupe.ToolCalled{Tool: "save_output", Arguments: troupe.Arguments(arguments)},
		&troupe.ArtifactSaved{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])},
	}
}

// A fork from an earlier point has the files of that point, as far as the log has their text.
func TestAForkHasTheFilesAsOfItsPoint(t *testing.T) {
	const a, edited, binary, by = "{session-folder}/a.md", "{session-folder}/edited.md", "{session-folder}/b.png", "{session-folder}/sub/by-hand.md"
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	first := slices.Concat(begun("hi"), saves(a, "one"), saves(edited, "draft"), saves(by, "agent's"), []troupe.Body{&troupe.ArtifactSaved{Path: binary, Size: 1, SHA256: "before"}})
	later := slices.Concat(saves(a, "two"), []troupe.Body{&troupe.ArtifactSaved{Path: binary, Size: 1, SHA256: "after"}, &troupe.ArtifactSaved{Path: edited, Size: 6, SHA256: "by an edit"}}, saves("{session-folder}/new.md", "new"))
	appendTo(t, f, id(1), 1, slices.Concat(first, later)...)
	for name, content := range map[string]string{"a.md": "two", "edited.md": "edited", "b.png": "today's", "sub/by-hand.md": "a person's", "new.md": "new"} {
		put(t, fileIn(t, f, id(1), name), content)
	}
	fork := func(session int, log []troupe.Body) {
		t.Helper()
		log = append(slices.Clone(log), &troupe.SessionForked{From: id(1), After: int64(len(log))})
		if err := f.Append(t.Context(), id(session), told(id(session), 1, log...)...); err != nil {
			t.Fatal(err)
		}
	}
	has := func(session int, want map[string]string) {
		t.Helper()
		for name, content := range want {
			got, err := os.ReadFile(fileIn(t, f, id(session), name))
			if content == "" && !errors.Is(err, fs.ErrNotExist) || content != "" && string(got) != content {
				t.Errorf("fork %d: %s is %q (%v), want %q", session, name, got, err, content)
			}
		}
	}
	fork(2, first)
	// What agents saved later is as it was; what people wrote, and what nobody has the text of, is today's.
	has(2, map[string]string{"a.md": "one", "edited.md": "draft", "b.png": "today's", "sub/by-hand.md": "a person's", "new.md": ""})
	fork(3, slices.Concat(first, later))
	has(3, map[string]string{"a.md": "two", "edited.md": "edited", "b.png": "today's", "sub/by-hand.md": "a person's", "new.md": "new"})
	has(1, map[string]string{"a.md": "two", "edited.md": "edited"})
}
