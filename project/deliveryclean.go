package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/pipeline"
)

// CleanDeliveries removes the worktrees of deliveries, which are made anew when they are
// needed. Kept says of which it did not, and why: somebody works there.
func (p *Project) CleanDeliveries(ctx context.Context) (removed int, kept []string, err error) {
	sites, err := p.Sites()
	if err != nil {
		return 0, nil, err
	}
	for _, site := range sites {
		if !site.Deleted.IsZero() && p.Remains(ctx, site) == "" {
			if err := os.RemoveAll(p.SiteFolder(site)); err != nil {
				return removed, kept, err
			}
			continue
		}
		n, err := p.cleanDelivery(ctx, site)
		if removed += n; err != nil {
			kept = append(kept, fmt.Sprintf("%s: %v", site.ID, err))
		}
	}
	return removed, kept, nil
}

func (p *Project) cleanDelivery(ctx context.Context, site *pipeline.Site) (removed int, err error) {
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return 0, err
	}
	for _, dir := range []string{site.Worktree, site.Worktree + "-clean"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if removed == 0 { // asked only where there is something to remove
			if err := p.mayRemove(ctx, site); err != nil {
				return 0, err
			}
		}
		if err := repo.RemoveWorktree(dir); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// mayRemove refuses where a worktree holds what is nowhere else.
func (p *Project) mayRemove(ctx context.Context, site *pipeline.Site) error {
	if err := p.notUnderWay(ctx, site); err != nil {
		return err
	}
	files, err := site.ChangedByHand(ctx, p.SiteFolder(site))
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("its worktree has changes that are not committed: %s", strings.Join(files, ", "))
	}
	return err
}

// notUnderWay refuses where a process carries the delivery out.
func (p *Project) notUnderWay(ctx context.Context, site *pipeline.Site) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	info, _, err := s.store.Ask(ctx, site.Session, troupe.SessionRequest{})
	if errors.Is(err, troupe.ErrNotFound) {
		return nil // its log was deleted
	}
	if err == nil && info.Owner != (troupe.Owner{}) {
		owner := info.Owner
		return fmt.Errorf("it is being carried out: %w", &owner)
	}
	return err
}
