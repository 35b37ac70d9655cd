package pipeline

import (
	"context"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
)

type tryRequest struct {
	state
	Changes []edit.Change `json:"changes"`
	Finding string        `json:"finding"`
	// Red are checks that fail without the changes, too.
	Red []checks.Outcome `json:"red,omitempty"`
}

// redOnes are the checks that fail, if only now and then, with as much of them as a comparison needs.
func redOnes(list []checks.Outcome) (red []checks.Outcome) {
	for _, o := range list {
		if !o.OK || len(o.Flaky) > 0 {
			red = append(red, checks.Outcome{Name: o.Name, OK: o.OK, Exit: o.Exit, Failing: o.Failing, Flaky: o.Flaky, Tests: o.Tests})
		}
	}
	return red
}

// A trial is what became of a test that is to prove a finding.
type trial struct {
	// Proven says that the test fails, Fell that it passes. Neither means that it could
	// not be tried, for Reason.
	Proven bool   `json:"proven,omitempty"`
	Fell   bool   `json:"fell,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// tryTool runs the checks with a reviewer's test on a checkout that is thrown away.
func (s *workshop) tryTool() troupe.Tool {
	return onSite(s, toolTry, "Tries the test that a finding is to be proven by.", func(ctx context.Context, o *openSite, in tryRequest) (trial, error) {
		with, problem, err := o.withReproduction(ctx, &in)
		if err != nil || problem != "" {
			return trial{Reason: problem}, err
		}
		w, failed, err := o.clean(ctx, in.state)
		if err != nil {
			return trial{}, err
		}
		if failed != nil {
			return trial{Reason: failed.Remedy}, nil
		}
		defer w.Remove()
		if err := w.Restore(ctx, with); err != nil {
			return trial{}, err
		}
		return o.tryChecks(ctx, w, in.Red)
	})
}

// withReproduction is the tree with a finding's test in it, or what is wrong with the test.
func (o *openSite) withReproduction(ctx context.Context, in *tryRequest) (with, problem string, err error) {
	tree, err := o.worktree.Tree(ctx, in.Tree)
	if err != nil {
		return "", "", err
	}
	if !o.worktree.Filled() { // what is ignored is said in files
		if err := o.become(ctx, in.Tree); err != nil {
			return "", "", err
		}
	}
	for i := range in.Changes {
		in.Changes[i].Reason = "reproduces " + in.Finding
	}
	plan, err := edit.Make(tree, in.Changes, edit.Rules{Protected: o.Protect, Shown: func(string, string) bool { return true }})
	if err != nil {
		return "", "", err
	}
	if len(plan.Problems) > 0 {
		return "", plan.Problems[0].String(), nil
	}
	with, err = tree.With(plan.Writes)
	return with, "", err
}

// tryChecks runs the checks until one fails that did not fail before, or in another place.
func (o *openSite) tryChecks(ctx context.Context, w *git.Worktree, red []checks.Outcome) (trial, error) {
	room, err := o.room(ctx, w)
	if err != nil {
		return trial{Reason: err.Error()}, nil
	}
	if len(o.Checks) == 0 {
		return trial{Reason: "there are no checks"}, nil
	}
	for i := range o.Checks {
		before := slices.IndexFunc(red, func(b checks.Outcome) bool { return b.Name == o.Checks[i].Name })
		retry := checks.Retry{Times: retriesInStep}
		if before >= 0 {
			retry.Before = &red[before]
		}
		outcome, err := o.Checks[i].RunWithRetry(ctx, room, retry)
		if err != nil {
			return trial{}, err
		}
		if outcome.Cause == checks.CauseEnvironment {
			return trial{Reason: outcome.Remedy}, nil
		}
		if outcome.OK {
			continue
		}
		switch {
		case before < 0 || len(checks.Newly(outcome, red[before])) > 0:
			return trial{Proven: true, Reason: outcome.Mark()}, nil
		case len(outcome.Failing) == 0:
			return trial{Reason: outcome.Name + " fails without it, too, and does not say which test fails"}, nil
		}
	}
	return trial{Fell: true}, nil
}
