package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/git"
)

// builtSite is the site of a delivery whose branch has a commit that nobody has taken.
func builtSite(t *testing.T) (o *openSite, tip string) {
	t.Helper()
	o, at := filled(t, map[string]string{"a.txt": "a\n"}, Repository{})
	write(t, o.Worktree, map[string]string{"a.txt": "changed\n", "new.txt": "new\n"})
	if _, err := o.find(t.Context(), at, time.Now()); err != nil {
		t.Fatal(err)
	}
	return o, run(t, o.Repo, "git rev-parse "+o.Branch)
}

// wasTaken checks that a branch is taken, once, and that this is on file.
func (o *openSite) wasTaken(t *testing.T, tip string) {
	t.Helper()
	site, err := ReadSite(o.folder)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(site.Applied, []string{o.Base, tip}) || len(site.Takes) != 1 || site.Taking != nil {
		t.Errorf("on file are %q, %v and %q", site.Applied, site.Takes, site.Taking)
	}
	if got := run(t, o.Repo, "git rev-parse HEAD; git status --porcelain"); got != tip {
		t.Errorf("the checkout is at %s", got)
	}
}

// A take is killed anywhere: the next one takes the branch once, and says so.
func TestATakeThatIsKilledGoesOn(t *testing.T) {
	for name, left := range map[string]string{
		"before the checkout":           ":",
		"in the middle of the checkout": "printf 'chan' >a.txt; : >new.txt",
		"with the lock":                 "printf 'chan' >a.txt; : >.git/index.lock",
		"after the checkout":            "git merge -q --ff-only troupe/x",
	} {
		t.Run(name, func(t *testing.T) {
			o, tip := builtSite(t)
			o.Own, o.Taking = true, []string{o.Base, tip}
			run(t, o.Repo, left)
			for range 2 {
				if after, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil || after != tip {
					t.Fatal(after, err)
				}
				o.wasTaken(t, tip)
			}
		})
	}
}

// A lock in the checkout of a person is theirs.
func TestALockInAPersonsCheckoutStays(t *testing.T) {
	o, tip := builtSite(t)
	o.Taking = []string{o.Base, tip}
	run(t, o.Repo, ": >.git/index.lock")
	if _, err := o.Take(t.Context(), o.folder, "merge", ""); err == nil {
		t.Error("it is taken")
	}
	run(t, o.Repo, "rm .git/index.lock")
	if _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
		t.Fatal(err)
	}
	o.wasTaken(t, tip)
}

// What was taken before a process was killed is put on record, and nothing else is.
func TestATakeIsNotedAfterAKill(t *testing.T) {
	o, tip := builtSite(t)
	o.Taking = []string{o.Base, tip}
	if err := o.NoteTaken(t.Context(), o.folder); err != nil || o.Applied != nil || o.Taking == nil {
		t.Errorf("%q, %q, %v", o.Applied, o.Taking, err)
	}
	run(t, o.Repo, "git merge -q --ff-only troupe/x")
	for range 2 {
		if err := o.NoteTaken(t.Context(), o.folder); err != nil {
			t.Fatal(err)
		}
		o.wasTaken(t, tip)
	}
}

// What is taken on top of what was taken is taken back with it, unless somebody has committed
// in between: that is not the delivery's.
func TestTakesOnTopOfEachOtherAreOne(t *testing.T) {
	o, first := builtSite(t)
	take := func() {
		t.Helper()
		if _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
			t.Fatal(err)
		}
	}
	take()
	run(t, o.Worktree, "git add -A; echo 2 >2.txt; git add 2.txt; git commit -qm more")
	take()
	second := run(t, o.Repo, "git rev-parse HEAD")
	if !slices.Equal(o.Applied, []string{o.Base, second}) || second == first || len(o.Takes) != 2 {
		t.Errorf("%q, %v", o.Applied, o.Takes)
	}
	run(t, o.Repo, "echo mine >mine.txt; git add mine.txt; git commit -qm mine")
	mine := run(t, o.Repo, "git rev-parse HEAD")
	run(t, o.Worktree, "echo 3 >3.txt; git add 3.txt; git commit -qm more")
	take()
	if len(o.Applied) != 2 || o.Applied[0] != mine {
		t.Errorf("%q", o.Applied)
	}
}

// What a person has changed stands in the way, whoever was killed.
func TestATakeLeavesWhatIsChangedByHand(t *testing.T) {
	o, tip := builtSite(t)
	o.Own, o.Taking = true, []string{o.Base, tip}
	run(t, o.Repo, "echo mine >a.txt")
	if _, err := o.Take(t.Context(), o.folder, "merge", ""); !isConflict(err) {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(o.Repo, "a.txt")); err != nil || string(data) != "mine\n" {
		t.Errorf("%s, %v", data, err)
	}
}

func isConflict(err error) bool {
	_, ok := errors.AsType[*git.ConflictError](err)
	return ok
}

// A git that was killed while it changed the worktree has left its lock there.
func TestAWorktreeWhoseGitWasKilledIsMadeAnew(t *testing.T) {
	o, at := filled(t, map[string]string{"a.txt": "a\n"}, Repository{})
	o.mark()
	write(t, o.Worktree, map[string]string{"a.txt": ""})
	if err := os.WriteFile(filepath.Join(o.worktree.GitDir(), "index.lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := o.find(t.Context(), at, time.Now())
	if err != nil || found.Head != at.Head || found.Tree != at.Tree || found.ByHand != nil {
		t.Errorf("%+v, %v", found, err)
	}
	if got := run(t, o.Worktree, "cat a.txt; git status --porcelain"); got != "a" {
		t.Errorf("it has %s", got)
	}
}
