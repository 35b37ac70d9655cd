package git

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// What git ignores is nowhere else: it is not written over, neither by a take nor by taking it back.
func TestIgnoredFilesAreNotWrittenOver(t *testing.T) {
	refused := func(t *testing.T, k *taker, err error, files string) {
		t.Helper()
		if conflict, ok := errors.AsType[*ConflictError](err); !ok || !strings.Contains(conflict.Why, "git ignores them") || strings.Join(conflict.Files, " ") != files {
			t.Error(err)
		}
		if got := sh(t, k.Top, "cat "+files+"; git status --porcelain"); got != "secret\n" {
			t.Errorf("left is %s", got)
		}
	}
	t.Run("taken", func(t *testing.T) {
		k := newTaker(t)
		k.build("echo delivered >local.cfg")
		k.own("echo local.cfg >.gitignore")
		sh(t, k.Top, "echo secret >local.cfg")
		_, _, err := k.try("")
		refused(t, k, err, "local.cfg")
		sh(t, k.Top, "rm local.cfg")
		k.take("")
		k.has(".gitignore local.cfg\na.txt a\nlocal.cfg delivered\nsub/b.txt b")
	})
	t.Run("a folder", func(t *testing.T) {
		k := newTaker(t)
		k.build("mkdir cfg; echo delivered >cfg/local; echo delivered >cfg/other")
		k.own("echo cfg >.gitignore")
		sh(t, k.Top, "echo secret >cfg")
		_, _, err := k.try("")
		refused(t, k, err, "cfg")
	})
	t.Run("taken back", func(t *testing.T) {
		k := newTaker(t)
		k.own("echo x >local.cfg")
		sh(t, k.tree, "git merge -q main")
		k.base = headOf2(t, k.Repo)
		k.build("git rm -q local.cfg; echo local.cfg >.gitignore")
		k.take("")
		sh(t, k.Top, "echo secret >local.cfg")
		_, _, err := k.Revert(t.Context(), k.stands().In, "Revert it")
		refused(t, k, err, "local.cfg")
	})
	t.Run("written meanwhile", func(t *testing.T) {
		k := newTaker(t)
		k.build("echo delivered >local.cfg")
		k.own("echo local.cfg >.gitignore")
		_, after, err := k.Merge(t.Context(), k.branch(), "Merge it", "")
		if err != nil {
			t.Fatal(err)
		}
		sh(t, k.Top, "echo secret >local.cfg")
		if err := k.Advance(t.Context(), after); err == nil || !strings.Contains(err.Error(), "local.cfg") {
			t.Error(err)
		}
		if got := sh(t, k.Top, "cat local.cfg"); got != "secret\n" {
			t.Error(got)
		}
	})
}

// A file may become a folder, and the other way round, where it is the branch's doing.
func TestAFileThatBecomesAFolderIsInNobodysWay(t *testing.T) {
	k := newTaker(t)
	k.build("git rm -q a.txt sub/b.txt; mkdir a.txt; echo in >a.txt/in; echo sub >sub")
	k.take("")
	k.has("a.txt/in in\nsub sub")
	k.back()
	k.has(untouched)
}

// Whoever asked for a take may be gone: what has begun is done.
func TestWhatHasBegunToBeWrittenIsWritten(t *testing.T) {
	r, _, to := advancing(t)
	sh(t, r.Top, "mkfifo .git/begun .git/go; git config filter.slow.smudge 'echo >.git/begun; cat .git/go; cat'; echo 'new.txt filter=slow' >.git/info/attributes")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Advance(ctx, to) }()
	sh(t, r.Top, "cat .git/begun")
	cancel()
	sh(t, r.Top, ": >.git/go")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := sh(t, r.Top, "git rev-parse HEAD; cat new.txt"); got != to+"\nnew\n" {
		t.Error(got)
	}
}

// What is staged stays staged, however the user's git is set.
func TestWhatIsStagedStaysStaged(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt")
	sh(t, k.Top, "git config merge.autoStash true; echo mine >sub/b.txt; git add sub/b.txt; echo more >>sub/b.txt")
	k.take("")
	if got := sh(t, k.Top, "git status --porcelain"); got != "MM sub/b.txt\n" {
		t.Error(got)
	}
}
