package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/edit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sh runs a shell command in a directory, as a person would.
func sh(t testing.TB, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

func newRepo(t testing.TB, commands ...string) *Repo {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	dir := t.TempDir()
	sh(t, dir, "git init -q -b main; printf 'a\\n' >a.txt; mkdir sub; printf 'b\\n' >sub/b.txt; git add -A; git commit -qm one")
	for _, c := range commands {
		sh(t, dir, c)
	}
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newWorktree(t testing.TB, r *Repo) *Worktree {
	t.Helper()
	base, err := r.Base(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w, made, err := r.Worktree(t.Context(), filepath.Join(t.TempDir(), "tree"), "troupe/x-1", base)
	if err != nil || !made || w.Filled() {
		t.Fatal(made, err)
	}
	fill(t, w)
	return w
}

func fill(t testing.TB, w *Worktree) {
	t.Helper()
	if err := w.Fill(t.Context(), treeIDOf(t, w), func() error { return nil }); err != nil || !w.Filled() {
		t.Fatal(err)
	}
}

// fingerprint is all that a person could notice of their checkout.
func fingerprint(t testing.TB, r *Repo) string {
	return sh(t, r.Top, "git rev-parse HEAD; git symbolic-ref -q HEAD || true; git status --porcelain=v2; sha256sum .git/index; find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum")
}

func TestTheCheckoutIsNeverTouched(t *testing.T) {
	r := newRepo(t, "echo dirty >>a.txt; echo new >'with space'; echo staged >s; git add s; printf x >\"$(printf 'a\\nb')\"")
	before := fingerprint(t, r)
	w := newWorktree(t, r)
	changed, err := r.Changed(t.Context())
	if err != nil || len(changed) != 4 {
		t.Fatalf("%q %v", changed, err)
	}
	tree, head := treeOf(t, w), headOf(t, w)
	if _, isThere, _ := tree.File("with space"); isThere {
		t.Fatal("what is not committed is part of the worktree")
	}
	next, err := tree.With([]edit.Write{{Path: "a.txt", Content: "A\n", Mode: "100644"}, {Path: "sub/b.txt", Delete: true}, {Path: "ü/new file", Content: "x\n", Mode: "100755"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Restore(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, w.Dir, "cat a.txt; ls -R; test -x 'ü/new file'"); !strings.HasPrefix(got, "A\n") || strings.Contains(got, "b.txt") {
		t.Fatal(got)
	}
	first, err := w.Commit(t.Context(), next, head, "change\n", noon)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := w.Commit(t.Context(), next, head, "change\n", noon); err != nil || second != first {
		t.Fatalf("twice is not once: %s, %s, %v", first, second, err)
	}
	if now, err := w.Snapshot(t.Context()); err != nil || now != next {
		t.Fatal(now, next, err)
	}
	if after := fingerprint(t, r); after != before {
		t.Fatalf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	stats, err := w.Stats(t.Context(), head, first)
	if err != nil || len(stats) != 3 {
		t.Fatalf("%+v %v", stats, err)
	}
}

func headOf(t testing.TB, w *Worktree) string {
	t.Helper()
	head, err := w.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func treeOf(t testing.TB, w *Worktree) *Tree {
	t.Helper()
	id, err := w.TreeOf(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := w.Tree(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Git locks a worktree while it makes it. Killed in the midst of that, it leaves the lock,
// and as much of the folder as it had got to.
func TestAWorktreeThatWasNotMadeToItsEndIsMadeAnew(t *testing.T) {
	for name, damage := range map[string]string{"the folder is gone": "rm -rf $W", "half of the folder is there": "rm $W/a.txt $G/index", "nothing is missing": "true"} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			w := newWorktree(t, r)
			head := headOf(t, w)
			sh(t, r.Top, "W="+w.Dir+" G="+w.GitDir()+"; echo initializing >$G/locked; "+damage)
			again, made, err := r.Worktree(t.Context(), w.Dir, w.Branch, head)
			if err != nil || !made {
				t.Fatal(made, err)
			}
			fill(t, again)
			if got, err := again.Snapshot(t.Context()); err != nil || got != treeIDOf(t, again) {
				t.Errorf("it holds %s: %v", got, err)
			}
			scratch := filepath.Join(t.TempDir(), "clean")
			s, err := r.Scratch(t.Context(), scratch, head)
			if err != nil {
				t.Fatal(err)
			}
			sh(t, r.Top, "W="+s.Dir+" G="+s.GitDir()+"; echo initializing >$G/locked; "+damage)
			if _, err := r.Scratch(t.Context(), scratch, head); err != nil {
				t.Error(err)
			}
		})
	}
}

// A worktree of a person may be on a disk that is not there now, and one of another delivery
// may be in the making: git has written nothing yet of where it is.
func TestWorktreesOfOthersAreLeftAlone(t *testing.T) {
	r := newRepo(t)
	theirs := filepath.Join(t.TempDir(), "theirs")
	sh(t, r.Top, "git worktree add -q -b mine "+theirs+"; mv "+theirs+" "+theirs+".away; mkdir .git/worktrees/begun")
	w := newWorktree(t, r)
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	sh(t, r.Top, "mv "+theirs+".away "+theirs+"; test -d .git/worktrees/begun")
	if got := sh(t, theirs, "git status --short --branch"); got != "## mine\n" {
		t.Errorf("git says of it %q", got)
	}
	if _, err := os.Stat(w.GitDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of what was removed git has %s still: %v", w.GitDir(), err)
	}
}

func treeIDOf(t testing.TB, w *Worktree) string {
	t.Helper()
	id, err := w.TreeOf(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestWhatCannotBeWorkedOnIsRefused(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	if _, err := Open(t.Context(), t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("no repository: %v", err)
	}
	bare := t.TempDir()
	sh(t, bare, "git init -q --bare")
	if _, err := Open(t.Context(), bare); err == nil || !strings.Contains(err.Error(), "bare") {
		t.Errorf("bare: %v", err)
	}
	empty := t.TempDir()
	sh(t, empty, "git init -q")
	r, err := Open(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Base(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no commit yet") {
		t.Errorf("no commit: %v", err)
	}
	r = newRepo(t, "git checkout -qb other; echo x >a.txt; git commit -qam x; git checkout -q main; echo y >a.txt; git commit -qam y; git merge other || true")
	if _, err := r.Base(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "in the middle of a merge") {
		t.Errorf("merge: %v", err)
	}
	if _, err := r.Base(t.Context(), "nothing"); err == nil || !strings.Contains(err.Error(), "no commit") {
		t.Errorf("base: %v", err)
	}
	if _, _, err := newRepo(t).Worktree(t.Context(), t.TempDir(), "a..b", "HEAD"); err == nil || !strings.Contains(err.Error(), "does not accept") {
		t.Errorf("branch: %v", err)
	}
}

// A repository may name programs in many places; none of them is run.
func TestNothingOfTheRepositoryIsRun(t *testing.T) {
	r := newRepo(t, `mark="touch $PWD/../ran-$$"
		for h in post-checkout pre-commit post-commit reference-transaction post-index-change fsmonitor-watchman; do printf '#!/bin/sh\ntouch "'$PWD'/ran-'$h'"\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done
		git config core.fsmonitor "touch $PWD/ran-fsmonitor #"
		git config diff.external "touch $PWD/ran-diff #"
		git config filter.evil.smudge "touch $PWD/ran-smudge; cat"; git config filter.evil.clean "touch $PWD/ran-clean; cat"; git config filter.evil.required true
		git config diff.evil.textconv "touch $PWD/ran-textconv; cat"
		git config core.sshCommand "touch $PWD/ran-ssh"; git config core.pager "touch $PWD/ran-pager"; git config gpg.program "touch $PWD/ran-gpg"; git config commit.gpgSign true
		printf '*.txt filter=evil diff=evil\n' >.gitattributes; git -c filter.evil.clean=cat -c filter.evil.required=false -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false add -A
		git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false commit -qm attributes; rm -f ran-*`)
	w := newWorktree(t, r)
	tree, head := treeOf(t, w), headOf(t, w)
	next, err := tree.With([]edit.Write{{Path: "a.txt", Content: "A\n", Mode: "100644"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Restore(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), next, head, "x", noon); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Diff(t.Context(), head, "HEAD"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Changed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ran, _ := filepath.Glob(filepath.Join(r.Top, "ran-*")); len(ran) > 0 {
		t.Fatalf("these were run: %q", ran)
	}
}

// A worktree's .git file can be rewritten by what runs there; nobody believes it.
func TestTheWorktreesOwnWordIsNotTaken(t *testing.T) {
	r := newRepo(t)
	w := newWorktree(t, r)
	other := newRepo(t, "echo evil >evil; git add -A; git commit -qm evil")
	if err := os.WriteFile(filepath.Join(w.Dir, ".git"), []byte("gitdir: "+other.Dir+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := headOf(t, w); got != strings.TrimSpace(sh(t, r.Top, "git rev-parse HEAD")) {
		t.Fatalf("HEAD is %s", got)
	}
	if tree := treeOf(t, w); len(tree.Paths()) != 2 {
		t.Fatalf("%q", tree.Paths())
	}
}

func TestOddRepositories(t *testing.T) {
	t.Run("detached", func(t *testing.T) {
		r := newRepo(t, "git checkout -q --detach")
		newWorktree(t, r)
		if branch, _ := r.Branch(t.Context()); branch != "" {
			t.Fatal(branch)
		}
	})
	t.Run("submodule", func(t *testing.T) {
		other := newRepo(t)
		r := newRepo(t, "git -c protocol.file.allow=always submodule add -q "+other.Top+" mod; git commit -qm mod")
		w := newWorktree(t, r)
		tree := treeOf(t, w)
		if now, err := w.Snapshot(t.Context()); err != nil || now != tree.ID {
			t.Fatalf("a submodule that is not there is a change: %s %s %v", now, tree.ID, err)
		}
		if f, _, _ := tree.File("mod"); f.Mode != "160000" {
			t.Fatal(f)
		}
	})
	t.Run("large files elsewhere", func(t *testing.T) {
		r := newRepo(t, "git config filter.lfs.smudge 'false'; git config filter.lfs.clean false; git config filter.lfs.required true; printf '*.bin filter=lfs\\n' >.gitattributes; printf 'version https://git-lfs\\n' >x.bin; git -c filter.lfs.clean=cat -c filter.lfs.required=false add -A; git -c filter.lfs.clean=cat commit -qm lfs")
		w := newWorktree(t, r)
		if now, err := w.Snapshot(t.Context()); err != nil || now != treeOf(t, w).ID {
			t.Fatal(now, err)
		}
	})
	t.Run("in a worktree of a person's", func(t *testing.T) {
		r := newRepo(t, "git worktree add -q ../person -b person")
		in, err := Open(t.Context(), filepath.Join(filepath.Dir(r.Top), "person"))
		if err != nil || in.Dir != r.Dir {
			t.Fatal(in, err)
		}
		newWorktree(t, in)
	})
	t.Run("below a directory with a newline", func(t *testing.T) {
		r := newRepo(t, "mkdir \"$(printf 'x\\ny')\"; echo 1 >\"$(printf 'x\\ny')/f\"; git add -A; git commit -qm odd")
		if got := treeOf(t, newWorktree(t, r)).Paths(); len(got) != 3 || got[2] != "x\ny/f" {
			t.Fatalf("%q", got)
		}
	})
	t.Run("removed by hand", func(t *testing.T) {
		r := newRepo(t)
		w := newWorktree(t, r)
		os.RemoveAll(w.Dir)
		again, made, err := r.Worktree(t.Context(), w.Dir, w.Branch, headOf2(t, r))
		if err != nil || !made || headOf(t, again) == "" {
			t.Fatal(made, err)
		}
	})
	t.Run("a file in the place of a directory", func(t *testing.T) {
		w := newWorktree(t, newRepo(t))
		tree := treeOf(t, w)
		sh(t, w.Dir, "rm -r sub; echo x >sub; mkdir a.txt.d; rm a.txt; mkdir a.txt; echo y >a.txt/y")
		if err := w.Restore(t.Context(), tree.ID); err != nil {
			t.Fatal(err)
		}
		if now, err := w.Snapshot(t.Context()); err != nil || now != tree.ID {
			t.Fatal(now, err)
		}
	})
}

func headOf2(t testing.TB, r *Repo) string {
	return strings.TrimSpace(sh(t, r.Top, "git rev-parse HEAD"))
}

func TestStashTakesWhatIsChangedAndLeavesIt(t *testing.T) {
	r := newRepo(t, "echo dirty >>a.txt; echo new >n; rm sub/b.txt; echo staged >s; git add s")
	before := fingerprint(t, r)
	commit, err := r.Stash(t.Context(), noon, "changes")
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, r.Top, "git show "+commit+":a.txt; git ls-tree -r --name-only "+commit); got != "a\ndirty\na.txt\nn\ns\n" {
		t.Fatalf("%q", got)
	}
	if after := fingerprint(t, r); after != before {
		t.Fatalf("%s\nwas\n%s", after, before)
	}
}

func TestDifferencesOfAPerson(t *testing.T) {
	w := newWorktree(t, newRepo(t))
	base := treeOf(t, w)
	round, _ := base.With([]edit.Write{{Path: "a.txt", Content: "round\n", Mode: "100644"}})
	inRound, err := w.Tree(t.Context(), round)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _ := inRound.With([]edit.Write{{Path: "sub/b.txt", Content: "hand\n", Mode: "100644"}})
	tree, ok, err := w.ApplyDifference(t.Context(), round, byHand, base.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	stats, _ := w.Stats(t.Context(), base.ID, tree)
	if len(stats) != 1 || stats[0].Path != "sub/b.txt" {
		t.Fatal(stats)
	}
}

// What a program did to files that are in the tree is undone, too.
func TestRestoreUndoesWhatWasDoneToTrackedFiles(t *testing.T) {
	w := newWorktree(t, newRepo(t))
	tree := treeOf(t, w)
	sh(t, w.Dir, "echo more >>a.txt; rm sub/b.txt; chmod +x a.txt; echo new >n; mkdir d; echo x >d/x")
	if err := w.Restore(t.Context(), tree.ID); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, w.Dir, "cat a.txt sub/b.txt; ls"); got != "a\nb\na.txt\nsub\n" {
		t.Fatalf("%q", got)
	}
	if now, err := w.Snapshot(t.Context()); err != nil || now != tree.ID {
		t.Fatal(now, err)
	}
}

// The sizes of files cost git more than their names: they are read for what is asked about.
func TestFilesAreReadUpToASize(t *testing.T) {
	r := newRepo(t, "printf '%0100d' 0 >large; printf 12345 >small; git add -A; git commit -qm sizes")
	tree, err := r.Tree(t.Context(), "HEAD")
	if err != nil || tree.sizes != nil {
		t.Fatalf("%v, sizes %v", err, tree.sizes)
	}
	if err := tree.Load([]string{"large", "small", "nothing"}, 50); err != nil {
		t.Fatal(err)
	}
	if _, isRead := tree.read["large"]; isRead || tree.read["small"] != "12345" || tree.sizes != nil {
		t.Errorf("it has read %q, sizes %v", tree.read, tree.sizes)
	}
	if f, ok, err := tree.File("large"); err != nil || !ok || len(f.Content) != 100 {
		t.Errorf("%+v %t %v", f, ok, err)
	}
	if tree.Size("large") != 100 || tree.Size("small") != 5 || tree.Size("nothing") != 0 {
		t.Errorf("sizes %v", tree.sizes)
	}
}

// What is merged is a name for nothing else, and may go. All else stays.
func TestOnlyWhatIsMergedIsDropped(t *testing.T) {
	r := newRepo(t,
		"git branch troupe/x-1", "git branch other",
		"git checkout -q -b troupe/x-2; git commit -q --allow-empty -m two; git update-ref refs/troupe/2/attempts/1-1 HEAD; git checkout -q main",
		"git commit-tree -m tried -p HEAD HEAD^{tree} | xargs git update-ref refs/troupe/1/attempts/1-1", "git update-ref refs/troupe/1/attempts/1-2 HEAD",
		"git update-ref refs/troupe/12/attempts/1-1 HEAD",
	)
	ctx := t.Context()
	for _, test := range []struct{ branch, prefix, stay string }{
		{"", "", ""}, {"gone", "refs/troupe/3/", ""}, {"main", "", "refs/heads/main"}, // which is checked out
		{"troupe/x-1", "refs/troupe/1/", "refs/troupe/1/attempts/1-1"}, {"troupe/x-1", "refs/troupe/1/", "refs/troupe/1/attempts/1-1"}, {"troupe/x-2", "refs/troupe/2/", "refs/heads/troupe/x-2"},
	} {
		stay, err := r.DropMerged(ctx, test.branch, test.prefix)
		if err != nil || strings.Join(stay, " ") != test.stay {
			t.Errorf("%+v: %q stays, %v", test, stay, err)
		}
	}
	want := "refs/heads/main refs/heads/other refs/heads/troupe/x-2 refs/troupe/1/attempts/1-1 refs/troupe/12/attempts/1-1"
	if got := strings.Join(strings.Fields(sh(t, r.Top, "git for-each-ref --format='%(refname)'")), " "); got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
	for branch, want := range map[string]string{"main": "", "troupe/x-2": "refs/heads/troupe/x-2", "gone": ""} {
		if alone, err := r.Alone(ctx, branch, ""); err != nil || strings.Join(alone, " ") != want {
			t.Errorf("%s: %q is alone, %v", branch, alone, err)
		}
	}
}
