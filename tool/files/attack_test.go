package files

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/workspace"
)

const (
	// attacks is how many names TestNoNameLeadsOutOfTheWorkspace tries, and each how many
	// tools a name is given to. TROUPE_EVERY_ATTACK gives it to all of them.
	attacks = 10_000
	each    = 3
)

func TestNoNameLeadsOutOfTheWorkspace(t *testing.T) {
	t.Attr("FR", "FR-006")
	w := newWorld(t)
	find := w.open(t)
	attack(t, w, attacks, []troupe.Tool{Read(find), Save(find), List(find), Write(find), MakeDir(find), Edit(find), Search(find)})
}

func TestNoNameLeadsOutOfADirectory(t *testing.T) {
	w := newWorld(t)
	tools, err := Dir(w.session, workspace.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	attack(t, w, attacks/5, tools)
}

func TestNoNameLeadsOutOfSeveralRoots(t *testing.T) {
	w := newWorld(t)
	tools, err := Roots(
		workspace.Root{Name: "docs", Dir: w.bundle, Access: workspace.ReadOnly},
		workspace.Root{Name: "out", Dir: w.session, Access: workspace.ReadWrite},
	)
	if err != nil {
		t.Fatal(err)
	}
	attack(t, w, attacks/5, tools, "docs/", "out/", "out/", "")
}

// attack gives names that lead elsewhere to the tools in turn, each after one of the
// beginnings, and looks for what comes of it. Only the session folder of the world
// may change.
func attack(t *testing.T, w world, n int, tools []troupe.Tool, beginnings ...string) {
	t.Helper()
	for _, dir := range []string{w.bundle, w.session} {
		for name, target := range map[string]string{
			"link-out": w.outside, "link-canary": filepath.Join(w.outside, "canary.txt"), "link-up": "../../../../..",
		} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{w.outside, filepath.Dir(w.session) + "/" + otherSession} {
		put(t, dir, canary, "") // to be seen in listings
	}
	before := corpus.Snapshot(t, w.dir, w.session)

	names := corpus.AttackNames(t, n, w.dir)
	if testing.Short() {
		names = names[len(names)-1000:]
	}
	toEach := len(tools)
	if n == attacks && os.Getenv("TROUPE_EVERY_ATTACK") == "" {
		toEach = each
	}
	outcomes := make(map[string]int)
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		for i, name := range names {
			if len(beginnings) > 0 {
				name = beginnings[i%len(beginnings)] + name
			}
			for j := range toEach {
				tool := tools[(i+j)%len(tools)] // the first to write decides what the name is
				arguments := object{"file_path": name, "path": name, "content": "written by an agent",
					"pattern": "C", "edits": []object{{"search": "written", "replace": "changed"}}}
				got, class := call(ctx, run, tool, arguments)
				outcomes[fmt.Sprintf("%s %s", tool.Spec().Name, class)]++
				told := strings.Contains(name, w.dir) // the model knows what it wrote itself
				if strings.Contains(got, canary) || strings.Contains(got, w.dir) && !told || !json.Valid([]byte(got)) {
					t.Errorf("%s %q: %.1000s", tool.Spec().Name, name, got)
				}
			}
			if i%500 == 499 {
				clearSession(t, w)
			}
		}
		return nil
	})
	t.Log(len(names), "names:", outcomes)
	for _, tool := range tools {
		for _, class := range []string{"", "unauthorized"} {
			if outcomes[fmt.Sprintf("%s %s", tool.Spec().Name, class)] == 0 {
				t.Errorf("%s never ended with class %q: the test shows nothing", tool.Spec().Name, class)
			}
		}
	}
	if after := corpus.Snapshot(t, w.dir, w.session); !maps.Equal(before, after) {
		t.Errorf("what is outside of the session folder changed from %v to %v", before, after)
	}
}

// clearSession removes what the agent wrote, so that directories stay short.
func clearSession(t *testing.T, w world) {
	t.Helper()
	entries, err := os.ReadDir(w.session)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "link-") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(w.session, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALinkSwappedDuringReadsShowsNothing(t *testing.T) {
	w := newWorld(t)
	tool := Read(w.open(t))
	swapped := filepath.Join(w.session, "swapped")
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			fresh := filepath.Join(w.dir, "fresh")
			err := os.WriteFile(fresh, []byte("harmless"), 0o600)
			if i%2 == 0 {
				os.Remove(fresh)
				err = os.Symlink(filepath.Join(w.outside, "canary.txt"), fresh)
			}
			if err == nil {
				err = os.Rename(fresh, swapped)
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	outcomes := make(map[string]int)
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		for range 5_000 {
			got, class := call(ctx, run, tool, object{"file_path": "swapped"})
			outcomes[class]++
			if strings.Contains(got, canary) {
				t.Fatal(got)
			}
		}
		return nil
	})
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if t.Log(outcomes); outcomes[""] == 0 || outcomes["unauthorized"] == 0 {
		t.Error("the reads did not meet both the file and the link")
	}
}
