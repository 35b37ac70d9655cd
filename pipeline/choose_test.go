package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/internal/sandbox"
)

func TestWhereADeliveryWorksIsChosen(t *testing.T) {
	o, _ := openedSite(t, map[string]string{"go.mod": "module x\n\ngo 1.24\n", "a.go": "package x\n"}, Repository{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := prepareRequest{Request: "Todo app", Feature: "todo-app", At: at}
	data := t.TempDir()
	choose := func(r Repository) (*Site, error) {
		r.Data, r.Worktrees, r.Branch = data, o.Worktrees, "free/<feature>-<id>"
		return (&workshop{Repository: r}).choose(t.Context(), "0123456789", in)
	}
	s, err := choose(Repository{Dir: o.Repo})
	if err != nil || s.Session != "0123456789" || s.ID != "01234567" || s.Request != "Todo app" || s.Branch != "free/todo-app-01234567" || s.Worktree != filepath.Join(o.Worktrees, "01234567") || s.Base != o.Base || !s.Created.Equal(at) || s.Own || !s.Found || len(s.Checks) == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = choose(Repository{Dir: o.Repo, Checks: []Check{{Name: "mine", Run: "true"}}})
	if err != nil || s.Found || len(s.Checks) != 1 || s.Checks[0].Name != "mine" {
		t.Errorf("%+v, %v", s, err)
	}
	run(t, o.Repo, "echo changed >b.txt")
	s, err = choose(Repository{Dir: o.Repo, IncludeChanges: true})
	if err != nil || s.Base == o.Base || run(t, o.Repo, "git show "+s.Base+":b.txt") != "changed" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := choose(Repository{Dir: o.Repo, Base: "nowhere"}); err == nil {
		t.Error("a base that is not there")
	}
	if _, err := choose(Repository{Dir: t.TempDir()}); !errors.Is(err, git.ErrNone) {
		t.Error(err)
	}
	if _, err := choose(Repository{Dir: filepath.Join(t.TempDir(), "gone")}); !errors.Is(err, git.ErrNone) {
		t.Error(err)
	}
	below := filepath.Join(o.Repo, "made", "<date>-<feature>-<id>")
	s, err = choose(Repository{Dir: below, Create: true})
	if err != nil || !s.Own || s.Repo != filepath.Join(o.Repo, "made", "2026-01-02-todo-app-01234567") || len(s.Checks) != 0 || !s.Found {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = choose(Repository{Dir: below, Create: true}); err != nil || !s.Own { // as if it was killed before that was on file
		t.Errorf("%+v, %v", s, err)
	}
	run(t, s.Repo, "git update-ref -d refs/heads/main") // as if it was killed while it was made
	if s, err = choose(Repository{Dir: below, Create: true}); err != nil || !s.Own {
		t.Errorf("%+v, %v", s, err)
	}
	run(t, data, "rm */creating")
	s, err = choose(Repository{Dir: below, Create: true}) // which is there now
	if err != nil || s.Own {
		t.Errorf("%+v, %v", s, err)
	}
}

// Lock files that the setup has written are part of the change, and nothing else that it wrote.
func TestLockFilesOfTheSetupAreKept(t *testing.T) {
	o, at := filled(t, map[string]string{"package-lock.json": "{}", "sub/package-lock.json": "{}", "index.js": "1\n"}, Repository{Protect: []string{"sub/**"}})
	before, err := o.worktree.Tree(t.Context(), at.Tree)
	if err != nil {
		t.Fatal(err)
	}
	was := at.Tree
	if locks, err := o.keepLocks(t.Context(), &at, before); err != nil || locks != nil || at.Tree != was {
		t.Errorf("%q, %v", locks, err)
	}
	write(t, o.Worktree, map[string]string{"package-lock.json": `{"a": 1}`, "sub/package-lock.json": `{"a": 1}`, "index.js": "2\n", "yarn.lock": "\x00", "new/yarn.lock": "a\n"})
	locks, err := o.keepLocks(t.Context(), &at, before)
	if err != nil || !slices.Equal(locks, []string{"new/yarn.lock", "package-lock.json"}) || at.Tree == was {
		t.Errorf("%q, %v", locks, err)
	}
	if got := run(t, o.Worktree, "git diff --name-only "+was+" "+at.Tree); got != "new/yarn.lock\npackage-lock.json" {
		t.Errorf("changed are %s", got)
	}
}

// In a repository that was made for a delivery, checks are found in what was built there.
func TestChecksAreFoundInWhatWasBuilt(t *testing.T) {
	o, at := filled(t, map[string]string{"README.md": "x\n"}, Repository{})
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		o.moved(t, run)
		find := func() []checks.Check {
			t.Helper()
			found, err := call[adoptedChecks](ctx, run, o.findChecksTool(), at)
			if err != nil {
				t.Fatal(err)
			}
			return found.Checks
		}
		write(t, o.Worktree, map[string]string{"go.mod": "module x\n\ngo 1.24\n", "a.go": "package x\n"})
		tree, err := o.worktree.Snapshot(ctx)
		if err != nil {
			return err
		}
		at.Tree = tree
		if got := find(); got != nil {
			t.Errorf("in another's repository: %+v", got)
		}
		o.Own, o.Checks = true, []checks.Check{{Name: "mine"}}
		if err := o.Save(o.folder); err != nil {
			return err
		}
		first, again := find(), find()
		if len(first) < 2 || first[0].Name != "mine" || len(again) != len(first) {
			t.Errorf("%+v, and then %+v", first, again)
		}
		site, err := ReadSite(o.folder)
		if err != nil || len(site.Checks) != len(first) {
			t.Errorf("%+v, %v", site, err)
		}
		d := &delivery{Config: Config{Repository: &Repository{}}, tools: siteTools{findChecks: o.findChecksTool()}}
		for _, c := range []struct {
			isNew bool
			own   []Check
			want  int
		}{{true, nil, len(first)}, {false, nil, 0}, {true, []Check{{Name: "x"}}, 0}} {
			d.Repository.Checks = c.own
			p := prepared{New: c.isNew}
			if err := d.findChecks(ctx, run, &p, at); err != nil || len(p.Checks) != c.want {
				t.Errorf("%+v: %+v, %v", c, p.Checks, err)
			}
		}
		return nil
	})
}

// A reviewer's test is tried on the change; what is wrong with the test is said.
func TestAReproductionIsPutIntoTheChange(t *testing.T) {
	o, at := openedSite(t, map[string]string{"a.go": "package a\n", "keep/x": "1\n"}, Repository{Protect: []string{"keep/**"}})
	in := tryRequest{state: at, Finding: "F1"}
	in.Changes = append(in.Changes, changesOf(&Parsed{JSON: []byte(`{"artifacts": [{"path": "a_test.go", "type": "file", "content": "package a\n"}]}`)})...)
	with, problem, err := o.withReproduction(t.Context(), &in)
	if err != nil || problem != "" || run(t, o.Worktree, "git diff --name-only "+at.Tree+" "+with) != "a_test.go" || in.Changes[0].Reason != "reproduces F1" || !o.worktree.Filled() {
		t.Errorf("%q, %q, %v", with, problem, err)
	}
	in.Changes[0].Path = "keep/y"
	if with, problem, err := o.withReproduction(t.Context(), &in); err != nil || problem == "" || with != "" {
		t.Errorf("%q, %q, %v", with, problem, err)
	}
	o.refuse = errors.New("there is no sandbox")
	if got, err := o.tryChecks(t.Context(), o.worktree, nil); err != nil || got != (trial{Reason: "there is no sandbox"}) {
		t.Errorf("%+v, %v", got, err)
	}
	o.refuse = nil
	if got, err := o.tryChecks(t.Context(), o.worktree, nil); err != nil || got != (trial{Reason: "there are no checks"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A check may read the repository, what is configured and what is linked; mirrors stay as they are.
func TestARoomHasWhatChecksMayRead(t *testing.T) {
	o, _ := filled(t, map[string]string{"packages/lib/a": "1\n", ".gitignore": "node_modules\n"}, Repository{Read: []string{"/usr", "fixtures"}, Cache: "/cache", Env: []string{"X"}, Network: []string{"h"}})
	write(t, o.Repo, map[string]string{"node_modules/dep/a": "1\n"})
	if err := os.Symlink("../packages/lib", filepath.Join(o.Repo, "node_modules", "lib")); err != nil {
		t.Fatal(err)
	}
	if err := o.furnish(t.Context(), o.Worktree); err != nil {
		t.Fatal(err)
	}
	room, err := o.room(t.Context(), o.worktree)
	want := []string{o.repo.Dir, "/usr", filepath.Join(o.Repo, "fixtures"), filepath.Join(o.Repo, "node_modules")}
	if err != nil || !slices.Equal(room.Read, want) || !slices.Equal(room.Keep, []string{filepath.Join(o.Worktree, "node_modules")}) || room.Root != o.Worktree || room.Cache != "/cache" || len(room.Env) != 1 || len(room.Hosts) != 1 || room.Redact == nil {
		t.Errorf("%+v, %v", room, err)
	}
	o.refuse = errors.New("no sandbox")
	if _, err := o.room(t.Context(), o.worktree); err == nil || !strings.Contains(err.Error(), "no sandbox") {
		t.Error(err)
	}
}

// After a setup the worktree holds what is committed, and is known to be set up once the last
// command has run.
func TestASetupLeavesTheFilesAsTheyAre(t *testing.T) {
	o, at := filled(t, map[string]string{"a": "1\n", ".gitignore": "made\n"}, Repository{Setup: []string{"echo 2 >a; echo dep >made", "test -e made"}})
	helper, err := sandbox.Open(t.Context(), sandbox.Off, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.workshop.helper, o.workshop.Cache = helper, t.TempDir()
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		o.moved(t, run)
		for i, command := range append(o.Setup, "false") {
			outcome, err := call[checks.Outcome](ctx, run, o.setupTool(), setupRequest{state: at, Command: command, At: time.Unix(0, 0)})
			if err != nil || outcome.OK != (i < 2) {
				t.Errorf("%s: %+v, %v", command, outcome, err)
			}
			if got := shell(t, o.Worktree, "cat a made; git status --porcelain"); got != "1\ndep" {
				t.Errorf("%s: the worktree holds %q", command, got)
			}
			if _, err := os.Stat(o.pending()); err == nil {
				t.Errorf("%s: it is still being changed", command)
			}
			on, _ := os.ReadFile(setupFile(o.worktree))
			if want := map[int]string{1: o.Base, 2: o.Base}[i]; string(on) != want {
				t.Errorf("%s: it is set up on %q", command, on)
			}
		}
		return nil
	})
}
