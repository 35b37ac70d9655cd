package pipeline

import (
	"cmp"
	"context"
	"errors"
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
	if err := s.settle(ctx, repo, folder); err != nil {
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
	s.Taking, s.Undoing = append(stands.Parts, git.Part{Before: stands.Head, After: after, Tip: stands.Tip}), nil
	if into = cmp.Or(into, "HEAD"); !slices.Contains(s.Into, into) {
		s.Into = append(s.Into, into)
	}
	if err := s.Save(folder); err != nil {
		return "", "", err
	}
	failpoint.Here(failpoint.BranchTaking)
	if err := repo.Advance(ctx, after); err != nil {
		return "", "", errors.Join(err, s.refused(ctx, repo, folder, err))
	}
	failpoint.Here(failpoint.BranchTaken)
	return stands.Head, after, s.noteTaken(folder)
}

// An Undoing is that what was taken is being taken back.
type Undoing struct {
	// Brought is what [Site.Brought] becomes with it.
	Brought []git.Part `json:"brought"`
	// Before and After are the commits that the checkout is moved between.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Revert takes what the checkout has of the branch back out of it, by a commit that it returns, and
// says how the checkout stood: where it had nothing, nothing is done. What was built stays on the
// branch. Whoever is killed meanwhile leaves Undoing, and the next Take or Revert goes on.
func (s *Site) Revert(ctx context.Context, repo *git.Repo, folder, message string) (stands *git.Standing, reverted string, err error) {
	if err := s.settle(ctx, repo, folder); err != nil {
		return nil, "", err
	}
	stands, err = s.Stands(ctx, repo)
	if err != nil || len(stands.In) == 0 {
		return stands, "", err
	}
	if err := repo.IsAlone(ctx, s.branch(), stands.In); err != nil {
		return nil, "", err
	}
	before, after, err := repo.Revert(ctx, stands.In, message)
	if err != nil {
		return nil, "", err
	}
	brought := slices.Clone(stands.Parts)
	for i, part := range brought {
		if slices.Contains(stands.In, part) {
			brought[i].Undone = after
		}
	}
	s.Taking, s.Undoing = nil, &Undoing{Brought: brought, Before: before, After: after}
	if err := s.Save(folder); err != nil {
		return nil, "", err
	}
	if before != after {
		if err := repo.Advance(ctx, after); err != nil {
			return nil, "", errors.Join(err, s.refused(ctx, repo, folder, err))
		}
	}
	return stands, after, s.noteTaken(folder)
}

// Tip is the last commit of the branch, or the latest that is known of it, where somebody has removed it.
func (s *Site) Tip(ctx context.Context, repo *git.Repo, plan *Plan) (string, error) {
	if branch := "refs/heads/" + s.Branch; repo.Has(ctx, branch) {
		return branch, nil
	}
	commits := []string{cmp.Or(s.Begin, s.Base)}
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

// Elsewhere are the branches that have something of it, but for the one that is checked out: see
// [git.Repo.Elsewhere].
func (s *Site) Elsewhere(ctx context.Context, repo *git.Repo) (names []string, err error) {
	return repo.Elsewhere(ctx, s.branch(), s.Into)
}

// begun are the commits that the checkout was being moved between when this was last put on record:
// none where nothing has begun.
func (s *Site) begun() (from, to string) {
	switch n := len(s.Taking); {
	case s.Undoing != nil:
		return s.Undoing.Before, s.Undoing.After
	case n > 0:
		return s.Taking[n-1].Before, s.Taking[n-1].After
	}
	return "", ""
}

// settle finds out what became of a take, or of taking it back, whose process was killed: it is on
// record then, or what was written of it to the checkout is taken back.
func (s *Site) settle(ctx context.Context, repo *git.Repo, folder string) error {
	from, to := s.begun()
	if to == "" {
		return nil
	}
	if s.Own { // else it may be the lock of whoever works there
		if err := repo.BreakLock(ctx); err != nil {
			return err
		}
	}
	isThere, err := repo.Contains(ctx, to)
	if err != nil {
		return err
	}
	if isThere {
		return s.noteTaken(folder)
	}
	if err := repo.Retreat(ctx, from, to); err != nil {
		return err
	}
	return s.forget(ctx, repo, folder)
}

// refused takes back what was written of what was begun, and puts on record that it has not begun
// after all: what somebody changes in the checkout afterwards is no leftover of ours. Where git has
// refused it at once nothing was written.
func (s *Site) refused(ctx context.Context, repo *git.Repo, folder string, why error) error {
	ctx = context.WithoutCancel(ctx)
	if _, ok := errors.AsType[*git.RefusedError](why); !ok {
		from, to := s.begun()
		if err := repo.Retreat(ctx, from, to); err != nil {
			return err // the next one tries again
		}
		return s.forget(ctx, repo, folder)
	}
	s.Taking, s.Undoing = nil, nil
	return s.Save(folder)
}

// forget takes off the record what was begun, where the checkout has nothing of it.
func (s *Site) forget(ctx context.Context, repo *git.Repo, folder string) error {
	from, to := s.begun()
	isUntouched, err := repo.IsUntouched(ctx, from, to)
	if err != nil || !isUntouched {
		return err
	}
	s.Taking, s.Undoing = nil, nil
	return s.Save(folder)
}

// NoteTaken puts on record that the branch was taken, or taken back, where a process was killed before
// it could. Otherwise it changes nothing.
func (s *Site) NoteTaken(ctx context.Context, folder string) error {
	_, to := s.begun()
	if to == "" {
		return nil
	}
	repo, err := git.Open(ctx, s.Repo)
	if err != nil {
		return err
	}
	if isThere, err := repo.Contains(ctx, to); err != nil || !isThere {
		return err
	}
	return s.noteTaken(folder)
}

// noteTaken puts on record that what was begun is done.
func (s *Site) noteTaken(folder string) error {
	take := Take{At: time.Now(), Back: s.Undoing != nil}
	s.Brought = s.Taking
	if take.Back {
		s.Brought = s.Undoing.Brought
	}
	s.Taking, s.Undoing, s.Takes = nil, nil, append(s.Takes, take)
	return s.Save(folder)
}
