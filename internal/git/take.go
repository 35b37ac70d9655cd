package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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

// Merge returns the commit that the checkout is at, and the one that it comes to where a
// branch is taken: by fast-forward where that is possible, else by a merge, or as one commit
// where squash has a message. They are the same where all is there already. It fails where
// that would conflict, or where files that it changes are changed in the checkout, which
// only [Repo.Advance] touches. back, where it is not empty, are the commits before and after a
// take that was taken back by [Repo.Revert]: the branch's commits are there then, and what they
// brought is not.
func (r *Repo) Merge(ctx context.Context, branch, message, squash string, back []string) (before, after string, err error) {
	checkout := *r
	checkout.settings = userSettings()
	if before, err = checkout.Base(ctx, ""); err != nil {
		return "", "", err
	}
	tip, err := checkout.at(ctx, r.Top, nil, "rev-parse", "--verify", "refs/heads/"+branch+"^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("there is no branch %s", branch)
	}
	tip = strings.TrimSpace(tip)
	restored := before
	if len(back) == 2 {
		if restored, err = checkout.restored(ctx, before, back[0], back[1], message+", again"); err != nil {
			return "", "", err
		}
	}
	merged, err := checkout.mayTake(ctx, before, restored, tip)
	if err != nil {
		return "", "", err
	}
	after, err = r.taken(ctx, before, restored, tip, merged, message, squash)
	return before, after, err
}

// restored is a commit after head that has what was taken between two commits and taken back
// since; head itself, where it has that.
func (r *Repo) restored(ctx context.Context, head, from, to, message string) (string, error) {
	if isThere, err := r.Contains(ctx, to); err != nil || !isThere {
		return head, err // somebody has put the checkout back to what was before
	}
	tree, err := r.differenceOn(ctx, from, to, head, "these files were changed on both sides")
	if err != nil {
		return "", err
	}
	if has, err := r.isTree(ctx, head, tree); err != nil || has {
		return head, err
	}
	return r.commitTree(ctx, r.Top, tree, []string{head}, message, time.Now())
}

// differenceOn is the tree that the difference between two commits or trees makes of a third.
func (r *Repo) differenceOn(ctx context.Context, from, to, onto, conflict string) (string, error) {
	var commits []string
	for _, tree := range []string{from, to, onto} {
		commit, err := r.commitTree(ctx, r.Top, tree+"^{tree}", commits[:min(1, len(commits))], "difference", epoch)
		if err != nil {
			return "", err
		}
		commits = append(commits, commit)
	}
	return r.merge(ctx, commits[2], commits[1], conflict)
}

// isTree reports whether a commit has the files of a tree.
func (r *Repo) isTree(ctx context.Context, commit, tree string) (bool, error) {
	has, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", commit+"^{tree}")
	return strings.TrimSpace(has) == tree, err
}

// Brings reports whether a branch has something that a commit has not.
func (r *Repo) Brings(ctx context.Context, branch, onto string) (bool, error) {
	tree, err := r.merge(ctx, onto, "refs/heads/"+branch, "")
	if _, isConflict := errors.AsType[*ConflictError](err); isConflict {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	has, err := r.isTree(ctx, onto, tree)
	return !has, err
}

// BranchesWith are the branches that have a commit.
func (r *Repo) BranchesWith(ctx context.Context, commit string) ([]string, error) {
	if !r.Has(ctx, commit) {
		return nil, nil
	}
	out, err := r.at(ctx, r.Top, nil, "for-each-ref", "--contains="+commit, "--format=%(refname:short)", "refs/heads/")
	return strings.Fields(out), err
}

// merge is the tree that two commits come to.
func (r *Repo) merge(ctx context.Context, ours, theirs, conflict string) (tree string, err error) {
	out, err := r.at(ctx, r.Top, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", ours, theirs)
	if err != nil {
		if exitCode(err) == 1 {
			return "", &ConflictError{conflict, strings.Split(strings.TrimSpace(out), "\n")[1:]}
		}
		return "", err
	}
	tree, _, _ = strings.Cut(out, "\n")
	return tree, nil
}

// taken is the commit that the checkout comes to: the one it is at, where all is there
// already. It is made beside the checkout, so that what is staged there is no part of it. Where
// something was taken back before, restored has that again.
func (r *Repo) taken(ctx context.Context, before, restored, tip, merged, message, squash string) (string, error) {
	if squash != "" {
		if has, err := r.isTree(ctx, before, merged); err != nil || has {
			return before, err
		}
		return r.commitTree(ctx, r.Top, merged, []string{before}, squash, time.Now())
	}
	common, err := r.at(ctx, r.Top, nil, "merge-base", restored, tip)
	if err != nil && exitCode(err) != 1 {
		return "", err
	}
	switch strings.TrimSpace(common) {
	case tip:
		return restored, nil
	case restored:
		return tip, nil
	}
	return r.commitTree(ctx, r.Top, merged, []string{restored, tip}, message, time.Now())
}

// mayTake finds out what stands in the way, and changes nothing. It returns the tree that
// ours and tip come to, where the checkout is at head.
func (r *Repo) mayTake(ctx context.Context, head, ours, tip string) (merged string, err error) {
	if merged, err = r.merge(ctx, ours, tip, "these files were changed on both sides"); err != nil {
		return "", err
	}
	both, err := r.differing(ctx, head, merged)
	if err != nil {
		return "", err
	}
	if both != nil {
		return "", &ConflictError{"these files have changes in your checkout that are not committed", both}
	}
	return merged, nil
}

// userSettings leave the user's filters as they are: it is the user's checkout.
func userSettings() []string {
	return []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null", "GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0"}
}

// Revert takes back what was taken: what came between two commits, as one commit. It returns the
// commit that the checkout is at, where nothing of that is there any more.
func (r *Repo) Revert(ctx context.Context, before, after, message string) (string, error) {
	checkout := *r
	checkout.settings = userSettings()
	head, err := checkout.Base(ctx, "")
	if err != nil {
		return "", err
	}
	tree, err := checkout.differenceOn(ctx, after, before, head, "these files were changed since")
	if err != nil {
		return "", err
	}
	if has, err := checkout.isTree(ctx, head, tree); err != nil || has {
		return head, err
	}
	commit, err := r.commitTree(ctx, r.Top, tree, []string{head}, message, time.Now())
	if err != nil {
		return "", err
	}
	if _, err := checkout.mayTake(ctx, head, head, commit); err != nil {
		return "", err
	}
	return commit, r.Advance(ctx, commit)
}

// Patch is what a branch changes, as a patch that git can apply.
func (r *Repo) Patch(ctx context.Context, base, tip string) (string, error) {
	return r.at(ctx, r.Top, nil, "diff", "--no-ext-diff", "--no-textconv", "--binary", "--full-index", base, tip, "--")
}
