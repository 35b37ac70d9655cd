package git

import (
	"context"
	"fmt"
	"strings"
)

// IsAlone fails where parts of a branch came with commits that are not the branch's own: people have
// merged them into the branch, from branches that may be gone by now, or other branches have them too, and
// the checkout has them by that alone. Taken out with it, they would be gone for everybody the checkout is
// pushed to, and no merge would bring them again. What people have committed on the branch itself is
// its own.
func (r *Repo) IsAlone(ctx context.Context, branch Branch, parts []Part) error {
	for _, part := range parts {
		if !r.Has(ctx, part.Tip) || branch.Mark == "" {
			continue
		}
		since := []string{part.Tip, "^" + part.Before}
		all, err := r.unmarked(ctx, branch.Mark, since)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			continue
		}
		others, err := r.refsWithout(ctx, part.After, branch.Name)
		if err != nil {
			return err
		}
		for _, other := range others {
			since = append(since, "^"+other)
		}
		own, err := r.unmarked(ctx, branch.Mark, since, "--first-parent")
		if err != nil {
			return err
		}
		if n := len(all) - len(own); n > 0 {
			return fmt.Errorf("%d of the commits that came with it are not its own (%s): others have them too, or they were merged into it, and they would be taken out with it; revert with git what you want out", n, notAmong(all, own))
		}
	}
	return nil
}

// refsWithout are the branches, of here and of remotes, that do not have a commit, but for one and its
// remote ones.
func (r *Repo) refsWithout(ctx context.Context, commit, branch string) (list []string, err error) {
	out, err := r.at(ctx, r.Top, nil, "for-each-ref", "--format=%(refname)", "--no-contains="+commit, "refs/heads/", "refs/remotes/")
	for name := range strings.FieldsSeq(out) {
		if !strings.HasSuffix(name, "/"+branch) && !strings.HasSuffix(name, "/HEAD") {
			list = append(list, name)
		}
	}
	return list, err
}

// unmarked are the commits that were asked for and lack a mark, each with its subject, and no merges.
func (r *Repo) unmarked(ctx context.Context, mark string, revisions []string, how ...string) ([]string, error) {
	args := append([]string{"rev-list", "--no-merges", "--no-commit-header", "--format=%h %s", "--fixed-strings", "--invert-grep", "--grep=" + mark, "--stdin"}, how...)
	out, err := r.at(ctx, r.Top, strings.NewReader(strings.Join(revisions, "\n")+"\n"), args...)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(c rune) bool { return c == '\n' }), nil
}

// notAmong is the first of a list that another lacks.
func notAmong(list, other []string) string {
	has := map[string]bool{}
	for _, one := range other {
		has[one] = true
	}
	for _, one := range list {
		if !has[one] {
			return one
		}
	}
	return ""
}
