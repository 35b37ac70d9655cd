package git

import (
	"os"
	"path/filepath"
	"testing"
)

// advancing is a repository with a branch that changes, makes and removes files, and the
// commits that its checkout is moved between.
func advancing(t *testing.T) (r *Repo, from, to string) {
	r = newRepo(t, "git switch -qc next; printf 'changed\\n' >a.txt; printf 'new\\n' >new.txt; mkdir made; printf 'x\\n' >made/x.txt; git rm -q sub/b.txt; git add -A; git commit -qm two; git switch -q main")
	stands, to, err := r.Merge(t.Context(), Branch{Name: "next", Base: headOf2(t, r)}, "", "")
	if err != nil || stands.Head == to {
		t.Fatal(stands, to, err)
	}
	return r, stands.Head, to
}

// Git is killed while it moves the checkout: what it has written is taken back, and it can be
// moved again.
func TestWhatAKilledAdvanceHasWrittenIsTakenBack(t *testing.T) {
	for name, command := range map[string]string{
		"nothing yet":           ":",
		"by halves":             "printf 'chan' >a.txt; : >new.txt; rm sub/b.txt",
		"one file not there":    "rm a.txt",
		"all but the index":     "printf 'changed\\n' >a.txt; printf 'new\\n' >new.txt; mkdir made; printf 'x\\n' >made/x.txt; rm -r sub",
		"all but the branch":    "git read-tree -m -u HEAD next",
		"beside what is theirs": "printf 'chan' >a.txt; echo mine >mine.txt; echo staged >staged.txt; git add staged.txt",
	} {
		t.Run(name, func(t *testing.T) {
			r, from, to := advancing(t)
			sh(t, r.Top, command)
			if err := r.Retreat(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			want := ""
			if name == "beside what is theirs" {
				want = "A  staged.txt\n?? mine.txt\n"
			}
			if got := sh(t, r.Top, "git status --porcelain"); got != want {
				t.Errorf("the checkout has %s", got)
			}
			if err := r.Advance(t.Context(), to); err != nil {
				t.Error(err)
			}
			if got := sh(t, r.Top, "git rev-parse HEAD; cat a.txt made/x.txt; git status --porcelain"); got != to+"\nchanged\nx\n"+want {
				t.Errorf("it came to %s", got)
			}
			if there, err := r.Contains(t.Context(), to); err != nil || !there {
				t.Error(there, err)
			}
		})
	}
}

// What a person has written is no leftover of ours, and neither is anything once they went on.
func TestNothingOfAPersonsIsTakenBack(t *testing.T) {
	for name, command := range map[string]string{
		"another text":    "printf 'chan' >new.txt; printf 'mine' >a.txt",
		"longer than it":  "printf 'changed\\nand mine' >a.txt",
		"a link":          "ln -s a.txt new.txt",
		"another commit":  "printf 'chan' >a.txt; git commit -qam mine; printf 'new' >new.txt",
		"a removed place": "printf 'mine' >sub/b.txt",
	} {
		t.Run(name, func(t *testing.T) {
			r, from, to := advancing(t)
			sh(t, r.Top, command)
			all := "git rev-parse HEAD; git status --porcelain; cat a.txt new.txt sub/b.txt 2>&1; true"
			was := sh(t, r.Top, all)
			if err := r.Retreat(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			if got := sh(t, r.Top, all); got != was {
				t.Errorf("it was %s, and is %s", was, got)
			}
		})
	}
}

// A commit that is not there any more is not in the checkout.
func TestACommitThatIsGoneIsNotContained(t *testing.T) {
	r, _, to := advancing(t)
	for _, commit := range []string{to, "1234567890123456789012345678901234567890"} {
		if there, err := r.Contains(t.Context(), commit); err != nil || there {
			t.Errorf("%s: %v, %v", commit, there, err)
		}
	}
}

// Whoever changes a folder or a checkout waits for what is left running of one that was
// killed, and removes its lock where nothing is.
func TestALockThatIsLeftBehindIsRemoved(t *testing.T) {
	removed := func(dir string, write, breakLock func() error) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "index.lock"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := write(); err == nil {
			t.Errorf("somebody has the lock of %s, and it is written", dir)
		}
		if err := breakLock(); err != nil {
			t.Fatal(err)
		}
		if err := write(); err != nil {
			t.Error(err)
		}
	}
	r, _, to := advancing(t)
	removed(r.Dir, func() error { return r.Advance(t.Context(), to) }, func() error { return r.BreakLock(t.Context()) })
	w := newWorktree(t, r)
	tree := treeOf(t, w).ID
	removed(w.GitDir(), func() error { return w.Restore(t.Context(), tree) }, func() error { return w.BreakLock(t.Context()) })
}
