package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/git"
)

// ChangedByHand are the files of a delivery's worktree that somebody has changed since the
// delivery last worked in it, and that are on record nowhere. The folder is the delivery's.
func (s *Site) ChangedByHand(ctx context.Context, folder string) ([]string, error) {
	o := &openSite{Site: s, folder: folder}
	last, err := os.ReadFile(o.last())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was ever put there
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(o.pending()); err == nil {
		return nil, nil // it was killed while it changed the folder itself, and makes it anew
	}
	if o.repo, err = git.Open(ctx, s.Repo); err != nil {
		return nil, err
	}
	w, err := o.repo.OpenScratch(s.Worktree)
	if err != nil || !w.Filled() {
		return nil, nil // there is no folder that could hold anything
	}
	now, err := w.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	changed, err := w.Stats(ctx, strings.TrimSpace(string(last)), now)
	if err != nil {
		return nil, err
	}
	var byHand []string
	for _, f := range changed {
		place := filepath.FromSlash(f.Path)
		if target, err := os.Readlink(filepath.Join(w.Dir, place)); err == nil && target == filepath.Join(s.Repo, place) {
			continue // a link of ours, to what git ignores
		}
		byHand = append(byHand, f.Path)
	}
	return byHand, nil
}
