package sqlite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/store/sqlite"
)

// A path that no file can have is told as that, and nothing is left beside it.
func TestAPathThatIsNoFilesIsTold(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for path, want := range map[string]string{"": "open store: the path of the file is empty", dir: "open store: " + dir + " is a directory; name a file in it, such as " + dir} {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
		if _, err := sqlite.OpenReadOnly(t.Context(), path); err == nil || path == "" && !strings.HasPrefix(err.Error(), want) || path != "" && !strings.Contains(err.Error(), dir) {
			t.Errorf("%q, to read: %v", path, err)
		}
	}
	for _, place := range []string{dir, dir + "/.."} {
		left, err := os.ReadDir(place)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range left {
			if strings.Contains(entry.Name(), ".lock") {
				t.Errorf("%s is left in %s", entry.Name(), place)
			}
		}
	}
}
