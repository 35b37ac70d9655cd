package outputs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestNothingIsOnRecordAsSavedInAFolderThatMayBeLost(t *testing.T) {
	store := troupe.NewMemoryStore()
	f, err := Keep(store, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, f, id(1), 1, begun("hi")...)
	if err := f.Close(); err != nil { // and its directory can no longer be told to the disk
		t.Fatal(err)
	}
	saved := told(id(1), 3, &troupe.ArtifactSaved{Path: "{session-folder}/a.md"})
	if err := f.Append(t.Context(), id(1), saved...); err == nil {
		t.Error("a file is on record as saved, and its folder is not on the disk")
	}
	for e, err := range store.Events(t.Context(), id(1), 2) {
		t.Errorf("the log has %v, %v", e, err)
	}
}

func TestAManifestThatIsReplacedLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	f := keep(t, troupe.NewMemoryStore(), dir, Options{})
	appendTo(t, f, id(1), 1, begun("hi")...)
	askFor(t, f, id(1))
	before, err := os.Stat(filepath.Join(dir, id(1), manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, f, id(1), 3, ended())
	after, err := os.Stat(filepath.Join(dir, id(1), manifestFile))
	if err != nil || os.SameFile(before, after) {
		t.Errorf("it was written over where it is read, or is gone: %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, id(1)))
	if err != nil || len(entries) != 1 || load(t, f, id(1)).Execution.Status != "completed" {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
