//go:build unix

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// whileSwapping runs f while something else takes turns with what is at name in
// dir: a link that leads outside, and what was there before.
func whileSwapping(t *testing.T, dir, name, target string, f func()) {
	t.Helper()
	original, aside, bait := filepath.Join(dir, name), filepath.Join(dir, name+"-aside"), filepath.Join(dir, name+"-bait")
	if err := os.Symlink(target, bait); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	swaps := 0
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, move := range [][2]string{{original, aside}, {bait, original}, {original, bait}, {aside, original}} {
				for tries := 0; os.Rename(move[0], move[1]) != nil; tries++ {
					// A writer has created the directory while it was away, and may
					// still be filling it.
					if err := os.RemoveAll(move[1]); err != nil && tries > 10_000 {
						t.Error(err)
						return
					}
				}
			}
			swaps++
		}
	})
	f()
	close(stop)
	wg.Wait()
	if swaps == 0 {
		t.Error("nothing was swapped: the test shows nothing")
	}
	t.Log(swaps, "swaps")
}

func TestNoSwapDuringAnOpenLeadsOutOfTheRoot(t *testing.T) {
	opens := 100_000
	if testing.Short() {
		opens = 5_000
	}
	w := newWorld(t)
	ws := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: ReadOnly})
	put(t, w.outside, "step-01.md", canary)
	steps := filepath.Join(w.bundle, "workflows/intake/steps")
	for _, c := range []struct{ what, dir, swapped, target, open string }{
		{"a directory", filepath.Dir(steps), "steps", w.outside, "{bundle-root}/workflows/intake/steps/step-01.md"},
		{"the file", steps, "step-01.md", filepath.Join(w.outside, "canary.txt"), "{bundle-root}/workflows/intake/steps/step-01.md"},
		{"a directory of a guarded root", w.project, "docs", w.outside, "{project-root}/docs/plan.md"},
	} {
		t.Run(c.what, func(t *testing.T) {
			loc, err := ws.Resolve(c.open)
			if err != nil {
				t.Fatal(err)
			}
			outcomes := make(map[string]int)
			whileSwapping(t, c.dir, c.swapped, c.target, func() {
				// If one of the two is too slow to meet the other, it gets more time.
				for i := 0; i < opens/3 || i < 20*opens && (outcomes["read"] == 0 || outcomes["read"] == i); i++ {
					content, err := ws.ReadFile(loc)
					switch {
					case strings.Contains(content, canary):
						outcomes["escaped"]++
					case err == nil:
						outcomes["read"]++
					case errors.Is(err, ErrDenied):
						outcomes["refused"]++
					default:
						outcomes["missed"]++
					}
				}
			})
			t.Log(outcomes)
			if outcomes["escaped"] > 0 {
				t.Errorf("%d of %d opens led outside", outcomes["escaped"], opens/3)
			}
			if outcomes["read"] == 0 || len(outcomes) == 1 {
				t.Error("the race was never close: the test shows nothing")
			}
		})
	}
}

func TestNoSwapDuringAWriteOrAListLeadsOutOfTheRoot(t *testing.T) {
	rounds := 2_000
	if testing.Short() {
		rounds = 200
	}
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.session, "deep/out/x.md", "x")
	loc, _, err := ws.ResolveOutput("deep/out/report.md")
	if err != nil {
		t.Fatal(err)
	}
	top, err := ws.Resolve("{session-folder}")
	if err != nil {
		t.Fatal(err)
	}
	before := corpus.Snapshot(t, w.outside)
	written := 0
	whileSwapping(t, filepath.Join(w.session, "deep"), "out", w.outside, func() {
		for i := 0; i < rounds || written == 0 && i < 100*rounds; i++ {
			if ws.Write(loc, []byte("report")) == nil {
				written++
			}
			list, err := ws.List(top, 5)
			if err != nil {
				t.Error(err)
			}
			for _, e := range list.Entries {
				if strings.Contains(e.Path, "canary") {
					t.Errorf("%s is listed", e.Path)
				}
			}
		}
	})
	if after := corpus.Snapshot(t, w.outside); len(after) != len(before) {
		t.Errorf("outside there are %v", after)
	}
	if written == 0 {
		t.Error("nothing was written: the test shows nothing")
	}
	if removed, err := ws.Sweep(time.Now().Add(time.Hour)); removed != 0 || err != nil {
		t.Errorf("%d temporary files were left behind, %v", removed, err)
	}
}

func TestRemovingATreeThatIsBeingSwappedStaysInside(t *testing.T) {
	w := newWorld(t)
	sessions := sessionsRoot(t, w)
	for i := range 20 {
		put(t, w.outside, "precious/"+strings.Repeat("x", i+1), "x")
	}
	before := corpus.Snapshot(t, w.outside)
	for range 50 {
		put(t, w.session, "victim/inner/file", "x")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			inner := filepath.Join(w.session, "victim", "inner")
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Any of these fails once the tree is gone.
				_ = os.Rename(inner, inner+"-aside")
				_ = os.Symlink(w.outside, inner)
				_ = os.Remove(inner)
				_ = os.Rename(inner+"-aside", inner)
			}
		})
		// Whether it succeeds is a matter of luck.
		_ = RemoveAll(sessions, "one")
		close(stop)
		wg.Wait()
		if after := corpus.Snapshot(t, w.outside); len(after) != len(before) {
			t.Fatalf("outside there are %d files of %d", len(after), len(before))
		}
	}
}
