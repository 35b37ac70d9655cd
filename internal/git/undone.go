package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// isThere reports whether the files of a checkout, which has the commit of a part or has not, have
// the part. Where they neither have it whole nor lack it, its history says so, and else it is there:
// somebody has gone on from it.
func (r *Repo) isThere(ctx context.Context, s *Standing, part Part, has bool) (bool, error) {
	if part.After == s.Head {
		return true, nil
	}
	wasUndone, end := false, part.After
	if has && part.Undone != "" {
		var err error
		if wasUndone, err = r.hasIn(ctx, part.Undone, s.Head); err != nil {
			return false, err
		}
	}
	if !has || wasUndone { // the same may have come in other commits
		onto := s.Head
		if has {
			onto, end = s.ours, part.Undone
		}
		brings, isConflict, err := r.compare(ctx, part.Before, part.After, onto)
		if isConflict && has {
			return r.cameLast(ctx, s, part, end)
		}
		if err != nil || brings {
			return false, err
		}
		isEmpty, err := r.sameTree(ctx, part.Before, part.After)
		return !isEmpty, err
	}
	isThere, isConflict, err := r.compareMoved(ctx, part.After, part.Before, s.ours)
	if err != nil {
		return false, err
	}
	if isConflict { // it was changed since: in part, or after it was undone
		isUndone, err := r.isUndone(ctx, s.ours, part)
		if err == nil && !isUndone {
			isThere, err = r.cameLast(ctx, s, part, end)
			isUndone = !isThere
		}
		if err != nil || !isUndone {
			return true, err
		}
		brings, err := r.changes(ctx, part.Before, part.After, s.ours)
		return !brings, err
	}
	if isThere {
		return true, nil
	}
	return r.sameTree(ctx, part.Before, part.After) // there was nothing to bring
}

// isUndone reports whether files of a part that were there before it are as they were, those that it
// added are gone, and all others have no line that it brought: somebody has undone it, and changed these.
// A file that was moved is not gone.
func (r *Repo) isUndone(ctx context.Context, tree string, part Part) (bool, error) {
	all, err := r.between(ctx, part.Before, part.After)
	if err != nil {
		return false, err
	}
	added, err := r.between(ctx, part.Before, part.After, "--diff-filter=A")
	if err != nil {
		return false, err
	}
	if wasMoved, err := r.wasMoved(ctx, added, all, part.After, tree); err != nil || wasMoved {
		return false, err
	}
	fromBefore, err := r.between(ctx, part.Before, tree)
	if err != nil {
		return false, err
	}
	isBack := false
	for _, name := range all {
		if !slices.Contains(fromBefore, name) {
			isBack = isBack || !slices.Contains(added, name)
			continue
		}
		if has, err := r.hasLines(ctx, tree, name, part); err != nil || has {
			return false, err
		}
	}
	return isBack, nil
}

// wasMoved reports whether one of the files that a part added is in a tree by a name that is none of
// the part's.
func (r *Repo) wasMoved(ctx context.Context, added, all []string, after, tree string) (bool, error) {
	out, err := r.at(ctx, r.Top, nil, "diff", "--no-ext-diff", "--no-textconv", "--find-renames", "--diff-filter=R", "--name-status", "-z", after, tree, "--")
	if err != nil {
		return false, err
	}
	for fields := range slices.Chunk(listOf(out), 3) { // how much of it is the same, from, to
		if len(fields) == 3 && slices.Contains(added, fields[1]) && !slices.Contains(all, fields[2]) {
			return true, nil
		}
	}
	return false, nil
}

// hasLines reports whether a file of a tree has lines that a part has brought.
func (r *Repo) hasLines(ctx context.Context, tree, name string, part Part) (bool, error) {
	var lines [3]map[string]bool
	for i, of := range []string{part.Before, part.After, tree} {
		var err error
		if lines[i], err = r.linesOf(ctx, of, name); err != nil {
			return false, err
		}
	}
	for line := range lines[1] {
		if lines[2][line] && !lines[0][line] {
			return true, nil
		}
	}
	return false, nil
}

// linesOf are the lines of a file that have something in them: none where it is not there.
func (r *Repo) linesOf(ctx context.Context, tree, name string) (map[string]bool, error) {
	text, err := r.at(ctx, r.Top, nil, "cat-file", "blob", tree+":"+name)
	if exitCode(err) == 128 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines[line] = true
		}
	}
	return lines, nil
}

const (
	// mostLooked is in how many commits it is looked up whether somebody has undone something.
	mostLooked = 50
	// mostNamed is how many bytes of names a program is given.
	mostNamed = 64 << 10
)

// cameLast reports whether a part is there by the history of a checkout since it came, or was undone:
// of the commits that had all of it, or nothing of it, the last had it. Where there is none, it is as
// that end says.
func (r *Repo) cameLast(ctx context.Context, s *Standing, part Part, end string) (bool, error) {
	names, err := r.between(ctx, part.Before, part.After)
	if err != nil {
		return false, err
	}
	args := []string{"rev-list", "--first-parent", fmt.Sprintf("--max-count=%d", mostLooked), s.Head, "^" + end, "--"}
	if len(strings.Join(names, " ")) < mostNamed { // else all commits are looked at
		for _, name := range names {
			args = append(args, ":(top,literal)"+name)
		}
	}
	list, err := r.at(ctx, r.Top, nil, args...)
	if err != nil {
		return false, err
	}
	var since []string // the commits after the last that had nothing of it
	wasUndone := end != part.After
	for commit := range strings.FieldsSeq(list) {
		ours := r.withUndone(ctx, s, commit)
		lacks, err := r.lacks(ctx, names, part, ours)
		if err != nil {
			return false, err
		}
		if lacks {
			wasUndone = true
			break
		}
		since = append(since, ours)
	}
	if !wasUndone {
		return true, nil
	}
	for _, ours := range since {
		if brings, _, err := r.compareMoved(ctx, part.Before, part.After, ours); err != nil || !brings {
			return err == nil, err
		}
	}
	return false, nil
}

// withUndone is the tree of a commit with the parts that were undone, which a later one came on top of.
func (r *Repo) withUndone(ctx context.Context, s *Standing, commit string) string {
	for _, earlier := range s.gone {
		if with, err := r.differenceOn(ctx, earlier.Before, earlier.After, commit, bothChanged); err == nil {
			commit = with
		}
	}
	return commit
}

// lacks reports whether a tree has nothing of a part that changes some files.
func (r *Repo) lacks(ctx context.Context, names []string, part Part, tree string) (bool, error) {
	others, err := r.between(ctx, part.After, tree)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !slices.Contains(others, name) {
			return false, nil
		}
	}
	has, isConflict, err := r.compareMoved(ctx, part.After, part.Before, tree)
	return !has && !isConflict, err
}
