package git

import (
	"context"
	"errors"
	"strings"
)

// bothChanged is why a branch cannot be taken.
const bothChanged = "these files were changed on both sides"

// changes reports whether the difference between two commits changes a third, or cannot be made
// there.
func (r *Repo) changes(ctx context.Context, from, to, onto string) (bool, error) {
	changes, _, err := r.compare(ctx, from, to, onto)
	return changes, err
}

// compare is changes, and says whether the difference cannot be made. What looks like a renamed file
// may be another one: then it is compared by the names alone.
func (r *Repo) compare(ctx context.Context, from, to, onto string) (changes, isConflict bool, err error) {
	changes, isConflict, err = r.compareMoved(ctx, from, to, onto)
	if isConflict {
		changes, isConflict, err = r.compareBy(ctx, "merge.renames=false", from, to, onto)
	}
	return changes, isConflict, err
}

// compareMoved is compare for which a file that was moved is the same file, whatever that comes to.
func (r *Repo) compareMoved(ctx context.Context, from, to, onto string) (changes, isConflict bool, err error) {
	return r.compareBy(ctx, "merge.renames=true", from, to, onto)
}

func (r *Repo) compareBy(ctx context.Context, how, from, to, onto string) (changes, isConflict bool, err error) {
	tree, err := r.differenceOn(ctx, from, to, onto, "", how)
	if _, isConflict = errors.AsType[*ConflictError](err); isConflict {
		return true, true, nil
	}
	if err != nil {
		return false, false, err
	}
	same, err := r.sameTree(ctx, onto, tree)
	return !same, false, err
}

// differenceOn is the tree that the difference between two commits or trees makes of a third: see
// merge.
func (r *Repo) differenceOn(ctx context.Context, from, to, onto, conflict string, how ...string) (string, error) {
	var commits []string
	for _, tree := range []string{from, to, onto} {
		commit, err := r.commitTree(ctx, r.Top, tree+"^{tree}", commits[:min(1, len(commits))], "difference", epoch)
		if err != nil {
			return "", err
		}
		commits = append(commits, commit)
	}
	return r.merge(ctx, commits[2], commits[1], conflict, how...)
}

// merge is the tree that two commits come to, with settings of git that say how.
func (r *Repo) merge(ctx context.Context, ours, theirs, conflict string, how ...string) (string, error) {
	// That a folder was renamed says nothing about files that are somebody else's.
	args := []string{"-c", "merge.directoryRenames=false"}
	for _, setting := range how {
		args = append(args, "-c", setting)
	}
	out, err := r.at(ctx, r.Top, nil, append(args, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)...)
	tree, names, _ := strings.Cut(out, "\x00")
	if exitCode(err) == 1 {
		return "", &ConflictError{conflict, listOf(names)}
	}
	return tree, err
}

// sameTree reports whether two commits, or trees, have the same files.
func (r *Repo) sameTree(ctx context.Context, one, other string) (bool, error) {
	out, err := r.at(ctx, r.Top, nil, "rev-parse", one+"^{tree}", other+"^{tree}")
	trees := strings.Fields(out)
	return len(trees) == 2 && trees[0] == trees[1], err
}

// between are the files that differ between two commits or trees, by name: all of them, whatever
// the user's git is set to leave out.
func (r *Repo) between(ctx context.Context, from, to string, how ...string) ([]string, error) {
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=none", "--name-only", "-z"}
	names, err := r.at(ctx, r.Top, nil, append(append(args, how...), from, to, "--")...)
	return listOf(names), err
}

// listOf are the names that git lists, each with a zero byte behind it.
func listOf(names string) []string {
	return strings.FieldsFunc(names, func(c rune) bool { return c == 0 })
}
