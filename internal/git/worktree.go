package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Worktree is a folder of its own with a branch of its own. Its folder is not
// believed in what it says of the repository: programs that ran there may have changed it.
type Worktree struct {
	Repo   *Repo
	Dir    string // the folder
	Branch string
	// Links are names in the folder that are no part of any tree and stay where they are.
	Links  []string
	gitDir string
	filled bool
	// index is used instead of the worktree's own, and held is a lock that git keeps,
	// while the folder is being filled.
	index string
	held  *os.File
}

// ErrTaken reports a branch that exists and was not made for this worktree.
var ErrTaken = errors.New("the branch exists already")

// Worktree opens a worktree at dir on a branch, and makes what of it is missing: the
// branch from base, the folder from the branch. Made tells that the folder is new: it
// is empty until [Worktree.Fill] is called.
func (r *Repo) Worktree(ctx context.Context, dir, branch, base string) (w *Worktree, made bool, err error) {
	if _, err := r.at(ctx, r.Top, nil, "check-ref-format", "--branch", branch); err != nil {
		return nil, false, fmt.Errorf("branch %.80q: git does not accept that name", branch)
	}
	ref := "refs/heads/" + branch
	if _, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", ref); err != nil {
		if _, err := r.at(ctx, r.Top, nil, "update-ref", ref, base, ""); err != nil {
			return nil, false, fmt.Errorf("branch %s: %w", branch, err)
		}
	}
	if w, err = r.opened(dir, branch); err == nil {
		return w, false, nil
	}
	if err := r.addWorktree(ctx, dir, "--no-checkout", "--", dir, branch); err != nil {
		return nil, false, err
	}
	w, err = r.opened(dir, branch)
	return w, true, err
}

// Latest is the one of the commits of a branch that was removed that follows all others. It fails where
// one of them is gone with the branch: what that had is lost then.
func (r *Repo) Latest(ctx context.Context, branch string, commits []string) (string, error) {
	last := commits[0]
	for _, commit := range commits[1:] {
		if !r.Has(ctx, commit) {
			return "", fmt.Errorf("the branch %s was removed, and its commit %.12s is gone", branch, commit)
		}
		isLater, err := r.isAncestor(ctx, last, commit)
		if err != nil {
			return "", err
		}
		if isLater {
			last = commit
		}
	}
	return last, nil
}

// Scratch makes a worktree of a commit, without a branch, for trying something out.
func (r *Repo) Scratch(ctx context.Context, dir, commit string) (*Worktree, error) {
	if err := r.addWorktree(ctx, dir, "--detach", "--", dir, commit); err != nil {
		return nil, err
	}
	return r.opened(dir, "")
}

// OpenScratch opens what [Repo.Scratch] has made.
func (r *Repo) OpenScratch(dir string) (*Worktree, error) { return r.opened(dir, "") }

// opened opens a worktree that is there.
func (r *Repo) opened(dir, branch string) (*Worktree, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	folders, err := os.ReadDir(filepath.Join(r.Dir, "worktrees"))
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		folder := filepath.Join(r.Dir, "worktrees", f.Name())
		data, err := os.ReadFile(filepath.Join(folder, "gitdir"))
		if err != nil || strings.TrimSpace(string(data)) != filepath.Join(dir, ".git") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(folder, "locked")); err == nil {
			return nil, fmt.Errorf("%s was not made to its end", dir) // git unlocks it then
		}
		w := &Worktree{Repo: r, Dir: dir, Branch: branch, gitDir: folder}
		if branch != "" {
			head, err := os.ReadFile(filepath.Join(folder, "HEAD"))
			if err != nil || strings.TrimSpace(string(head)) != "ref: refs/heads/"+branch {
				return nil, fmt.Errorf("%s is not on the branch %s", dir, branch)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			return nil, err
		}
		w.filled = w.hasIndex()
		return w, nil
	}
	return nil, fmt.Errorf("%s is no worktree of this repository", dir)
}

// addWorktree has git make a worktree at dir, in place of what is there. Somebody who
// prunes worktrees at that moment, as git does on its own now and then, takes away what
// git has begun: it is tried once more.
func (r *Repo) addWorktree(ctx context.Context, dir string, args ...string) (err error) {
	for range 2 {
		if err := r.RemoveWorktree(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if _, err = r.at(ctx, r.Top, nil, append([]string{"worktree", "add", "--quiet", "--force"}, args...)...); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// RemoveWorktree removes a worktree's folder, and what the repository has of it. Others
// are not looked at, as pruning would: one may be in the making, and one of a person may
// be on a disk that is not there now.
func (r *Repo) RemoveWorktree(dir string) error {
	if err := removeAll(dir); err != nil {
		return err
	}
	for _, folder := range r.registered(dir) {
		if err := removeAll(folder); err != nil {
			return err
		}
	}
	return nil
}

// HasWorktree reports whether the repository knows a worktree at dir, whether or not that
// is there.
func (r *Repo) HasWorktree(dir string) bool { return len(r.registered(dir)) > 0 }

// registered are the folders that the repository has of a worktree.
func (r *Repo) registered(dir string) (list []string) {
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	folders, _ := filepath.Glob(filepath.Join(r.Dir, "worktrees", "*"))
	for _, folder := range folders {
		data, err := os.ReadFile(filepath.Join(folder, "gitdir"))
		if err == nil && strings.TrimSpace(string(data)) == filepath.Join(dir, ".git") {
			list = append(list, folder)
		}
	}
	return list
}

// removeAll removes a folder, files without permission to write included: Go's module
// cache has them.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o755)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Remove removes the worktree's folder. Its branch stays.
func (w *Worktree) Remove() error { return w.Repo.RemoveWorktree(w.Dir) }

// GitDir is the worktree's own part of the repository's folder.
func (w *Worktree) GitDir() string { return w.gitDir }

// git runs git on the worktree, wherever its .git file leads.
func (w *Worktree) git(ctx context.Context, args ...string) (string, error) {
	return w.with(ctx, nil, nil, args...)
}

func (w *Worktree) with(ctx context.Context, stdin *strings.Reader, env []string, args ...string) (string, error) {
	env = append([]string{"GIT_DIR=" + w.gitDir, "GIT_WORK_TREE=" + w.Dir}, env...)
	if w.index != "" {
		env = append(env, "GIT_INDEX_FILE="+w.index)
	}
	return w.Repo.runHolding(ctx, w.held, w.Dir, stdin, env, args...)
}

// Head is the commit that the worktree is on.
func (w *Worktree) Head(ctx context.Context) (string, error) {
	out, err := w.git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	return strings.TrimSpace(out), err
}

// TreeOf returns the tree of a commit.
func (w *Worktree) TreeOf(ctx context.Context, commit string) (string, error) {
	out, err := w.git(ctx, "rev-parse", "--verify", "--end-of-options", commit+"^{tree}")
	return strings.TrimSpace(out), err
}

// Snapshot returns the tree of what is in the folder now, as if all of it were
// committed. Neither index nor branch is touched. A folder that is not filled yet is
// taken for what its branch holds.
func (w *Worktree) Snapshot(ctx context.Context) (string, error) {
	if !w.filled {
		return w.TreeOf(ctx, "HEAD")
	}
	return w.inIndex(ctx, "", func(env []string) error {
		args := []string{"add", "--all", "--", ":/"}
		for _, name := range w.Links {
			// What git ignores it leaves out by itself, and refuses to hear of.
			if _, err := w.git(ctx, "check-ignore", "--quiet", "--no-index", "--", name); err != nil {
				args = append(args, ":(top,exclude,literal)"+name)
			}
		}
		_, err := w.with(ctx, nil, env, args...)
		return err
	})
}

// inIndex returns the tree that an index holds after something was done to it: a copy
// of the worktree's, or one read from a tree.
func (w *Worktree) inIndex(ctx context.Context, from string, f func(env []string) error) (string, error) {
	index := filepath.Join(w.gitDir, fmt.Sprintf("troupe-%d.index", time.Now().UnixNano()))
	defer os.Remove(index)
	defer os.Remove(index + ".lock")
	env := []string{"GIT_INDEX_FILE=" + index}
	if from == "" {
		if err := copyIndex(filepath.Join(w.gitDir, "index"), index); err != nil {
			return "", err
		}
	} else if _, err := w.with(ctx, nil, env, "read-tree", from); err != nil {
		return "", err
	}
	if err := f(env); err != nil {
		return "", err
	}
	out, err := w.with(ctx, nil, env, "write-tree")
	return strings.TrimSpace(out), err
}

// copyIndex copies an index with its time. Git goes by that time: a file that was written
// in the same second as the index may have changed since without looking so, and is read.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// Restore makes the folder what a tree says: what differs is written, what is not in
// it and not ignored is removed. It waits for what git still does of one that was killed.
func (w *Worktree) Restore(ctx context.Context, tree string) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return fmt.Errorf("restore %s: %w", w.Dir, err)
	}
	defer lock.Close()
	holding := *w
	holding.held = lock
	return holding.restore(ctx, tree)
}

// restore is Restore for whoever has the lock.
func (w *Worktree) restore(ctx context.Context, tree string) error {
	if _, err := w.git(ctx, "read-tree", "--reset", "-u", tree); err != nil {
		// A file may stand where a directory has to be, and the other way round.
		if again := w.clean(ctx); again != nil {
			return errors.Join(err, again)
		}
		if _, err := w.git(ctx, "read-tree", "--reset", "-u", tree); err != nil {
			return err
		}
	}
	return w.clean(ctx)
}

// clean removes what is neither in the index nor ignored.
func (w *Worktree) clean(ctx context.Context) error {
	args := []string{"clean", "-ffdq"}
	for _, name := range w.Links {
		args = append(args, "-e", "/"+name)
	}
	_, err := w.git(ctx, args...)
	return err
}

// Scrub removes all that is not in the index, what git ignores and links included.
func (w *Worktree) Scrub(ctx context.Context) error {
	_, err := w.git(ctx, "clean", "-ffdxq")
	return err
}

// Commit puts a tree on the branch, on top of parent. Doing it twice is doing it once:
// the same tree, parent, message and time are the same commit.
func (w *Worktree) Commit(ctx context.Context, tree, parent, message string, at time.Time) (string, error) {
	commit, err := w.Repo.commitTree(ctx, w.Dir, tree, []string{parent}, message, at)
	if err != nil {
		return "", err
	}
	head, err := w.Head(ctx)
	if err != nil || head == commit {
		return commit, err
	}
	_, err = w.git(ctx, "update-ref", "-m", "troupe: commit", "refs/heads/"+w.Branch, commit, parent)
	return commit, err
}

// Keep makes a commit of a tree that only a ref of ours leads to, so that nothing that
// was tried is lost.
func (w *Worktree) Keep(ctx context.Context, ref, tree, parent, message string, at time.Time) (string, error) {
	commit, err := w.Repo.commitTree(ctx, w.Dir, tree, []string{parent}, message, at)
	if err != nil {
		return "", err
	}
	_, err = w.git(ctx, "update-ref", ref, commit)
	return commit, err
}

// MoveTo sets the branch to a commit.
func (w *Worktree) MoveTo(ctx context.Context, commit string) error {
	_, err := w.git(ctx, "update-ref", "-m", "troupe: go back", "refs/heads/"+w.Branch, commit)
	return err
}
