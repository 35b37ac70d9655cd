package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Killed at any point of filling it, a folder is filled anew: what is missing is not
// taken for deleted, nor what is half written for changed.
func TestAFolderThatWasFilledByHalvesIsFilledAnew(t *testing.T) {
	for name, damage := range map[string]string{
		"before git began":          "true",
		"in the midst of a file":    "printf he >$W/a.txt; touch $G/filling.index.lock",
		"with files to come":        "mkdir -p $W/sub; echo x >$W/sub/a.txt; : >$G/filling.index.lock",
		"before the index is named": "GIT_DIR=$G GIT_WORK_TREE=$W GIT_INDEX_FILE=$G/filling.index git read-tree --reset -u HEAD",
		"with a link put there":     "ln -s /nowhere $W/node_modules; ln -s /nowhere $W/a.txt",
		"a folder for a file":       "mkdir -p $W/a.txt/b; echo x >$W/a.txt/b/c",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t, "mkdir sub; echo b >sub/b.txt; printf '#!/bin/sh\n' >run.sh; chmod +x run.sh; ln -s a.txt link; git add -A; git commit -qm more")
			dir := filepath.Join(t.TempDir(), "tree")
			w, _, err := r.Worktree(t.Context(), dir, "troupe/x-1", headOf2(t, r))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := w.Snapshot(t.Context()); err != nil || got != treeIDOf(t, w) {
				t.Fatalf("an empty folder counts as %s: %v", got, err)
			}
			sh(t, r.Top, "W="+w.Dir+" G="+w.GitDir()+"; "+damage)
			w, made, err := r.Worktree(t.Context(), dir, "troupe/x-1", headOf2(t, r))
			if err != nil || made || w.Filled() {
				t.Fatal(made, err)
			}
			if got, err := w.Snapshot(t.Context()); err != nil || got != treeIDOf(t, w) {
				t.Fatalf("half a folder counts as %s: %v", got, err)
			}
			fill(t, w)
			if got, err := w.Snapshot(t.Context()); err != nil || got != treeIDOf(t, w) {
				t.Errorf("it holds %s: %v", got, err)
			}
			sh(t, r.Top, "diff -r --no-dereference -x .git "+r.Top+" "+w.Dir+" && test -x "+w.Dir+"/run.sh && test -L "+w.Dir+"/link")
		})
	}
}

// Furnishing that fails leaves the folder to be filled again.
func TestAFolderIsFilledOnceItIsFurnished(t *testing.T) {
	r := newRepo(t)
	w, _, err := r.Worktree(t.Context(), filepath.Join(t.TempDir(), "tree"), "troupe/x-1", headOf2(t, r))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no room")
	if err := w.Fill(t.Context(), treeIDOf(t, w), func() error { return broken }); !errors.Is(err, broken) || w.Filled() {
		t.Fatal(err)
	}
	fill(t, w)
}

// Git goes on filling a folder when whoever started it is killed: it keeps the lock.
func TestFillingWaitsForOneThatIsLeftRunning(t *testing.T) {
	r := newRepo(t)
	w, _, err := r.Worktree(t.Context(), filepath.Join(t.TempDir(), "tree"), "troupe/x-1", headOf2(t, r))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := w.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := w.Fill(ctx, treeIDOf(t, w), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it did not wait: %v", err)
	}
	if list, err := os.ReadDir(w.Dir); err != nil || len(list) != 1 {
		t.Errorf("it has written %v", list)
	}
	lock.Close()
	fill(t, w)
}
