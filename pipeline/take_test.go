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

// What git has refused to begin is not taken for something that was killed: what somebody changes
// afterwards is theirs.
func TestATakeThatIsRefusedHasNotBegun(t *testing.T) {
	for name, in := range map[string]string{"a file": "mkdir new.txt; echo mine >new.txt/mine", "a lock": ": >.git/index.lock"} {
		t.Run(name, func(t *testing.T) {
			o, tip := builtSite(t)
			run(t, o.Repo, in)
			if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err == nil {
				t.Fatal("it is taken")
			}
			if site, err := ReadSite(o.folder); err != nil || site.Taking != nil {
				t.Errorf("on file is %v, %v", site.Taking, err)
			}
			run(t, o.Repo, "rm -rf new.txt .git/index.lock; : >a.txt")
			if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); !isConflict(err) {
				t.Error(err)
			}
			if got := run(t, o.Repo, "cat a.txt; git status --porcelain"); got != "M a.txt" {
				t.Errorf("it has %s", got)
			}
			run(t, o.Repo, "git checkout -q a.txt")
			if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
				t.Fatal(err)
			}
			o.wasTaken(t, tip)
		})
	}
}

// What git refuses once it has written the files leaves none of them: not in the index either, where
// the next commit of somebody would have them. What is beside them is nobody's obstacle.
func TestATakeThatIsRefusedAtItsEndLeavesNothing(t *testing.T) {
	for _, lock := range []string{".git/HEAD.lock", ".git/refs/heads/main.lock"} {
		t.Run(lock, func(t *testing.T) {
			o, tip := builtSite(t)
			run(t, o.Repo, "echo mine >beside.txt; : >"+lock)
			for range 2 {
				if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err == nil {
					t.Fatal("it is taken")
				}
				if got := run(t, o.Repo, "git status --porcelain"); got != "?? beside.txt" {
					t.Errorf("it leaves %s", got)
				}
			}
			run(t, o.Repo, "rm "+lock)
			if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
				t.Fatal(err)
			}
			run(t, o.Repo, ": >"+lock)
			repo, err := git.Open(t.Context(), o.Repo)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := o.Revert(t.Context(), repo, o.folder, "back"); err == nil {
				t.Fatal("it is taken back")
			}
			run(t, o.Repo, "rm "+lock+" beside.txt")
			o.wasTaken(t, tip)
		})
	}
}

// Taking back is killed anywhere: the next one takes it back once, and says so.
func TestATakeBackThatIsKilledGoesOn(t *testing.T) {
	for name, left := range map[string]string{
		"before the checkout":           ":",
		"in the middle of the checkout": "printf 'a' >a.txt; rm new.txt",
		"with the lock":                 "printf 'a' >a.txt; : >.git/index.lock",
		"after the checkout":            "git merge -q --ff-only",
	} {
		t.Run(name, func(t *testing.T) {
			o, tip := builtSite(t)
			if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
				t.Fatal(err)
			}
			back := run(t, o.Repo, "git commit-tree -p HEAD -m back "+o.Base+"^{tree}")
			undone := o.first(tip)
			undone.Undone = back
			o.Own, o.Undoing = true, &Undoing{Brought: []git.Part{undone}, Before: tip, After: back}
			if name == "after the checkout" {
				left += " " + back
			}
			run(t, o.Repo, left)
			for n := range 2 {
				stands, reverted, err := o.Revert(t.Context(), o.repo, o.folder, "back")
				if err != nil || (len(stands.In) > 0) != (reverted != "") || n == 1 && reverted != "" {
					t.Fatal(stands, reverted, err)
				}
				site, err := ReadSite(o.folder)
				if err != nil || len(site.Takes) != 2 || !site.Takes[1].Back || site.Undoing != nil || len(site.Brought) != 1 || site.Brought[0].Undone != run(t, o.Repo, "git rev-parse HEAD") {
					t.Errorf("on file is %+v, %v", site, err)
				}
				if got := run(t, o.Repo, "cat a.txt; git status --porcelain; git rev-list --count "+tip+"..HEAD"); got != "a\n1" {
					t.Errorf("the checkout has %s", got)
				}
			}
		})
	}
}

// It is on record before the checkout is touched.
func TestATakeBackIsOnRecordBeforeItBegins(t *testing.T) {
	o, tip := builtSite(t)
	if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
		t.Fatal(err)
	}
	run(t, o.Repo, "mkfifo .git/begun .git/go; git config filter.slow.smudge 'echo >.git/begun; cat .git/go; cat'; echo 'a.txt filter=slow' >.git/info/attributes")
	done := make(chan error)
	go func() {
		_, _, err := o.Revert(t.Context(), o.repo, o.folder, "back")
		done <- err
	}()
	run(t, o.Repo, "cat .git/begun")
	site, err := ReadSite(o.folder)
	if err != nil || site.Undoing == nil || site.Undoing.Before != tip {
		t.Errorf("on file is %+v, %v", site, err)
	}
	run(t, o.Repo, ": >.git/go")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The commits of a delivery are told by their trailer: what was merged by hand is there, and what
// somebody has committed themselves is not the delivery's when its branch is brought up to date.
func TestADeliveryIsToldByItsCommits(t *testing.T) {
	o, _ := builtSite(t)
	stands := func(want int) {
		t.Helper()
		if s, err := o.Stands(t.Context(), o.repo); err != nil || len(s.In) != want {
			t.Errorf("in are %+v, %v", s.In, err)
		}
	}
	run(t, o.Repo, "echo mine >mine.txt; git add -A; git commit -qm mine; git -C "+o.Worktree+" merge -q --no-edit main")
	stands(0)
	run(t, o.Repo, "git merge -q --ff-only "+o.Branch)
	stands(1)
	if _, _, err := o.Revert(t.Context(), o.repo, o.folder, "back"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, o.Repo, "cat a.txt mine.txt; ls"); got != "a\nmine\na.txt\nmine.txt" {
		t.Errorf("it has %s", got)
	}
}

// What was begun and has come to nothing is not what comes after it.
func TestATakeAfterATakeBackThatWasKilledIsOne(t *testing.T) {
	o, tip := builtSite(t)
	if _, _, err := o.Take(t.Context(), o.folder, "merge", "squashed"); err != nil {
		t.Fatal(err)
	}
	back := run(t, o.Repo, "git commit-tree -p HEAD -m back "+o.Base+"^{tree}")
	o.Undoing = &Undoing{Before: run(t, o.Repo, "git rev-parse HEAD"), After: back}
	run(t, o.Repo, "git reset -q --hard "+o.Base+"; echo mine >mine.txt; git add -A; git commit -qm mine")
	if _, _, err := o.Take(t.Context(), o.folder, "merge", ""); err != nil {
		t.Fatal(err)
	}
	site, err := ReadSite(o.folder)
	if err != nil || len(site.Takes) != 2 || site.Takes[1].Back || site.Undoing != nil || len(site.Brought) != 1 || site.Brought[0].Tip != tip {
		t.Errorf("on file is %+v, %v", site, err)
	}
}
