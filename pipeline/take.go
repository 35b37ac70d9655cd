package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/git"
)

// Take takes the branch of a delivery into what is checked out, as one commit where squash
// has a message, and returns the commits that the checkout was at before and is at then: the same
// where all is there already. Nothing is done where that would conflict. The folder is
// the delivery's. Whoever is killed meanwhile leaves Taking, and the next Take goes on.
func (s *Site) Take(ctx context.Context, folder, message, squash string) (before, after string, err error) {
	repo, err := git.Open(ctx, s.Repo)
	if err != nil {
		return "", "", err
	}
	if err := s.settleTake(ctx, repo, folder); err != nil {
		return "", "", err
	}
	into, err := repo.Branch(ctx)
	if err != nil {
		return "", "", err
	}
	stands, after, err := repo.Merge(ctx, s.branch(), message, squash)
	if err != nil || after == stands.Head {
		return after, after, err
	}
	s.Taking = append(stands.Parts, git.Part{Before: stands.Head, After: after, Tip: stands.Tip})
	if into != "" && !slices.Contains(s.Into, into) {
		s.Into = append(s.Into, into)
	}
	if err := s.Save(folder); err != nil {
		return "", "", err
	}
	failpoint.Here(failpoint.BranchTaking)
	if err := repo.Advance(ctx, after); err != nil {
		return "", "", err
	}
	failpoint.Here(failpoint.BranchTaken)
	return stands.Head, after, s.noteTaken(folder)
}

// Tip is the last commit of the branch, or the latest that is known of it, where somebody has removed it.
func (s *Site) Tip(ctx context.Context, repo *git.Repo, plan *Plan) (string, error) {
	if branch := "refs/heads/" + s.Branch; repo.Has(ctx, branch) {
		return branch, nil
	}
	commits := []string{s.Base}
	for _, part := range s.Brought {
		commits = append(commits, part.Tip)
	}
	for i := range plan.Steps {
		if commit := plan.Steps[i].Commit; commit != "" {
			commits = append(commits, commit)
		}
	}
	last, err := repo.Latest(ctx, s.Branch, commits)
	if err != nil {
		return "", fmt.Errorf("delivery %s: %w", s.ID, err)
	}
	return last, nil
}

// branch is what is known of the branch. Its own commits are told by the trailer that each of them has.
func (s *Site) branch() git.Branch {
	return git.Branch{Name: s.Branch, Base: s.Base, Mark: ", delivery " + s.ID + ", step ", Brought: s.Brought}
}

// Stands says what the checkout has of the branch.
func (s *Site) Stands(ctx context.Context, repo *git.Repo) (*git.Standing, error) {
	return repo.Stands(ctx, s.branch())
}

// Elsewhere are the branches that it was taken into and that have something of it, but for the one that
// is checked out.
func (s *Site) Elsewhere(ctx context.Context, repo *git.Repo) (names []string, err error) {
	here, err := repo.Branch(ctx)
	for _, name := range s.Into {
		if err != nil || name == here {
			continue
		}
		var has bool
		if has, err = repo.IsIn(ctx, name, s.branch()); has {
			names = append(names, name)
		}
	}
	return names, err
}

// settleTake finds out what became of a take whose process was killed: it is on record then,
// or what was written of it to the checkout is taken back.
func (s *Site) settleTake(ctx context.Context, repo *git.Repo, folder string) error {
	if len(s.Taking) == 0 {
		return nil
	}
	if s.Own { // else it may be the lock of whoever works there
		if err := repo.BreakLock(ctx); err != nil {
			return err
		}
	}
	begun := s.Taking[len(s.Taking)-1]
	isThere, err := repo.Contains(ctx, begun.After)
	if err != nil {
		return err
	}
	if isThere {
		return s.noteTaken(folder)
	}
	return repo.Retreat(ctx, begun.Before, begun.After)
}

// NoteTaken puts on record that the branch was taken where a process was killed before it
// could. Otherwise it changes nothing.
func (s *Site) NoteTaken(ctx context.Context, folder string) error {
	if len(s.Taking) == 0 {
		return nil
	}
	repo, err := git.Open(ctx, s.Repo)
	if err != nil {
		return err
	}
	if isThere, err := repo.Contains(ctx, s.Taking[len(s.Taking)-1].After); err != nil || !isThere {
		return err
	}
	return s.noteTaken(folder)
}

// noteTaken puts on record that what was begun is done.
func (s *Site) noteTaken(folder string) error {
	s.Brought, s.Taking, s.Takes = s.Taking, nil, append(s.Takes, Take{At: time.Now()})
	return s.Save(folder)
}
