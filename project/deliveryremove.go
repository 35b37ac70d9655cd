package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/store"
)

// A deliveryLog is a store that takes deliveries along when their sessions are deleted.
type deliveryLog struct {
	store.Log
	project *Project
	mu      sync.Mutex // one delivery is removed at a time
}

// deletingFile says in a delivery's folder that its session is being deleted. Whoever finds
// it there goes on with that.
const deletingFile = "deleting"

// Delete implements [troupe.Store]. A process that is killed meanwhile leaves a folder that
// says so: see finish.
func (d *deliveryLog) Delete(ctx context.Context, session string) error {
	folder := filepath.Join(d.project.deliveriesDir(), session)
	if !sessionid.Is(session) || !isDir(folder) {
		return d.Log.Delete(ctx, session)
	}
	mark := filepath.Join(folder, deletingFile)
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return err
	}
	err := d.Log.Delete(ctx, session)
	if err != nil && !errors.Is(err, troupe.ErrNotFound) {
		return errors.Join(err, os.Remove(mark))
	}
	failpoint.Here(failpoint.DeliveryForgotten)
	d.mu.Lock()
	defer d.mu.Unlock()
	if failure := d.project.removeDelivery(context.WithoutCancel(ctx), folder); failure != nil {
		d.project.log.Warn("delivery not removed", "session", session, "err", failure) // the next start tries again
	}
	return err
}

// finish deletes the sessions that a killed process was deleting, by way of whatever is
// around the log, unless somebody has them.
func (d *deliveryLog) finish(ctx context.Context, all troupe.Store) {
	marks, _ := filepath.Glob(filepath.Join(d.project.deliveriesDir(), "*", deletingFile))
	for _, mark := range marks {
		session := filepath.Base(filepath.Dir(mark))
		if !sessionid.Is(session) || !isDir(filepath.Dir(mark)) {
			continue
		}
		info, _, err := d.Ask(ctx, session, troupe.SessionRequest{})
		if err == nil && info.Owner != (troupe.Owner{}) {
			continue
		}
		if err == nil || errors.Is(err, troupe.ErrNotFound) {
			err = all.Delete(ctx, session)
		}
		if err != nil && !errors.Is(err, troupe.ErrNotFound) {
			d.project.log.Warn("session not deleted", "session", session, "err", err)
		}
	}
}

// removeDelivery removes a delivery whose session is deleted: its worktrees, and its folder.
// Where something of it stays in the repository, the folder says what, and nothing else.
func (p *Project) removeDelivery(ctx context.Context, folder string) error {
	site, err := pipeline.ReadSite(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(folder) // nothing was begun, or all else is removed
	}
	if err != nil {
		return err
	}
	if site.Session != filepath.Base(folder) { // a copy, whose worktree and branch are another's
		return fmt.Errorf("%s is of delivery %s", filepath.Join(folder, pipeline.SiteFile), site.Session)
	}
	stays, err := p.leaveRepository(ctx, site)
	if err != nil {
		return err
	}
	if !stays {
		if err := emptyBut(folder, pipeline.SiteFile, deletingFile); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(folder, pipeline.SiteFile)); err != nil {
			return err
		}
		return os.RemoveAll(folder)
	}
	left := pipeline.Site{
		Session: site.Session, ID: site.ID, Repo: site.Repo, Worktree: site.Worktree, Branch: site.Branch, Base: site.Base, Begin: site.Begin, Created: site.Created, Own: site.Own,
		Brought: site.Brought, Into: site.Into, Taking: site.Taking, Undoing: site.Undoing, Takes: site.Takes,
		Deleted: time.Now(),
	}
	if err := left.Save(folder); err != nil {
		return err
	}
	if err := emptyBut(folder, pipeline.SiteFile, deletingFile, pipeline.TreeFile); err != nil {
		return err
	}
	return os.Remove(filepath.Join(folder, deletingFile))
}

// emptyBut removes what is in a folder but for some files.
func emptyBut(folder string, names ...string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// leaveRepository removes from a repository what a delivery has there and nobody misses: its
// worktrees, and refs whose commits are in other branches. It reports whether something
// stays: commits that were not taken, or what somebody has changed in the worktree by hand.
func (p *Project) leaveRepository(ctx context.Context, site *pipeline.Site) (stays bool, err error) {
	if !isDir(site.Repo) {
		return false, nil
	}
	repo, err := git.Open(ctx, site.Repo)
	if errors.Is(err, git.ErrNone) || err == nil && repo.Top != site.Repo {
		return false, nil // it is not there any more
	}
	if err != nil {
		return false, err
	}
	byHand, err := site.ChangedByHand(ctx, p.SiteFolder(site))
	if err != nil {
		return false, err
	}
	for _, dir := range []string{site.Worktree, site.Worktree + "-clean"} {
		if len(byHand) > 0 && dir == site.Worktree || !repo.HasWorktree(dir) {
			continue
		}
		if err := repo.RemoveWorktree(dir); err != nil {
			return false, err
		}
	}
	refs, err := repo.DropMerged(ctx, site.Branch, refsOf(site))
	return len(refs) > 0 || len(byHand) > 0, err
}

// refsOf are the refs that a delivery has beside its branch.
func refsOf(site *pipeline.Site) string { return "refs/troupe/" + site.ID + "/" }

// willStay says in words what stays of a delivery once its session is deleted.
func (p *Project) willStay(ctx context.Context, repo *git.Repo, site *pipeline.Site) string {
	if !site.Dropped.IsZero() {
		return ""
	}
	if site.Own {
		return "What it has built stays in " + p.shown(site.Repo)
	}
	if alone, err := repo.Alone(ctx, site.Branch, ""); err != nil || len(alone) == 0 {
		return ""
	}
	return "The branch " + site.Branch + " stays in the repository"
}

// Remains says in words what is left of a delivery whose session was deleted; nothing where
// the repository has nothing of it any more.
func (p *Project) Remains(ctx context.Context, site *pipeline.Site) string {
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return ""
	}
	var parts []string
	if repo.Has(ctx, "refs/heads/"+site.Branch) {
		parts = append(parts, "the branch "+site.Branch)
	}
	if attempts, err := repo.Alone(ctx, "", refsOf(site)); err == nil && len(attempts) > 0 {
		parts = append(parts, "what was tried ("+refsOf(site)+")")
	}
	if isDir(site.Worktree) && repo.HasWorktree(site.Worktree) {
		parts = append(parts, "the worktree "+site.Worktree)
	}
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0] + " stays in " + site.Repo
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1] + " stay in " + site.Repo
}
