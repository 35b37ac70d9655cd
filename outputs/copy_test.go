package outputs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestFilesAreCopiedToAnotherSession(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, begun("the first")...)
	large := strings.Repeat("x", maxManifest+1)
	for file, content := range map[string]string{"a.md": "A", "docs/deep/b.md": "B", ".hidden": "H", "large.txt": large, "kept.md": "not asked for"} {
		put(t, fileIn(t, f, id(1), file), content)
	}
	files := []string{"a.md", "gone.md", "docs/deep/b.md", "docs/../.hidden", "large.txt", "manifest.json", "./Manifest.json", "docs/none.md"}
	for _, to := range []string{id(2), id(3)} {
		if to == id(3) {
			appendTo(t, f, to, 1, begun("the other")...)
			askFor(t, f, to)
		}
		missing, err := f.Copy(t.Context(), id(1), to, files)
		if err != nil || !slices.Equal(missing, []string{"gone.md", "docs/none.md"}) {
			t.Fatalf("missing are %v, %v", missing, err)
		}
		for file, want := range map[string]string{"a.md": "A", "docs/deep/b.md": "B", ".hidden": "H", "large.txt": large} {
			if got, err := os.ReadFile(fileIn(t, f, to, file)); err != nil || string(got) != want {
				t.Errorf("%s is %.20q, %v", file, got, err)
			}
		}
		if _, err := os.Stat(fileIn(t, f, to, "kept.md")); err == nil {
			t.Error("a file was copied that nobody named")
		}
	}
	if _, err := os.Stat(fileIn(t, f, id(2), manifestFile)); err == nil {
		t.Error("the manifest was copied")
	}
	if m := load(t, f, id(3)); m.UserSummary != "the other" {
		t.Errorf("the manifest became %+v", m)
	}
	if missing, err := f.Copy(t.Context(), id(9), id(4), []string{"a.md"}); err != nil || !slices.Equal(missing, []string{"a.md"}) {
		t.Errorf("of a session without a folder, missing are %v, %v", missing, err)
	}
}

func TestCopyFollowsNoLinkAndLeavesNoFolder(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.txt")
	put(t, outside, "canary")
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	for n := range 3 {
		appendTo(t, f, id(n), 1, begun("hi")...)
		askFor(t, f, id(n))
	}
	put(t, fileIn(t, f, id(1), "a.md"), "A")
	put(t, fileIn(t, f, id(2), "secret.md"), "secret")
	for name, target := range map[string]string{"out": outside, "dir": filepath.Dir(outside), "inside": "a.md", "other": "../" + id(2)} {
		if err := os.Symlink(target, fileIn(t, f, id(1), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(outside, fileIn(t, f, id(1), "hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), fileIn(t, f, id(0), "link")); err != nil {
		t.Fatal(err)
	}
	put(t, fileIn(t, f, id(1), "link/outside.txt"), "overwritten")
	for _, file := range []string{
		"out", "dir/outside.txt", "inside", "other/secret.md", "hard", "link/outside.txt", "../" + id(2) + "/secret.md", outside, "", ".", "dir", "{date}", "a\x00",
	} {
		if missing, err := f.Copy(t.Context(), id(1), id(0), []string{file}); err == nil {
			t.Errorf("%q was copied, but for %v", file, missing)
		}
	}
	entries, err := os.ReadDir(fileIn(t, f, id(0), ""))
	if err != nil || len(entries) != 2 {
		t.Errorf("copied were %v, %v", entries, err)
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "canary" {
		t.Errorf("what is outside became %q, %v", content, err)
	}
	if err := os.Symlink(filepath.Dir(outside), fileIn(t, f, id(5), "")); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{id(5), id(0)}, {id(1), id(5)}, {"../x", id(1)}, {id(1), "x"}} {
		if _, err := f.Copy(t.Context(), c[0], c[1], []string{"outside.txt"}); err == nil {
			t.Errorf("copied from %s to %s", c[0], c[1])
		}
	}
	if _, err := f.Copy(t.Context(), "x", id(1), nil); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Requests that are sent again come together: whoever makes the folder, nobody fails.
func TestCopiesThatAreMadeTogetherShareAFolder(t *testing.T) {
	f := keep(t, troupe.NewMemoryStore(), t.TempDir(), Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	put(t, fileIn(t, f, id(1), "a.md"), "x")
	for n := range 20 {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := f.Copy(t.Context(), id(1), id(2+n), []string{"a.md"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if content, err := os.ReadFile(fileIn(t, f, id(2+n), "a.md")); err != nil || string(content) != "x" {
			t.Errorf("the file is %q, %v", content, err)
		}
	}
}
