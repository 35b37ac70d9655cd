package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
)

// A setup has the network, and so it never runs what an agent wrote: it runs in a checkout
// of the base in which nothing is left that a check made. Where a change wants other
// dependencies, it runs again with the manifests of the change, which a person has seen,
// and with the base's files otherwise. That is a tree of its own: [state.Setup].

// What becomes of a setup where a change wants other dependencies.
const (
	SetupAsk    = "ask"
	SetupNever  = "never"
	SetupAlways = "always"
)

type setupRequest struct {
	state
	Command string    `json:"command"`
	At      time.Time `json:"at"`
}

func (s *workshop) setupTool() troupe.Tool {
	return onSite(s, toolSetup, "Runs a command that prepares the worktree.", func(ctx context.Context, o *openSite, in setupRequest) (checks.Outcome, error) {
		room, err := o.room(ctx, o.worktree)
		if err != nil {
			return checks.Outcome{}, err
		}
		if _, err := o.find(ctx, in.state, in.At); err != nil {
			return checks.Outcome{}, err
		}
		o.mark()
		outcome, err := room.Setup(ctx, in.Command)
		if err != nil {
			return outcome, err
		}
		if outcome.OK && in.Command == o.Setup[len(o.Setup)-1] {
			if err := o.noteSetUp(o.worktree, o.Base); err != nil {
				return outcome, err
			}
		}
		return outcome, o.become(ctx, in.Tree)
	})
}

// setupFile names what the setup of a worktree ran on. Checks cannot write there.
func setupFile(w *git.Worktree) string { return filepath.Join(w.GitDir(), "setup") }

func (o *openSite) noteSetUp(w *git.Worktree, on string) error {
	return replaceFile(setupFile(w), []byte(on))
}

// setupOn is what the setup of a state runs on: the base, or a tree with other manifests.
func (o *openSite) setupOn(at state) string { return cmp.Or(at.Setup, o.Base) }

// setUp runs the setup in a folder of its own making: on a tree, with nothing else there.
// One that failed is returned as an outcome. What the folder holds then is the tree, and
// what the setup made of it.
func (o *openSite) setUp(ctx context.Context, w *git.Worktree, on string, lock []checks.LockCommand) (failed *checks.Outcome, err error) {
	if err := os.Remove(setupFile(w)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	w.Links = nil
	if err := errors.Join(w.Restore(ctx, on), w.Scrub(ctx), o.furnish(ctx, w.Dir)); err != nil {
		return nil, err
	}
	w.Links = o.linked(w.Dir)
	room, err := o.room(ctx, w)
	if err != nil {
		return nil, &troupe.ToolError{Class: "failed", Message: err.Error()}
	}
	if on != o.Base && !o.SetupScripts {
		tree, err := o.worktree.Tree(ctx, on)
		if err != nil {
			return nil, err
		}
		room.Vars = checks.WithoutScripts(tree.Paths())
	}
	for _, command := range lock {
		outcome, err := room.Lock(ctx, command)
		if err != nil || !outcome.OK {
			return &outcome, err
		}
	}
	for _, command := range o.Setup {
		outcome, err := room.Setup(ctx, command)
		if err != nil || !outcome.OK {
			return &outcome, err
		}
	}
	return nil, o.noteSetUp(w, on)
}

// furnished has the worktree set up as a state says, where it is not: it may have been made
// anew. The setup worked before; one that fails now is the surroundings' fault.
func (o *openSite) furnished(ctx context.Context, at state) (failed *checks.Outcome, err error) {
	if len(o.Setup) == 0 {
		return nil, nil
	}
	if on, err := os.ReadFile(setupFile(o.worktree)); err == nil && string(on) == o.setupOn(at) {
		return nil, nil
	}
	o.mark()
	if failed, err = o.setUp(ctx, o.worktree, o.setupOn(at), nil); err != nil {
		return nil, err
	}
	if failed != nil {
		setupCannotRun(failed, "on the worktree, which was made anew,")
	}
	return failed, o.become(ctx, at.Tree)
}

// setupCannotRun makes the outcome of a setup that of the check that it was to run before.
func setupCannotRun(o *checks.Outcome, where string) {
	o.Cause = checks.CauseEnvironment
	o.Remedy = fmt.Sprintf("the setup that was to run before it failed %s with exit code %d", where, o.Exit)
}

// A dependencyChange is what a change does to the manifests of a project.
type dependencyChange struct {
	// Paths are the manifests that want other dependencies than the setup ran with.
	Paths []string `json:"paths,omitempty"`
	Diff  string   `json:"diff,omitempty"`
	// Programs are files that may want other dependencies, and that no setup takes over.
	Programs []string `json:"programs,omitempty"`
	// Setup is the tree that a setup would run on, empty where it is the base.
	Setup string `json:"setup,omitempty"`
}

// dependenciesTool compares manifests with those that the setup ran with.
func (s *workshop) dependenciesTool() troupe.Tool {
	return onSite(s, "compare_dependencies", "Finds out whether the change wants other dependencies.", func(ctx context.Context, o *openSite, in state) (dependencyChange, error) {
		return o.dependencies(ctx, in)
	})
}

func (o *openSite) dependencies(ctx context.Context, in state) (out dependencyChange, err error) {
	var changed []git.Stat
	if out.Setup, changed, err = o.setupTree(ctx, in.Tree); err != nil {
		return out, err
	}
	for _, f := range changed {
		if checks.IsProgramManifest(f.Path) {
			out.Programs = append(out.Programs, f.Path)
		}
	}
	was := o.setupOn(in)
	stats, err := o.worktree.Stats(ctx, was, cmp.Or(out.Setup, o.Base))
	if err != nil {
		return out, err
	}
	for _, f := range stats {
		out.Paths = append(out.Paths, f.Path)
	}
	// What tools write comes after what it follows from, which is far shorter.
	locks := slices.DeleteFunc(slices.Clone(out.Paths), func(name string) bool { return !checks.IsLock(name) })
	written := slices.DeleteFunc(out.Paths, checks.IsLock)
	out.Paths = slices.Concat(written, locks)
	for _, paths := range [][]string{written, locks} {
		if len(paths) == 0 {
			continue
		}
		// The files as they are: what of them is not taken over is seen, too.
		diff, err := o.worktree.Diff(ctx, was, in.Tree, paths...)
		if err != nil {
			return out, err
		}
		out.Diff += diff
	}
	return out, nil
}

// setupTree is the base with the manifests of a tree, empty where these are the base's, and
// all that the tree differs in from the base.
func (o *openSite) setupTree(ctx context.Context, tree string) (setup string, changed []git.Stat, err error) {
	if changed, err = o.worktree.Stats(ctx, o.Base, tree); err != nil || !slices.ContainsFunc(changed, func(f git.Stat) bool { return checks.IsManifest(f.Path) }) {
		return "", changed, err
	}
	base, err := o.worktree.Tree(ctx, o.Base)
	if err != nil {
		return "", nil, err
	}
	now, err := o.worktree.Tree(ctx, tree)
	if err != nil {
		return "", nil, err
	}
	var writes []edit.Write
	for _, f := range changed {
		if !checks.IsManifest(f.Path) {
			continue
		}
		was, _, err := base.File(f.Path)
		if err != nil {
			return "", nil, err
		}
		is, ok, err := now.File(f.Path)
		switch {
		case err != nil:
			return "", nil, err
		case !ok:
			writes = append(writes, edit.Write{Path: f.Path, Delete: true})
		case checks.ChangesDependencies(f.Path, was.Content, is.Content):
			writes = append(writes, edit.Write{Path: f.Path, Content: checks.WithScriptsOf(f.Path, is.Content, was.Content), Mode: is.Mode})
		}
	}
	if writes == nil {
		return "", changed, nil
	}
	setup, err = base.With(writes)
	return setup, changed, err
}

type setupAgainResult struct {
	state
	checks.Outcome
	// Locks are lock files that were brought up to date, as part of the change.
	Locks []string `json:"locks,omitempty"`
}

// setupAgainTool runs the setup with the manifests of a change.
func (s *workshop) setupAgainTool() troupe.Tool {
	return onSite(s, "run_setup_again", "Runs the setup with the dependencies of the change.", func(ctx context.Context, o *openSite, in setupRequest) (setupAgainResult, error) {
		return o.setUpAgain(ctx, in)
	})
}

func (o *openSite) setUpAgain(ctx context.Context, in setupRequest) (out setupAgainResult, err error) {
	out.Outcome = checks.Outcome{Name: "setup", OK: true}
	if out.state, err = o.find(ctx, in.state, in.At); err != nil {
		return out, err
	}
	change, err := o.dependencies(ctx, out.state)
	if err != nil {
		return out, err
	}
	o.mark()
	on := cmp.Or(change.Setup, o.Base)
	tree, err := o.worktree.Tree(ctx, on)
	if err != nil {
		return out, err
	}
	exists := func(name string) bool { return tree.Mode(name) != "" }
	failed, err := o.setUp(ctx, o.worktree, on, checks.LockCommands(change.Paths, exists))
	if err != nil {
		return out, err
	}
	if failed != nil {
		out.Outcome = *failed
		return out, errors.Join(o.keepOutput(&out.Outcome, ""), o.become(ctx, out.Tree))
	}
	if out.Locks, err = o.keepLocks(ctx, &out.state, tree); err != nil {
		return out, err
	}
	if out.Setup, _, err = o.setupTree(ctx, out.Tree); err != nil {
		return out, err
	}
	return out, errors.Join(o.allowSetup(out.Setup), o.noteSetUp(o.worktree, o.setupOn(out.state)), o.become(ctx, out.Tree))
}

// allowSetup puts on record that the setup may run on a tree; the base it always may.
func (o *openSite) allowSetup(tree string) error {
	if tree == "" {
		return nil
	}
	return o.update(func(site *Site) {
		if !slices.Contains(site.SetupTrees, tree) {
			site.SetupTrees = append(site.SetupTrees, tree)
		}
	})
}

// allowedSetup is what the setup of a delivery that goes on runs on: the manifests that are
// there, where it was allowed to run on them before.
func (o *openSite) allowedSetup(ctx context.Context, tree string) (string, error) {
	if len(o.SetupTrees) == 0 {
		return "", nil
	}
	on, _, err := o.setupTree(ctx, tree)
	if err != nil || !slices.Contains(o.SetupTrees, on) {
		return "", err
	}
	return on, nil
}

// keepLocks makes lock files that the setup has written part of the change.
func (o *openSite) keepLocks(ctx context.Context, at *state, before *git.Tree) (locks []string, err error) {
	left, err := o.worktree.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := o.worktree.Stats(ctx, before.ID, left)
	if err != nil {
		return nil, err
	}
	after, err := o.worktree.Tree(ctx, left)
	if err != nil {
		return nil, err
	}
	var writes []edit.Write
	for _, f := range stats {
		isProtected := slices.ContainsFunc(o.Protect, func(pattern string) bool { return edit.MatchPath(pattern, f.Path) })
		if file, ok, err := after.File(f.Path); err != nil {
			return nil, err
		} else if ok && checks.IsLock(f.Path) && !isProtected && edit.IsText(file.Content) {
			writes, locks = append(writes, edit.Write{Path: f.Path, Content: file.Content, Mode: file.Mode}), append(locks, f.Path)
		}
	}
	if writes == nil {
		return nil, nil
	}
	tree, err := o.worktree.Tree(ctx, at.Tree)
	if err != nil {
		return nil, err
	}
	at.Tree, err = tree.With(writes)
	return locks, err
}
