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
// only [Repo.Advance] touches.
func (r *Repo) Merge(ctx context.Context, branch, message, squash string) (before, after string, err error) {
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
	merged, err := checkout.mayTake(ctx, before, tip)
	if err != nil {
		return "", "", err
	}
	after, err = r.taken(ctx, before, tip, merged, message, squash)
	return before, after, err
}

// taken is the commit that the checkout comes to: the one it is at, where all is there
// already. It is made beside the checkout, so that what is staged there is no part of it.
func (r *Repo) taken(ctx context.Context, before, tip, merged, message, squash string) (string, error) {
	tree, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", before+"^{tree}")
	switch {
	case err != nil:
		return "", err
	case squash != "" && strings.TrimSpace(tree) == merged:
		return before, nil
	case squash != "":
		return r.commitTree(ctx, r.Top, merged, []string{before}, squash, time.Now())
	}
	common, err := r.at(ctx, r.Top, nil, "merge-base", before, tip)
	if err != nil && exitCode(err) != 1 {
		return "", err
	}
	switch strings.TrimSpace(common) {
	case tip:
		return before, nil
	case before:
		return tip, nil
	}
	return r.commitTree(ctx, r.Top, merged, []string{before, tip}, message, time.Now())
}

// mayTake finds out what stands in the way, and changes nothing. It returns the tree that
// both come to.
func (r *Repo) mayTake(ctx context.Context, head, tip string) (merged string, err error) {
	out, err := r.at(ctx, r.Top, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", head, tip)
	if err != nil {
		if exitCode(err) != 1 {
			return "", err
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return "", &ConflictError{"these files were changed on both sides", lines[1:]}
	}
	merged, _, _ = strings.Cut(out, "\n")
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

// Revert takes back what was taken: what came between two commits, as one commit.
func (r *Repo) Revert(ctx context.Context, before, after, message string) (string, error) {
	checkout := *r
	checkout.settings = userSettings()
	head, err := checkout.Base(ctx, "")
	if err != nil {
		return "", err
	}
	reverse, err := r.commitTree(ctx, r.Top, before+"^{tree}", []string{after}, "revert", epoch)
	if err != nil {
		return "", err
	}
	out, err := checkout.at(ctx, r.Top, nil, "merge-tree", "--write-tree", "--name-only", "--no-messages", head, reverse)
	if err != nil {
		if exitCode(err) == 1 {
			return "", &ConflictError{"these files were changed since", strings.Split(strings.TrimSpace(out), "\n")[1:]}
		}
		return "", err
	}
	tree, _, _ := strings.Cut(out, "\n")
	commit, err := r.commitTree(ctx, r.Top, tree, []string{head}, message, time.Now())
	if err != nil {
		return "", err
	}
	if _, err := checkout.mayTake(ctx, head, commit); err != nil {
		return "", err
	}
	return commit, r.Advance(ctx, commit)
}

// Patch is what a branch changes, as a patch that git can apply.
func (r *Repo) Patch(ctx context.Context, base, tip string) (string, error) {
	return r.at(ctx, r.Top, nil, "diff", "--no-ext-diff", "--no-textconv", "--binary", "--full-index", base, tip, "--")
}
