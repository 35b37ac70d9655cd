package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func sessionsRoot(t *testing.T, w world) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(w.session))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestRemoveAllFollowsNoLink(t *testing.T) {
	w := newWorld(t)
	sessions := sessionsRoot(t, w)
	put(t, w.session, "a/b/c.md", "x")
	link(t, w.outside, w.session, "out")
	link(t, "../two", w.session, "other-session")
	link(t, ".", filepath.Join(w.session, "a"), "self")
	link(t, w.outside, filepath.Dir(w.session), "linked")
	for _, name := range []string{"one", "linked", "never-was"} {
		if err := RemoveAll(sessions, name); err != nil {
			t.Error(err)
		}
	}
	wantOnly(t, filepath.Dir(w.session), "two")
	wantOnly(t, filepath.Join(filepath.Dir(w.session), "two"), "canary.txt")
	wantOnly(t, w.outside, "canary.txt")
}

func TestRemoveAllTakesTheNameOfOneEntry(t *testing.T) {
	w := newWorld(t)
	sessions := sessionsRoot(t, w)
	for _, name := range []string{"", ".", "..", "../agent-outputs", "one/notes.md", "/", `one\x`, w.outside} {
		err := RemoveAll(sessions, name)
		wantRefusal(t, err, ErrDenied, "no host path is involved")
	}
	wantOnly(t, w.session, "notes.md")
}

func TestRemoveAllRemovesNothingIfAnyPartIsOnAnotherDevice(t *testing.T) {
	w := newWorld(t)
	sessions := sessionsRoot(t, w)
	put(t, w.session, "a/file", "x")
	put(t, w.session, "z/mounted/precious", "x")
	mounted := removal{deviceOf: func(info fs.FileInfo) uint64 {
		if info.Name() == "mounted" {
			return 2
		}
		return 1
	}}
	wantRefusal(t, mounted.all(sessions, "one"), ErrDenied, w.dir)
	wantOnly(t, w.session, "a", "notes.md", "z")
	wantOnly(t, filepath.Join(w.session, "z/mounted"), "precious")

	// The check is made again on the way: a mount that appears after the first look.
	looks := 0
	late := removal{deviceOf: func(info fs.FileInfo) uint64 {
		if info.Name() == "mounted" {
			if looks++; looks > 1 {
				return 2
			}
		}
		return 1
	}}
	wantRefusal(t, late.all(sessions, "one"), ErrDenied, w.dir)
	wantOnly(t, filepath.Join(w.session, "z/mounted"), "precious")
}

func TestRemoveAllRefusesWhatIsNestedTooDeeply(t *testing.T) {
	w := newWorld(t)
	sessions := sessionsRoot(t, w)
	deep := w.session
	for range maxRemovalDepth {
		deep += "/d"
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, RemoveAll(sessions, "one"), ErrTooLarge, w.dir)
	wantOnly(t, w.session, "d", "notes.md")
}
