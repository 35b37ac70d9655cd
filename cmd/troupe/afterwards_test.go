package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever has seen what was delivered and wants something else says so, and gets it: as a
// step that is built, checked and reviewed like the others. "go on" is no wish.
func TestAWishAfterTheEnd(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	r, code := a.deliver(t, dir, "deliver", "Make it good")
	if code != 0 {
		t.Fatal(r.Reasons)
	}
	for _, said := range []string{"Mention the walrus, too", "Mention the penguin"} {
		if r, code = a.deliver(t, dir, "deliveries", "resume", r.ID, "-m", said); code != 0 {
			t.Fatalf("exit %d: %q", code, r.Reasons)
		}
		if a.holds("BMAD implementation", said) != 1 {
			t.Errorf("%q was said to %d builders", said, a.holds("BMAD implementation", said))
		}
	}
	if got := inRepository(t, dir, "git log --format=%s main.."+r.Branch+" -- '*.ok'"); got != "Mention the penguin\nMention the walrus, too\nSecond\nFirst\n" {
		t.Errorf("the log is %s", got)
	}
	asked := a.requests()
	if r, code = a.deliver(t, dir, "deliveries", "resume", r.ID, "-m", "go on"); code != 0 || len(r.Commits) != 4 {
		t.Errorf("exit %d: %q %v", code, r.Reasons, r.Commits)
	}
	if n := a.requests() - asked; n > 1 { // the review
		t.Errorf("%d requests for nothing", n)
	}
}

// A worktree in which somebody works is not removed: neither the delivery that is under
// way, nor a person who has changed something there.
func TestAWorktreeThatIsInUseIsKept(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	tidy := func(want ...string) {
		t.Helper()
		p := start(t, dir, a.environment(dir), nil, "deliveries", "clean")
		code := p.code()
		for _, part := range want {
			if said := p.out.String() + p.err.String(); code != 0 || !strings.Contains(said, part) {
				t.Errorf("exit %d, %q is not in\n%s", code, part, said)
			}
		}
	}
	if code := start(t, dir, a.environment(dir), nil, "deliver", "--approve", "plan", "Make it good").code(); code != 4 {
		t.Fatalf("exit %d", code)
	}
	worktrees, err := filepath.Glob(filepath.Join(dir, ".cache", "troupe", "worktrees", "*"))
	if err != nil || len(worktrees) == 0 {
		t.Fatalf("%q %v", worktrees, err)
	}
	id := filepath.Base(worktrees[0])[:8]
	hand := filepath.Join(dir, ".cache", "troupe", "worktrees", id, "hand.ok")
	if err := os.WriteFile(hand, []byte("good\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tidy("kept, "+id, "hand.ok", "0 worktrees removed")
	building, release := make(chan struct{}), make(chan struct{})
	a.plays(func(phase, step, prompt string, n int) string {
		if phase == "implementation" && step == "2" {
			close(building)
			<-release
		}
		return goodWork(phase, step, prompt, n)
	})
	p := start(t, dir, a.environment(dir), nil, "deliveries", "resume", id, "-m", "go on")
	<-building
	tidy("kept, "+id, "being carried out", "0 worktrees removed")
	drop := start(t, dir, a.environment(dir), nil, "deliveries", "drop", id)
	if code := drop.code(); code == 0 || !strings.Contains(drop.err.String(), "being carried out") {
		t.Errorf("exit %d: %s", code, &drop.err)
	}
	close(release)
	if code := p.code(); code != 0 {
		t.Fatalf("exit %d: %s", code, &p.err)
	}
	if got := inRepository(t, dir, "git log --format=%s main..$(git for-each-ref --format='%(refname)' 'refs/heads/troupe/*') -- hand.ok"); got != "By hand\n" {
		t.Errorf("what was changed by hand is in %q", got)
	}
	tidy("2 worktrees removed")
}
