package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
)

// A cleanRound is the checks of a commit that were run in one clean checkout, one after the
// other as a build server does it: a test finds what the build before it made. It is on
// file where the checks cannot write, and only while no check is running: a round that was
// killed in between is begun anew.
type cleanRound struct {
	Commit string   `json:"commit"`
	Setup  string   `json:"setup,omitempty"`
	Checks []string `json:"checks"`
}

func cleanRoundFile(w *git.Worktree) string { return filepath.Join(w.GitDir(), "checked") }

// isOf reports whether a checkout holds what the round has left there.
func (r *cleanRound) isOf(w *git.Worktree) bool {
	data, err := os.ReadFile(cleanRoundFile(w))
	var found cleanRound
	return err == nil && json.Unmarshal(data, &found) == nil && found.Commit == r.Commit && found.Setup == r.Setup && slices.Equal(found.Checks, r.Checks)
}

func (r *cleanRound) save(w *git.Worktree) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return replaceFile(cleanRoundFile(w), data)
}

// checkClean runs a check in a clean checkout of a commit, in which others ran before.
func (o *openSite) checkClean(ctx context.Context, check *checks.Check, in *checkRequest) (checks.Outcome, error) {
	round := cleanRound{Commit: in.Head, Setup: in.Setup, Checks: in.After}
	w, failed, err := o.cleanAfter(ctx, &round)
	if err != nil {
		return checks.Outcome{}, err
	}
	if failed != nil {
		failed.Name = check.Name
		return *failed, nil
	}
	outcome, err := o.runClean(ctx, w, check, in)
	if err != nil {
		return outcome, err
	}
	round.Checks = append(slices.Clone(in.After), check.Name)
	return outcome, round.save(w)
}

// cleanAfter is a clean checkout with what a round has left in it. Where that is not at
// hand, the checks of the round are run once more.
func (o *openSite) cleanAfter(ctx context.Context, round *cleanRound) (w *git.Worktree, failed *checks.Outcome, err error) {
	if len(round.Checks) > 0 {
		if w, err = o.repo.OpenScratch(o.cleanDir()); err == nil && round.isOf(w) {
			w.Links = o.linked(w.Dir)
			return w, nil, nil
		}
	}
	if w, failed, err = o.clean(ctx, state{Head: round.Commit, Setup: round.Setup}); err != nil || failed != nil {
		return nil, failed, err
	}
	for _, name := range round.Checks {
		check, err := o.checkNamed(name)
		if err != nil {
			return nil, nil, err
		}
		if _, err := o.runClean(ctx, w, within(*check, 0), &checkRequest{state: state{Head: round.Commit}}); err != nil {
			return nil, nil, err
		}
	}
	return w, nil, nil
}

// runClean runs a check and puts the files of the commit back. What git ignores stays.
func (o *openSite) runClean(ctx context.Context, w *git.Worktree, check *checks.Check, in *checkRequest) (checks.Outcome, error) {
	if err := os.Remove(cleanRoundFile(w)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return checks.Outcome{}, err
	}
	room, err := o.room(ctx, w)
	if err != nil {
		return checks.Outcome{}, &troupe.ToolError{Class: "failed", Message: err.Error()}
	}
	restore := func() error { return w.Restore(ctx, in.Head) }
	outcome, err := check.RunWithRetry(ctx, room, in.retry(restore))
	if err != nil {
		return outcome, err
	}
	return outcome, restore()
}

func (o *openSite) cleanDir() string { return filepath.Join(o.workshop.Worktrees, o.ID+"-clean") }

// clean is a checkout of a commit alone, set up as the worktree was: what is committed is
// what is checked. A setup that failed is returned as the outcome that a check has then.
func (o *openSite) clean(ctx context.Context, at state) (w *git.Worktree, failed *checks.Outcome, err error) {
	if w, err = o.repo.Scratch(ctx, o.cleanDir(), at.Head); err != nil {
		return nil, nil, err
	}
	if len(o.Setup) == 0 {
		err := o.furnish(ctx, w.Dir)
		w.Links = o.linked(w.Dir)
		return w, nil, err
	}
	if failed, err = o.setUp(ctx, w, o.setupOn(at), nil); err != nil {
		return nil, nil, err
	}
	if failed != nil {
		setupCannotRun(failed, "on the clean checkout")
		return nil, failed, nil
	}
	return w, nil, w.Restore(ctx, at.Head)
}
