package outputs

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A forsaken store has sessions that nobody will go on with.
type forsaken struct {
	troupe.Store
	sessions map[string]bool
}

func (s forsaken) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	return func(yield func(troupe.SessionInfo, error) bool) {
		for info, err := range s.Store.Sessions(ctx, troupe.SessionFilter{}) {
			if s.sessions[info.ID] {
				info.Status = "interrupted"
			}
			if match.Matches(info) && !yield(info, err) {
				return
			}
		}
	}
}

// standing returns the sessions that are found, with their status.
func standing(t *testing.T, v interface {
	Find(context.Context, Filter) ([]Manifest, error)
}, filter Filter) map[string]string {
	t.Helper()
	manifests, err := v.Find(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range manifests {
		found[m.SessionID] = m.Execution.Status
	}
	return found
}

// tree returns all files below a directory, and when they were changed.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		files[path] = info.Mode().String() + info.ModTime().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAViewFindsWhatFoldersFindAndChangesNothing(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	beginAt(t, f, 1, "alex", "behind")
	beginAt(t, f, 2, "alex", "damaged", ended())
	beginAt(t, f, 3, "alex", "running")
	beginAt(t, f, 4, "alex", "interrupted")
	beginAt(t, f, 5, "alex", "damaged and interrupted")
	own(t, store, id(3))
	put(t, fileIn(t, f, id(2), manifestFile), "{")
	put(t, fileIn(t, f, id(5), manifestFile), "{")
	put(t, fileIn(t, f, id(6), manifestFile), `{"version":"1.0.0","session_id":"`+id(6)+`","execution":{"status":"running"}}`)
	put(t, fileIn(t, f, id(7), manifestFile), "of a session that nobody knows")
	register := Output{File: "mine.md", Type: "document"}
	if err := f.Register(t.Context(), id(1), register); err != nil {
		t.Fatal(err)
	}
	appendTo(t, store, id(1), 4, ended()) // and killed before the manifest was written
	seen := forsaken{store, map[string]bool{id(4): true, id(5): true}}
	v, err := Look(seen, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	before := tree(t, dir)
	want := map[string]string{
		id(1): "completed", id(2): "completed", id(3): "running", id(4): "interrupted", id(5): "interrupted", id(6): "running",
	}
	if got := standing(t, v, Filter{}); !maps.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
	manifests, err := v.Find(t.Context(), Filter{Workflow: "behind"})
	if err != nil || len(manifests) != 1 || len(manifests[0].Outputs) != 1 || manifests[0].Outputs[0].File != register.File {
		t.Errorf("what was registered is not found: %+v, %v", manifests, err)
	}
	if got := standing(t, v, Filter{Status: "interrupted"}); len(got) != 2 {
		t.Errorf("interrupted are %v", got)
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Errorf("looking changed %v to %v", before, after)
	}
	again := keep(t, seen, dir, Options{})
	if got := standing(t, again, Filter{}); !maps.Equal(got, want) {
		t.Errorf("folders found %v; want %v", got, want)
	}
	if m := load(t, again, id(4)); m.Execution.Status != "running" {
		t.Errorf("a manifest on disk says %s", m.Execution.Status)
	}
}

// A killed process may have stored events and not come to the folder or the manifest.
func TestARunThatWasCutIsFoundWhateverItsFolderSays(t *testing.T) {
	store, dir := troupe.NewMemoryStore(), t.TempDir()
	f := keep(t, store, dir, Options{})
	beginAt(t, f, 1, "alex", "finished before", ended())
	appendTo(t, store, id(1), 5, begun("again")...)
	appendTo(t, store, id(2), 1, begun("hi")...)
	cut := forsaken{store, map[string]bool{id(1): true, id(2): true}}
	v, err := Look(cut, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	want := map[string]string{id(1): "interrupted", id(2): "interrupted"}
	if got := standing(t, v, Filter{}); !maps.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
	f.store = cut
	if got := standing(t, f, Filter{}); !maps.Equal(got, want) {
		t.Errorf("folders found %v; want %v", got, want)
	}
}

func TestLookCreatesNoDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := Look(troupe.NewMemoryStore(), dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
}
