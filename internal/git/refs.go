package git

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// Drop removes a branch and all refs of ours below a prefix.
func (r *Repo) Drop(ctx context.Context, branch, prefix string) error {
	list, err := r.refs(ctx, branch, prefix)
	if err != nil {
		return err
	}
	return r.drop(ctx, list)
}

// drop removes refs, unless one of them has changed since they were listed.
func (r *Repo) drop(ctx context.Context, list []ref) error {
	var b strings.Builder
	for _, one := range list {
		fmt.Fprintf(&b, "delete %s %s\n", one.name, one.commit)
	}
	_, err := r.at(ctx, r.Top, strings.NewReader(b.String()), "update-ref", "--stdin")
	return err
}

// A ref is a name of a commit.
type ref struct {
	name, commit string
	// isUsed says that a worktree has it checked out.
	isUsed bool
}

// refs are a branch, where it is there, and all refs of ours below a prefix. Either may be
// empty for none.
func (r *Repo) refs(ctx context.Context, branch, prefix string) (list []ref, err error) {
	name := "refs/heads/" + branch
	out, err := r.at(ctx, r.Top, nil, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(worktreepath)", name, cmp.Or(prefix, name))
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(fields) == 3 && (fields[0] == name || prefix != "" && strings.HasPrefix(fields[0], prefix)) {
			list = append(list, ref{fields[0], fields[1], fields[2] != ""})
		}
	}
	return list, err
}

// Alone returns which of a branch and the refs of ours below a prefix have commits that are
// in no other branch.
func (r *Repo) Alone(ctx context.Context, branch, prefix string) (names []string, err error) {
	list, err := r.refs(ctx, branch, prefix)
	for _, one := range list {
		alone, err := r.isAlone(ctx, one)
		if err != nil {
			return nil, err
		}
		if alone {
			names = append(names, one.name)
		}
	}
	return names, err
}

func (r *Repo) isAlone(ctx context.Context, one ref) (bool, error) {
	out, err := r.at(ctx, r.Top, nil, "for-each-ref", "--format=%(refname)", "--contains="+one.commit, "refs/heads/")
	for name := range strings.Lines(out) {
		if strings.TrimSuffix(name, "\n") != one.name {
			return false, err
		}
	}
	return true, err
}

// DropMerged removes a branch and the refs of ours below a prefix as far as nothing is lost
// by that: what has commits that are in no other branch, or is checked out, stays. It
// returns what does.
func (r *Repo) DropMerged(ctx context.Context, branch, prefix string) (stay []string, err error) {
	list, err := r.refs(ctx, branch, prefix)
	if err != nil {
		return nil, err
	}
	var merged []ref
	for _, one := range list {
		alone, err := r.isAlone(ctx, one)
		if err != nil {
			return nil, err
		}
		if alone || one.isUsed {
			stay = append(stay, one.name)
		} else {
			merged = append(merged, one)
		}
	}
	return stay, r.drop(ctx, merged)
}

// Has reports whether a commit or ref is there.
func (r *Repo) Has(ctx context.Context, name string) bool {
	_, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return err == nil
}
