package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/pipeline"
)

// Why a delivery is not taken back, or not dropped.
var (
	errNotTaken  = errors.New("it was not taken")
	errTakenBack = errors.New("it was taken back already")
	errTaken     = errors.New("it was taken: take it back first")
)

// hold keeps others, of this process and of others, from taking, reverting or dropping
// deliveries until release is called. The site is read anew: it is as they have left it.
func (p *Project) hold(site *pipeline.Site) (release func(), err error) {
	lock := flock.New(filepath.Join(p.deliveriesDir(), "lock"))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	release = func() { _ = lock.Close() }
	now, err := pipeline.ReadSite(p.SiteFolder(site))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no delivery %s any more", site.ID)
	}
	if err != nil {
		release()
		return nil, err
	}
	*site = *now
	return release, nil
}

// ApplyDelivery merges a delivery's branch into what is checked out, as one commit
// where squash says so. Nothing is done where that would conflict, and site.Applied is as
// it was where all is there already.
func (p *Project) ApplyDelivery(ctx context.Context, site *pipeline.Site, squash bool) (after string, err error) {
	release, err := p.hold(site)
	if err != nil {
		return "", err
	}
	defer release()
	if !site.Dropped.IsZero() {
		return "", pipeline.ErrDropped
	}
	message := ""
	if squash {
		title, _, _ := strings.Cut(cmp.Or(strings.TrimSpace(site.Request), "Delivery "+site.ID), "\n") // of one that was deleted there is no request
		message = strings.ToValidUTF8(title[:min(len(title), 72)], "") + "\n\nDelivered-by: Troupe " + version() + ", delivery " + site.ID + "\n"
	}
	if after, err = site.Take(ctx, p.SiteFolder(site), "Merge delivery "+site.ID, message); err != nil {
		return "", fmt.Errorf("delivery %s was not applied: %w", site.ID, err)
	}
	return after, nil
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

// UndoDelivery reverts what was applied of a delivery, by a commit that it returns; or, where nothing
// is, drops the delivery.
func (p *Project) UndoDelivery(ctx context.Context, site *pipeline.Site) (reverted string, err error) {
	reverted, err = p.RevertDelivery(ctx, site)
	if errors.Is(err, errNotTaken) || errors.Is(err, errTakenBack) {
		return "", p.DropDelivery(ctx, site)
	}
	return reverted, err
}

// RevertDelivery takes what was applied of a delivery back out of the checkout, by a commit
// that it returns. What was built stays on the delivery's branch.
func (p *Project) RevertDelivery(ctx context.Context, site *pipeline.Site) (reverted string, err error) {
	release, err := p.hold(site)
	if err != nil {
		return "", err
	}
	defer release()
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return "", err
	}
	if err := site.NoteTaken(ctx, p.SiteFolder(site)); err != nil {
		return "", err
	}
	switch {
	case !site.Dropped.IsZero():
		return "", pipeline.ErrDropped
	case len(site.Applied) != 2 && len(site.Takes) > 0:
		return "", errTakenBack
	case len(site.Applied) != 2:
		return "", errNotTaken
	}
	if err = isHere(ctx, repo, site); err == nil {
		reverted, err = repo.Revert(ctx, site.Applied[0], site.Applied[1], "Revert delivery "+site.ID+"\n")
	}
	if err != nil {
		return "", fmt.Errorf("delivery %s was not reverted: %w", site.ID, err)
	}
	site.Applied, site.Reverted, site.Takes = nil, site.Applied, append(site.Takes, pipeline.Take{At: time.Now(), Back: true})
	return reverted, site.Save(p.SiteFolder(site))
}

// isHere fails where a delivery was taken into another branch than the one that is checked out:
// it is not taken back here. What is in no branch but its own, somebody has taken back.
func isHere(ctx context.Context, repo *git.Repo, site *pipeline.Site) error {
	has, branches, err := whereTaken(ctx, repo, site)
	if err != nil || has || len(branches) == 0 {
		return err
	}
	return fmt.Errorf("it was taken into %s, which is not checked out: check that out first", strings.Join(branches, ", "))
}

// IsTaken reports whether a delivery's branch was taken and is still where it was taken into: what is
// on file where its repository cannot be asked.
func (p *Project) IsTaken(ctx context.Context, site *pipeline.Site) bool {
	if repo, err := git.Open(ctx, site.Repo); err == nil && len(site.Applied) == 2 {
		if taken, err := isTaken(ctx, repo, site); err == nil {
			return taken
		}
	}
	return len(site.Applied) == 2
}

// isTaken reports whether what was taken of a delivery is still in the checkout, or in a branch that
// is not its own: somebody may have put the checkout back to what was before.
func isTaken(ctx context.Context, repo *git.Repo, site *pipeline.Site) (bool, error) {
	if len(site.Applied) != 2 {
		return false, nil
	}
	has, branches, err := whereTaken(ctx, repo, site)
	return has || len(branches) > 0, err
}

// whereTaken says whether the checkout has what was taken of a delivery, and if not, which branches do.
func whereTaken(ctx context.Context, repo *git.Repo, site *pipeline.Site) (has bool, branches []string, err error) {
	if has, err = repo.Contains(ctx, site.Applied[1]); err != nil || has {
		return has, nil, err
	}
	branches, err = repo.BranchesWith(ctx, site.Applied[1])
	return false, slices.DeleteFunc(branches, func(name string) bool { return name == site.Branch }), err
}

// DropDelivery removes for good what a delivery has built: its branch, its worktrees, and
// what was tried. What was taken is to be reverted first. The plan and the documents stay for
// as long as its session does.
func (p *Project) DropDelivery(ctx context.Context, site *pipeline.Site) error {
	release, err := p.hold(site)
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
	if taken, err := isTaken(ctx, repo, site); err != nil || taken {
		return cmp.Or(err, errTaken)
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
