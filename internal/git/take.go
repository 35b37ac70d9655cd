package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var epoch = time.Unix(0, 0)

func exitCode(err error) int {
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		return status.ExitCode()
	}
	return -1
}

// A ConflictError lists the files that keep a branch from being taken.
type ConflictError struct {
	Why   string
	Files []string
}

// Error names the files.
func (e *ConflictError) Error() string { return e.Why + ": " + strings.Join(e.Files, ", ") }

// ErrNoBranch reports a branch that is not there.
var ErrNoBranch = errors.New("there is no branch")

// Merge returns how the checkout stands to a branch, and the commit that it comes to where the
// branch is taken: by fast-forward where that is possible, else by a merge, or as one commit where
// squash has a message. That is the checkout's own where all is there already. What was undone
// since it was brought is brought again. Its parts are those that stay on record then. It fails where that would conflict, or where files that it
// changes are changed in the checkout, which only [Repo.Advance] touches.
func (r *Repo) Merge(ctx context.Context, branch Branch, message, squash string) (*Standing, string, error) {
	checkout := *r
	checkout.settings = userSettings()
	if err := checkout.isAtRest(ctx); err != nil {
		return nil, "", err
	}
	s, err := checkout.Stands(ctx, branch)
	if err != nil {
		return nil, "", err
	}
	if s.Tip == "" {
		return nil, "", fmt.Errorf("%w %s", ErrNoBranch, branch.Name)
	}
	merged, err := checkout.merged(ctx, s)
	if _, isConflict := errors.AsType[*ConflictError](err); isConflict && !s.WasUndone() {
		err = fmt.Errorf("%w; to bring both together yourself: git merge %s", err, branch.Name)
	}
	if err != nil {
		return nil, "", err
	}
	if err := checkout.mayTake(ctx, s.Head, merged); err != nil {
		return nil, "", err
	}
	after, err := r.taken(ctx, s, merged, message, squash)
	if err != nil {
		return nil, "", err
	}
	return s, after, checkout.keep(ctx, s, after)
}

// taken is the commit that the checkout comes to: the one it is at, where all is there
// already. It is made beside the checkout, so that what is staged there is no part of it.
func (r *Repo) taken(ctx context.Context, s *Standing, merged, message, squash string) (string, error) {
	hasAll, err := r.sameTree(ctx, s.Head, merged)
	if err != nil {
		return "", err
	}
	if hasAll { // also where somebody has brought it by hand, under other commits
		return s.Head, nil
	}
	if squash != "" {
		return r.commitTree(ctx, r.Top, merged, []string{s.Head}, squash, time.Now())
	}
	common, err := r.common(ctx, s.Head, s.Tip)
	if err != nil {
		return "", err
	}
	if common == s.Head {
		if isTip, err := r.sameTree(ctx, s.Tip, merged); err != nil || isTip {
			return s.Tip, err
		}
	}
	if common != s.Tip {
		return r.commitTree(ctx, r.Top, merged, []string{s.Head, s.Tip}, message, time.Now())
	}
	return r.commitTree(ctx, r.Top, merged, []string{s.Head}, message+", again", time.Now())
}

// common is the latest commit that two have in common; empty where there is none.
func (r *Repo) common(ctx context.Context, one, other string) (string, error) {
	out, err := r.at(ctx, r.Top, nil, "merge-base", one, other)
	if exitCode(err) == 1 {
		err = nil
	}
	return strings.TrimSpace(out), err
}

// mayTake fails where what lies between the checkout's commit and another, or a tree, is changed in
// the checkout, or where files that git ignores are in its way.
func (r *Repo) mayTake(ctx context.Context, head, to string) error {
	both, err := r.differing(ctx, head, to)
	if err == nil && both != nil {
		return &ConflictError{"these files have changes in your checkout that are not committed", both}
	}
	if err != nil {
		return err
	}
	ignored, err := r.inTheWay(ctx, head, to)
	if err == nil && ignored != nil {
		err = &ConflictError{"these files are in the way, and git ignores them: move them somewhere else first", ignored}
	}
	return err
}

// inTheWay are the files of the checkout that are where files, or their folders, come to be between its
// commit and another, or a tree.
func (r *Repo) inTheWay(ctx context.Context, head, to string) (list []string, err error) {
	all, err := r.between(ctx, head, to)
	if err != nil {
		return nil, err
	}
	added, err := r.between(ctx, head, to, "--diff-filter=A")
	if err != nil || added == nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range added {
		for at := name; at != "."; at = path.Dir(at) {
			// A folder with something in it git leaves alone itself. What is the branch's own doing is no
			// obstacle: a file that becomes a folder, or whose name is written in other letters.
			if info, err := root.Lstat(filepath.FromSlash(at)); err != nil || info.IsDir() || at != name && slices.Contains(all, at) ||
				slices.ContainsFunc(all, func(other string) bool { return other != at && strings.EqualFold(other, at) }) {
				continue
			}
			if !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	return list, nil
}

// userSettings leave the user's filters as they are: it is the user's checkout.
func userSettings() []string {
	return []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null", "GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0"}
}

// Revert returns the commit that the checkout is at, and the one that it comes to where parts are
// taken back out of it, the last first: the same where nothing of them is there any more. Like
// [Repo.Merge] it does not touch the checkout.
func (r *Repo) Revert(ctx context.Context, parts []Part, message string) (before, after string, err error) {
	checkout := *r
	checkout.settings = userSettings()
	if err := checkout.isAtRest(ctx); err != nil {
		return "", "", err
	}
	head, err := checkout.head(ctx)
	if err != nil {
		return "", "", err
	}
	tree := head
	for _, part := range slices.Backward(parts) {
		if tree, err = checkout.differenceOn(ctx, part.After, part.Before, tree, "these files were changed since"); err != nil {
			return "", "", err
		}
	}
	if has, err := checkout.sameTree(ctx, head, tree); err != nil || has {
		return head, head, err
	}
	if err := checkout.mayTake(ctx, head, tree); err != nil {
		return "", "", err
	}
	after, err = r.commitTree(ctx, r.Top, tree, []string{head}, message, time.Now())
	return head, after, err
}

// Patch is what a branch changes, as a patch that git can apply.
func (r *Repo) Patch(ctx context.Context, base, tip string) (string, error) {
	return r.at(ctx, r.Top, nil, "diff", "--no-ext-diff", "--no-textconv", "--binary", "--full-index", base, tip, "--")
}
