package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Filled reports whether the folder held its files when the worktree was opened. Git
// makes a worktree with an empty folder in no time, however large the repository is, and
// [Worktree.Fill] fills it. The index is what tells: it is put there last, so that a
// folder that was filled by halves is never taken for one whose files somebody deleted.
func (w *Worktree) Filled() bool { return w.filled }

func (w *Worktree) hasIndex() bool {
	_, err := os.Stat(filepath.Join(w.gitDir, "index"))
	return err == nil
}

// Fill makes the folder what a tree says for the first time, and has it furnished with
// what is no part of any tree. Killed in between, it is done anew by the next call, which
// waits for what is left running of this one.
func (w *Worktree) Fill(ctx context.Context, tree string, furnish func() error) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return fmt.Errorf("fill %s: %w", w.Dir, err)
	}
	defer lock.Close()
	filling := *w
	filling.held = lock
	if w.hasIndex() { // somebody was faster
		w.filled = true
		return filling.restore(ctx, tree)
	}
	index := filepath.Join(w.gitDir, "filling.index")
	for _, left := range []string{index, index + ".lock"} {
		if err := removeIfThere(left); err != nil {
			return err
		}
	}
	filling.index = index
	if err := filling.restore(ctx, tree); err != nil {
		return err
	}
	if err := furnish(); err != nil {
		return err
	}
	if err := os.Rename(index, filepath.Join(w.gitDir, "index")); err != nil {
		return err
	}
	w.filled = true
	return nil
}

// BreakLock removes the lock that a git which was killed has left on the index. It is for a
// folder that was being changed by us: somebody else's lock cannot be told from ours.
func (w *Worktree) BreakLock(ctx context.Context) error {
	lock, err := w.lock(ctx) // no git of ours is at work then
	if err != nil {
		return err
	}
	defer lock.Close()
	return removeIfThere(filepath.Join(w.gitDir, "index.lock"))
}

func removeIfThere(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// lock waits until nobody else writes to the folder: git goes on with that when the process
// that started it is killed. The lock is given up when the last one closes the file.
func (w *Worktree) lock(ctx context.Context) (*os.File, error) {
	return waitForLock(ctx, filepath.Join(w.gitDir, "troupe.lock"))
}

func waitForLock(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if tryLock(f) {
			return f, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
