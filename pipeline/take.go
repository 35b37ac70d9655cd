package pipeline

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/git"
)

// Take takes the branch of a delivery into what is checked out, as one commit where squash
// has a message, and returns the commit that the checkout is at then. Nothing is done where
// that would conflict, and Applied is as it was where all is there already. The folder is
// the delivery's. Whoever is killed meanwhile leaves Taking, and the next Take goes on.
func (s *Site) Take(ctx context.Context, folder, message, squash string) (after string, err error) {
	repo, err := git.Open(ctx, s.Repo)
	if err != nil {
		return "", err
	}
	if err := s.settleTake(ctx, repo, folder); err != nil {
		return "", err
	}
	before, after, err := repo.Merge(ctx, s.Branch, message, squash, s.Reverted)
	if err != nil || before == after {
		return after, err
	}
	s.Taking = []string{before, after}
	if err := s.Save(folder); err != nil {
		return "", err
	}
	failpoint.Here(failpoint.BranchTaking)
	if err := repo.Advance(ctx, after); err != nil {
		return "", err
	}
	failpoint.Here(failpoint.BranchTaken)
	return after, s.noteTaken(folder)
}

// settleTake finds out what became of a take whose process was killed: it is on record then,
// or what was written of it to the checkout is taken back.
func (s *Site) settleTake(ctx context.Context, repo *git.Repo, folder string) error {
	if len(s.Taking) != 2 {
		return nil
	}
	if s.Own { // else it may be the lock of whoever works there
		if err := repo.BreakLock(ctx); err != nil {
			return err
		}
	}
	isThere, err := repo.Contains(ctx, s.Taking[1])
	if err != nil {
		return err
	}
	if isThere {
		return s.noteTaken(folder)
	}
	return repo.Retreat(ctx, s.Taking[0], s.Taking[1])
}

// NoteTaken puts on record that the branch was taken where a process was killed before it
// could. Otherwise it changes nothing.
func (s *Site) NoteTaken(ctx context.Context, folder string) error {
	if len(s.Taking) != 2 {
		return nil
	}
	repo, err := git.Open(ctx, s.Repo)
	if err != nil {
		return err
	}
	if isThere, err := repo.Contains(ctx, s.Taking[1]); err != nil || !isThere {
		return err
	}
	return s.noteTaken(folder)
}

// noteTaken puts on record that what was begun is done. What is taken on top of what was taken
// before, with nothing of others in between, is taken back with it.
func (s *Site) noteTaken(folder string) error {
	applied := s.Taking
	if len(s.Applied) == 2 && s.Applied[1] == applied[0] {
		applied = []string{s.Applied[0], applied[1]}
	}
	s.Applied, s.Reverted, s.Taking, s.Takes = applied, nil, nil, append(s.Takes, Take{At: time.Now()})
	return s.Save(folder)
}
