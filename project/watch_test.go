package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/pipeline"
)

func TestWhatIsSaidOfDeliveriesIsSeen(t *testing.T) {
	dir, said := t.TempDir(), siteTimes{}
	write := func(session string, at time.Time) {
		file := filepath.Join(dir, session, pipeline.SiteFile)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte("{}"), 0o644)
		}
		if err == nil {
			err = os.Chtimes(file, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sees := func(want ...string) {
		t.Helper()
		if got := said.look(dir); !slices.Equal(got, want) {
			t.Errorf("%v is seen, want %v", got, want)
		}
	}
	begin := time.Now()
	sees()
	write("a", begin)
	write("b", begin)
	sees("a", "b")
	sees()
	write("b", begin.Add(time.Second))
	sees("b")
	write("b", begin.Add(-time.Second)) // a clock that was put back
	sees("b")
	if said.look(filepath.Join(dir, "none")) != nil {
		t.Error("something is seen where nothing is")
	}
}
