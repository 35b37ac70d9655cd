package pipeline

import (
	"errors"
	"os"
	"path/filepath"
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

// first is what a branch brings that is taken for the first time.
func (o *openSite) first(tip string) git.Part {
	return git.Part{Before: o.Base, After: tip, Tip: tip}
}

// wasTaken checks that a branch is taken, once, and that this is on file.
func (o *openSite) wasTaken(t *testing.T, tip string) {
	t.Helper()
	site, err := ReadSite(o.folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(site.Brought) != 1 || site.Brought[0] != o.first(tip) || len(site.Takes) != 1 || site.Taking != nil {
		t.Errorf("on file are %q, %v and %q", site.Brought, site.Takes, site.Taking)
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
			o.Own, o.Taking = true, []git.Part{o.first(tip)}
			run(t, o.Repo, left)
			for range 2 {
				if _, after, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil || after != tip {
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
	o.Taking = []git.Part{o.first(tip)}
	run(t, o.Repo, ": >.git/index.lock")
	if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err == nil {
		t.Error("it is taken")
	}
	run(t, o.Repo, "rm .git/index.lock")
	if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
		t.Fatal(err)
	}
	o.wasTaken(t, tip)
}

// What was taken before a process was killed is put on record, and nothing else is.
func TestATakeIsNotedAfterAKill(t *testing.T) {
	o, tip := builtSite(t)
	o.Taking = []git.Part{o.first(tip)}
	if err := o.NoteTaken(t.Context(), o.folder); err != nil || o.Brought != nil || o.Taking == nil {
		t.Errorf("%q, %q, %v", o.Brought, o.Taking, err)
	}
	run(t, o.Repo, "git merge -q --ff-only troupe/x")
	for range 2 {
		if err := o.NoteTaken(t.Context(), o.folder); err != nil {
			t.Fatal(err)
		}
		o.wasTaken(t, tip)
	}
}

// What a person has changed stands in the way, whoever was killed.
func TestATakeLeavesWhatIsChangedByHand(t *testing.T) {
	o, tip := builtSite(t)
	o.Own, o.Taking = true, []git.Part{o.first(tip)}
	run(t, o.Repo, "echo mine >a.txt")
	if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); !isConflict(err) {
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
