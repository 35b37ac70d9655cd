package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Base finds the commit that a change begins from: HEAD where ref is empty.
func (r *Repo) Base(ctx context.Context, ref string) (commit string, err error) {
	if ref == "" {
		if err := r.isAtRest(ctx); err != nil {
			return "", fmt.Errorf("%w, or say what to begin from with --base", err)
		}
		return r.head(ctx)
	}
	out, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("there is no commit %.80q to begin from", ref)
	}
	return strings.TrimSpace(out), nil
}

// head is the commit that the checkout is at.
func (r *Repo) head(ctx context.Context) (string, error) {
	out, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if exitCode(err) > 0 {
		return "", errors.New("the repository has no commit yet: make one first")
	}
	return strings.TrimSpace(out), err
}

// isAtRest fails where the checkout is in the middle of something.
func (r *Repo) isAtRest(ctx context.Context) error {
	what, err := r.unfinished(ctx)
	if err == nil && what != "" {
		err = fmt.Errorf("the repository is in the middle of %s: finish it first", what)
	}
	return err
}

// unfinished says what the checkout is in the middle of, if anything.
func (r *Repo) unfinished(ctx context.Context) (string, error) {
	files := [][2]string{
		{"MERGE_HEAD", "a merge"}, {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"BISECT_LOG", "a bisect"},
	}
	args := []string{"rev-parse"}
	for _, f := range files {
		args = append(args, "--git-path", f[0])
	}
	out, err := r.at(ctx, r.Top, nil, args...)
	if err != nil {
		return "", err
	}
	names := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(names) != len(files) { // a path has newlines
		names = nil
		for _, f := range files {
			one, err := r.at(ctx, r.Top, nil, "rev-parse", "--git-path", f[0])
			if err != nil {
				return "", err
			}
			names = append(names, strings.TrimSuffix(one, "\n"))
		}
	}
	for i, f := range files {
		if _, err := os.Lstat(absolute(r.Top, names[i])); err == nil {
			return f[1], nil
		}
	}
	return "", nil
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// Branch is the branch that is checked out, empty where HEAD is detached.
func (r *Repo) Branch(ctx context.Context) (string, error) {
	out, err := r.at(ctx, r.Top, nil, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return "", nil //nolint:nilerr // a detached HEAD is no failure
	}
	return strings.TrimSpace(out), nil
}

// Changed lists the files of the checkout that differ from its commit, the ones that
// git does not know included.
func (r *Repo) Changed(ctx context.Context) ([]string, error) {
	out, err := r.at(ctx, r.Top, nil, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames")
	if err != nil {
		return nil, err
	}
	var list []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > 3 {
			list = append(list, entry[3:])
		}
	}
	return list, nil
}

// Stash returns a commit on top of HEAD with what is changed in the checkout, which is
// left as it is: files that git does not know are part of it.
func (r *Repo) Stash(ctx context.Context, at time.Time, message string) (string, error) {
	head, err := r.Base(ctx, "")
	if err != nil {
		return "", err
	}
	index, err := os.CreateTemp("", "troupe-index-")
	if err != nil {
		return "", err
	}
	index.Close()
	defer os.Remove(index.Name())
	defer os.Remove(index.Name() + ".lock")
	if err := os.Remove(index.Name()); err != nil {
		return "", err
	}
	env := []string{"GIT_INDEX_FILE=" + index.Name()}
	if _, err := r.run(ctx, r.Top, nil, env, "read-tree", head); err != nil {
		return "", err
	}
	if _, err := r.run(ctx, r.Top, nil, env, "add", "--all", "--", ":/"); err != nil {
		return "", err
	}
	tree, err := r.run(ctx, r.Top, nil, env, "write-tree")
	if err != nil {
		return "", err
	}
	return r.commitTree(ctx, r.Top, strings.TrimSpace(tree), []string{head}, message, at)
}

// commitTree makes a commit of a tree. The same tree, parents, message and time make
// the same commit, so that doing it twice is doing it once.
func (r *Repo) commitTree(ctx context.Context, dir, tree string, parents []string, message string, at time.Time) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	date := fmt.Sprintf("@%d +0000", at.Unix())
	env := []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	env = append(env, r.identity(ctx, dir)...)
	out, err := r.run(ctx, dir, strings.NewReader(message), env, args...)
	return strings.TrimSpace(out), err
}

// Ignores reports whether the checkout ignores a path.
func (r *Repo) Ignores(ctx context.Context, path string) bool {
	_, err := r.at(ctx, r.Top, nil, "check-ignore", "--quiet", "--", path)
	return err == nil
}

// identity stands in for an author and a committer where the user has set none.
func (r *Repo) identity(ctx context.Context, dir string) (env []string) {
	r.who.once.Do(func() {
		for _, role := range []string{"AUTHOR", "COMMITTER"} {
			if _, err := r.run(ctx, dir, nil, nil, "var", "GIT_"+role+"_IDENT"); err != nil {
				r.who.env = append(r.who.env, "GIT_"+role+"_NAME=Troupe", "GIT_"+role+"_EMAIL=troupe@localhost")
			}
		}
	})
	return r.who.env
}

// An identity is looked up once.
type identity struct {
	once sync.Once
	env  []string
}
