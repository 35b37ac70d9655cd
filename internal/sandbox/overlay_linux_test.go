package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Programs that run at the same time with the same overlay do not get into each other's
// way, and one that comes later finds what another one has left.
func TestOverlaysAreNotShared(t *testing.T) {
	s, p := open(t, Full), newPlace(t)
	cache := filepath.Join(filepath.Dir(p.worktree), "cache")
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(cache, "build")
	run := func(script string) string {
		r, err := s.Run(t.Context(), Command{Argv: []string{"sh", "-c", script}, Dir: p.worktree, Env: []string{"PATH=" + os.Getenv("PATH"), "T=" + target}, Write: []string{p.worktree, cache},
			Overlays: []Overlay{{Lower: p.outside, Upper: filepath.Join(cache, "build.upper"), Target: target}}})
		if err != nil || r.Exit != 0 {
			t.Errorf("%s: %+v %v", script, r, err)
		}
		return r.Output
	}
	if got := run("ls $T"); !strings.Contains(got, "file") {
		t.Skipf("the kernel has no overlays for us: %q", got)
	}
	var both sync.WaitGroup
	both.Go(func() {
		run("mkdir $T/first && touch started && while [ ! -e go ]; do sleep 0.02; done; touch $T/first/more")
	})
	var second string
	both.Go(func() {
		second = run("while [ ! -e started ]; do sleep 0.02; done; ls $T; mkdir $T/second; touch go")
	})
	both.Wait()
	if second != "file\n" {
		t.Errorf("beside another one it sees %q", second)
	}
	if got := run("ls -d $T/* $T/first/more 2>/dev/null | sed s,$T/,,"); got != "file\nfirst\nfirst/more\n" && got != "file\nsecond\n" {
		t.Errorf("afterwards there is %q", got)
	}
	if got, err := os.ReadDir(p.outside); err != nil || len(got) != 1 {
		t.Errorf("what it began with has become %v %v", got, err)
	}
}
