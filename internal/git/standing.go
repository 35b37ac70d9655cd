package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Part is what a branch has brought into a checkout at one time.
type Part struct {
	// Before and After are the commits that the checkout was at.
	Before string `json:"before"`
	After  string `json:"after"`
	// Tip is what the branch was at.
	Tip string `json:"tip"`
	// Seen is a later commit of the checkout that had it, where After is not in its history any
	// more: somebody has made that anew. Undone is the commit that took it back.
	Seen   string `json:"seen,omitempty"`
	Undone string `json:"undone,omitempty"`
}

// A Branch is what is known of one that a checkout takes.
type Branch struct {
	// Name is the branch's, Base the commit that it began at.
	Name, Base string
	// Mark is what the messages of its own commits have, and no others: the branch may have come to
	// others, of people, where somebody has brought it up to date.
	Mark string
	// Brought are the parts that it has brought into a checkout.
	Brought []Part
}

// A Standing says what a checkout has of a branch: what its files say, not only its history, for
// somebody may have undone by hand what was brought, or have moved the checkout to where it never was.
type Standing struct {
	// Head is the commit that the checkout is at, Tip the branch's, which is empty where it is gone.
	Head, Tip string
	// Parts are all that anything is known of, in order, In those that are there.
	Parts, In []Part

	gone   []Part // what was undone
	others []Part // what is not there and never was, as far as the checkout's history says
	ours   string // the tree that head and what was undone come to: head, where that is nothing
	from   string // what the branch was at when the last part came; empty where none has
	last   string // what the checkout came to then
	undone error  // why what was undone cannot be brought again
}

// WasUndone reports whether something that was brought is there no more.
func (s *Standing) WasUndone() bool { return s.ours != s.Head || s.undone != nil }

// Stands finds out how the checkout stands to a branch. Commits of the branch's own that somebody has
// merged by hand are parts as well.
func (r *Repo) Stands(ctx context.Context, branch Branch) (*Standing, error) {
	head, err := r.head(ctx)
	if err != nil {
		return nil, err
	}
	return r.standsAt(ctx, head, branch)
}

// Elsewhere are the branches that have something of one, but for itself and what is checked out: of
// those that it was taken into, and, where one of these is not there by its name any more, of all that
// have what they came to.
func (r *Repo) Elsewhere(ctx context.Context, branch Branch, into []string) (names []string, err error) {
	here, err := r.Branch(ctx)
	if err != nil {
		return nil, err
	}
	into = slices.Clone(into)
	if slices.ContainsFunc(into, func(name string) bool { return r.tipOf(ctx, name) == "" }) {
		s, err := r.Stands(ctx, branch)
		if err != nil {
			return nil, err
		}
		for _, part := range s.others {
			holders, err := r.at(ctx, r.Top, nil, "for-each-ref", "--format=%(refname:lstrip=2)", "--contains="+part.After, "refs/heads/")
			if err != nil {
				return nil, err
			}
			into = append(into, strings.Fields(holders)...)
		}
	}
	for i, name := range into {
		if name == here || name == branch.Name || slices.Contains(into[:i], name) {
			continue
		}
		has, err := r.isIn(ctx, name, branch)
		if err != nil {
			return nil, err
		}
		if has {
			names = append(names, name)
		}
	}
	return names, nil
}

// isIn reports whether another branch than the one that is checked out has something of a branch.
func (r *Repo) isIn(ctx context.Context, into string, branch Branch) (bool, error) {
	head := r.tipOf(ctx, into)
	if head == "" {
		return false, nil
	}
	s, err := r.standsAt(ctx, head, branch)
	return err == nil && len(s.In) > 0, err
}

// tipOf is the commit that a branch is at: nothing where there is no such branch.
func (r *Repo) tipOf(ctx context.Context, branch string) string {
	tip, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch+"^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(tip)
}

// standsAt is Stands for a commit that a checkout is at, which is found out once.
func (r *Repo) standsAt(ctx context.Context, head string, branch Branch) (*Standing, error) {
	tip := r.tipOf(ctx, branch.Name)
	key := fmt.Sprintf("%q %s %s %s %q %q", r.Dir, head, tip, branch.Base, branch.Mark, branch.Brought)
	if s := stood.get(key); s != nil && (s.ours == head || r.hasObject(ctx, s.ours)) {
		return s, nil
	}
	s, err := r.findStanding(ctx, head, tip, branch)
	if err == nil && len(s.Parts) >= len(branch.Brought) { // else it lacks commits, which may come back
		stood.put(key, s)
	}
	return s, err
}

func (r *Repo) findStanding(ctx context.Context, head, tip string, branch Branch) (*Standing, error) {
	s := &Standing{Head: head, Tip: tip, ours: head}
	for _, part := range branch.Brought {
		if err := r.weigh(ctx, s, part); err != nil {
			return nil, err
		}
	}
	byHand, err := r.byHand(ctx, s, branch)
	for _, part := range byHand {
		if err == nil {
			err = r.weigh(ctx, s, part)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// byHand are the parts that the checkout has of a branch in the branch's own commits, but for what is
// known to have come with others: one for each row of such commits. A commit without the mark is
// none, though both have it: it may be one of the checkout that has come to the branch.
func (r *Repo) byHand(ctx context.Context, s *Standing, branch Branch) (parts []Part, err error) {
	if s.Tip == "" || branch.Mark == "" || !r.Has(ctx, branch.Base) {
		return nil, nil
	}
	known := []string{branch.Base}
	for _, part := range slices.Concat(s.In, s.gone) {
		if r.Has(ctx, part.Tip) {
			known = append(known, part.Tip)
		}
	}
	all, err := r.marked(ctx, branch.Mark, s.Tip, known)
	if err != nil || all == nil {
		return nil, err
	}
	lacking, err := r.marked(ctx, branch.Mark, s.Tip, append(known, s.Head))
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if slices.Contains(lacking, one) {
			continue
		}
		if n := len(parts); n > 0 && parts[n-1].After == one.parent {
			parts[n-1].After, parts[n-1].Tip = one.id, one.id
		} else {
			parts = append(parts, Part{Before: one.parent, After: one.id, Tip: one.id})
		}
	}
	return parts, nil
}

// A child is a commit with one parent.
type child struct{ id, parent string }

// marked are the commits up to one, but for those up to others, whose message has a mark: parents
// first, and no merges.
func (r *Repo) marked(ctx context.Context, mark, to string, but []string) (list []child, err error) {
	args := []string{"rev-list", "--no-merges", "--topo-order", "--reverse", "--no-commit-header", "--format=%H %P", "--fixed-strings", "--grep=" + mark, to}
	for _, commit := range but {
		args = append(args, "^"+commit)
	}
	out, err := r.at(ctx, r.Top, nil, append(args, "--")...)
	for line := range strings.Lines(out) {
		if id, parent, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list = append(list, child{id, parent})
		}
	}
	return list, err
}

// weigh finds out whether a part is in the checkout still.
func (r *Repo) weigh(ctx context.Context, s *Standing, part Part) error {
	if !r.Has(ctx, part.Before) || !r.Has(ctx, part.After) {
		return nil // nobody knows any more what it was
	}
	has, err := r.isAncestor(ctx, part.After, s.Head)
	if err == nil && !has && part.Seen != "" {
		has, err = r.hasIn(ctx, part.Seen, s.Head)
	}
	if err != nil {
		return err
	}
	isThere, err := r.isThere(ctx, s, part, has)
	if err != nil {
		return err
	}
	s.Parts = append(s.Parts, part)
	switch {
	case isThere:
		s.In, s.from, s.last = append(s.In, part), part.Tip, part.After
	case !has:
		s.others = append(s.others, part)
	default:
		s.gone, s.from, s.last = append(s.gone, part), part.Tip, part.After
		ours, err := r.differenceOn(ctx, part.Before, part.After, s.ours, bothChanged)
		if _, isConflict := errors.AsType[*ConflictError](err); isConflict {
			s.undone = err
			return nil
		}
		if err == nil {
			s.ours = ours
		}
		return err
	}
	return nil
}

// hasIn is isAncestor for a commit that may be gone.
func (r *Repo) hasIn(ctx context.Context, commit, of string) (bool, error) {
	if !r.Has(ctx, commit) {
		return false, nil
	}
	return r.isAncestor(ctx, commit, of)
}

func (r *Repo) isAncestor(ctx context.Context, commit, of string) (bool, error) {
	_, err := r.at(ctx, r.Top, nil, "merge-base", "--is-ancestor", commit, of)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// merged is the tree that the checkout comes to with all that the branch has.
func (r *Repo) merged(ctx context.Context, s *Standing) (string, error) {
	if s.undone != nil {
		return "", s.undone
	}
	goesOn, err := r.goesOn(ctx, s)
	if err != nil {
		return "", err
	}
	if goesOn {
		return r.differenceOn(ctx, s.from, s.Tip, s.ours, bothChanged)
	}
	ours := s.Head
	if s.ours != s.Head {
		if ours, err = r.commitTree(ctx, r.Top, s.ours, []string{s.Head}, "difference", epoch); err != nil {
			return "", err
		}
	}
	return r.merge(ctx, ours, s.Tip, bothChanged)
}

// goesOn reports whether what the branch has since the last part came is what it brings. It is not
// where somebody has set the branch back, or made it anew: what it has not is not taken out. Neither is
// it where the branch was brought up to date with the checkout since: then git itself knows best what
// both have.
func (r *Repo) goesOn(ctx context.Context, s *Standing) (bool, error) {
	if s.from == "" {
		return false, nil
	}
	if has, err := r.isAncestor(ctx, s.from, s.Tip); err != nil || !has {
		return false, err
	}
	isUpToDate, err := r.hasIn(ctx, s.last, s.Tip)
	return !isUpToDate, err
}

// keep leaves on record, once the checkout comes to a commit that has all of the branch, the parts
// that are there and those that it does not bring with the others.
func (r *Repo) keep(ctx context.Context, s *Standing, commit string) error {
	var parts []Part
	for _, part := range s.Parts {
		isIn := slices.Contains(s.In, part)
		if isIn {
			has, err := r.isAncestor(ctx, part.After, s.Head)
			if err != nil {
				return err
			}
			if !has {
				part.Seen = s.Head
			}
		} else if slices.Contains(s.others, part) {
			var err error
			if isIn, err = r.changes(ctx, part.Before, part.After, commit); err != nil {
				return err
			}
		}
		if isIn {
			parts = append(parts, part)
		}
	}
	s.Parts = parts
	return nil
}

// Brings reports whether the branch has something that the checkout has not.
func (r *Repo) Brings(ctx context.Context, s *Standing) (bool, error) {
	if s.Tip == "" {
		return false, nil
	}
	tree, err := r.merged(ctx, s)
	if _, isConflict := errors.AsType[*ConflictError](err); isConflict {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	has, err := r.sameTree(ctx, s.Head, tree)
	return !has, err
}
