package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/pipeline"
)

// Why a delivery is not taken back, or not dropped.
var (
	ErrNotTaken  = errors.New("it was not taken")
	ErrTakenBack = errors.New("it was taken back already")
	errTaken     = errors.New("it was taken: take it back first")
)

// ApplyDelivery merges a delivery's branch into what is checked out, as one commit
// where squash says so, and returns the commits that this was at before and is at then: the same
// where all is there already. Nothing is done where that would conflict.
func (p *Project) ApplyDelivery(ctx context.Context, site *pipeline.Site, squash bool) (before, after string, err error) {
	release, err := site.Hold(ctx, p.SiteFolder(site))
	if err != nil {
		return "", "", err
	}
	defer release()
	if !site.Dropped.IsZero() {
		return "", "", pipeline.ErrDropped
	}
	message := ""
	if squash {
		title, _, _ := strings.Cut(cmp.Or(strings.TrimSpace(site.Request), "Delivery "+site.ID), "\n") // of one that was deleted there is no request
		message = strings.ToValidUTF8(title[:min(len(title), 72)], "") + "\n\nDelivered-by: Troupe " + version() + ", delivery " + site.ID + "\n"
	}
	before, after, err = site.Take(ctx, p.SiteFolder(site), "Merge delivery "+site.ID, message)
	if errors.Is(err, git.ErrNoBranch) {
		err = fmt.Errorf("%w any more: somebody has removed it; go on with the delivery, and it is made anew", err)
	}
	if err != nil {
		return "", "", fmt.Errorf("delivery %s was not applied: %w", site.ID, err)
	}
	return before, after, nil
}

// noteTakes puts on record which branches were taken by processes that were killed before
// they could say so.
func (p *Project) noteTakes(ctx context.Context) {
	sites, err := p.Sites()
	for _, site := range sites {
		err = errors.Join(err, site.NoteTaken(ctx, p.SiteFolder(site)))
	}
	if err != nil {
		p.log.Warn("whether deliveries were taken is not known", "err", err)
	}
}

// RevertDelivery takes what was applied of a delivery back out of the checkout, by a commit
// that it returns. What was built stays on the delivery's branch. It fails with ErrNotTaken or
// ErrTakenBack where there is nothing to take back.
func (p *Project) RevertDelivery(ctx context.Context, site *pipeline.Site) (reverted string, err error) {
	release, err := site.Hold(ctx, p.SiteFolder(site))
	if err != nil {
		return "", err
	}
	defer release()
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return "", err
	}
	if !site.Dropped.IsZero() {
		return "", pipeline.ErrDropped
	}
	stands, reverted, err := site.Revert(ctx, repo, p.SiteFolder(site), "Revert delivery "+site.ID+"\n")
	if err != nil {
		return "", fmt.Errorf("delivery %s was not reverted: %w", site.ID, err)
	}
	if len(stands.In) == 0 {
		return "", cmp.Or(isElsewhere(ctx, repo, site), whyNotIn(site))
	}
	return reverted, nil
}

// whyNotIn says why there is nothing of a delivery to take back.
func whyNotIn(site *pipeline.Site) error {
	if len(site.Takes) > 0 {
		return ErrTakenBack
	}
	return ErrNotTaken
}

// isElsewhere fails where a delivery was taken into another branch than the one that is checked out,
// and is there: it is not taken back here.
func isElsewhere(ctx context.Context, repo *git.Repo, site *pipeline.Site) error {
	names, err := site.Elsewhere(ctx, repo)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("it was taken into %s, which is not checked out: check that out first", strings.Join(names, " and "))
	}
	return err
}

// A Taken says how much of a delivery is in what is checked out.
type Taken struct {
	// Any is that some of it is, and More that its branch has more.
	Any, More bool
	// Elsewhere are the other branches that it was taken into, and is in.
	Elsewhere []string
}

// TakenOf says how much of a delivery is in what is checked out: what is on file, where its
// repository cannot be asked.
func (p *Project) TakenOf(ctx context.Context, site *pipeline.Site) Taken {
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return takenOnFile(site)
	}
	return takenIn(ctx, repo, site)
}

func takenOnFile(site *pipeline.Site) Taken {
	n := len(site.Takes)
	return Taken{Any: n > 0 && !site.Takes[n-1].Back}
}

func takenIn(ctx context.Context, repo *git.Repo, site *pipeline.Site) (taken Taken) {
	stands, err := site.Stands(ctx, repo)
	if err != nil {
		return takenOnFile(site)
	}
	if taken.Any = len(stands.In) > 0; taken.Any {
		taken.More, _ = repo.Brings(ctx, stands) // a repository may have lost what it had
	}
	taken.Elsewhere, _ = site.Elsewhere(ctx, repo) // so it may
	return taken
}

// DropDelivery removes for good what a delivery has built: its branch, its worktrees, and
// what was tried. What was taken is to be reverted first. The plan and the documents stay for
// as long as its session does.
func (p *Project) DropDelivery(ctx context.Context, site *pipeline.Site) error {
	release, err := site.Hold(ctx, p.SiteFolder(site))
	if err != nil {
		return err
	}
	defer release()
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return err
	}
	if err := site.NoteTaken(ctx, p.SiteFolder(site)); err != nil {
		return err
	}
	if !site.Dropped.IsZero() {
		return pipeline.ErrDropped
	}
	stands, err := site.Stands(ctx, repo)
	if err == nil && len(stands.In) > 0 {
		err = errTaken
	}
	if err == nil {
		err = isElsewhere(ctx, repo, site)
	}
	if err != nil {
		return err
	}
	if err := p.notUnderWay(ctx, site); err != nil {
		return fmt.Errorf("delivery %s was not dropped: %w", site.ID, err)
	}
	for _, dir := range []string{site.Worktree, site.Worktree + "-clean"} {
		if err := repo.RemoveWorktree(dir); err != nil {
			return err
		}
	}
	if err := repo.Drop(ctx, site.Branch, refsOf(site)); err != nil {
		return err
	}
	if !site.Deleted.IsZero() {
		return os.RemoveAll(p.SiteFolder(site))
	}
	site.Dropped = time.Now()
	return site.Save(p.SiteFolder(site))
}
