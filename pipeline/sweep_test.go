package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/pipeline"
)

// What a kill left half-written in a delivery's folder is gone when the delivery goes on.
func TestHalfWrittenFilesOfADeliveryAreSwept(t *testing.T) {
	y := shellYard(t)
	y.config.Repository.Sandbox.Level = "off"
	y.config.Approve = pipeline.ApprovePlan
	if _, end, err := y.run(nil); err != nil || end.Stop != "input_requested" {
		t.Fatalf("%+v, %v", end, err)
	}
	folder := filepath.Join(y.data, y.session)
	long := time.Now().Add(-time.Hour)
	for name, stays := range map[string]bool{".new-123": false, "documents/.troupe-tmp-ABC": false, "documents/specs/.troupe-tmp-DEF": false, "documents/specs/kept.md": true, ".newer": true} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(file); (err == nil) != stays {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	if _, _, err := y.say("yes"); err != nil {
		t.Fatal(err)
	}
}
