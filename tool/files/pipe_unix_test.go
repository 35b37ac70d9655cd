//go:build unix

package files

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// That the test ends is what it shows: a pipe without a writer would be waited for.
func TestAPipeIsRefusedAtOnceAndReplaced(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.session, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	find := w.open(t)
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		got, _ := call(ctx, run, Read(find), object{"file_path": "pipe"})
		if want := `{"success":false,"error":"read {session-folder}/pipe: not a regular file","path":"pipe"}`; got != want {
			t.Error(got)
		}
		if got, _ := call(ctx, run, List(find), object{}); strings.Contains(got, "pipe") {
			t.Error(got)
		}
		if got, class := call(ctx, run, List(find), object{"path": "pipe"}); class != "not_found" {
			t.Error(got)
		}
		call(ctx, run, Save(find), object{"file_path": "pipe", "content": "a file now"})
		if got, _ := call(ctx, run, Read(find), object{"file_path": "pipe"}); !strings.Contains(got, "a file now") {
			t.Error(got)
		}
		return nil
	})
}
