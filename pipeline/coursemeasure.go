package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// thinkAndMeasure runs all checks on the base, so that it is known what was broken before,
// while the phases up to discovery think. They are asked about what is wanted, not about
// what there is. A check that cannot run is asked about after them: one question at a time.
func (c *course) thinkAndMeasure(ctx context.Context) error {
	if !c.has(phaseImplementation) || len(c.site.Checks) == 0 {
		return nil
	}
	var measured []checks.Outcome
	thinking := *c
	errs := c.run.All(ctx, 0,
		func(ctx context.Context, run *troupe.Run) error {
			for i := range c.site.Checks {
				r, err := c.checkBase(ctx, run, i)
				if err != nil {
					return err
				}
				measured = append(measured, r.Outcome)
			}
			return nil
		},
		func(ctx context.Context, run *troupe.Run) error {
			thinking.run = run
			return thinking.thinkUntil(ctx, phaseDiscovery)
		})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.done, c.thought, c.stopped = thinking.done, thinking.thought, thinking.stopped
	if c.stopped != "" {
		c.baseline = measured
		return nil
	}
	return c.measure(ctx, measured)
}

// measure completes the baseline: with checks that were not run yet, and with those that
// could not run until a person has put that right.
func (c *course) measure(ctx context.Context, measured []checks.Outcome) error {
	for i := range c.site.Checks {
		for first := true; ; first = false {
			var o checks.Outcome
			if first && i < len(measured) {
				o = measured[i]
			} else if r, err := c.checkBase(ctx, c.run, i); err != nil {
				return err
			} else {
				o = r.Outcome
			}
			if o.Cause != checks.CauseEnvironment {
				c.baseline = append(c.baseline, o)
				break
			}
			if err := c.askOrStop(ctx, cannotRun(&o, "before anything was changed")); err != nil || c.stopped != "" {
				return err
			}
		}
	}
	return nil
}

// checkBase runs the i-th check on a clean checkout of the base.
func (c *course) checkBase(ctx context.Context, run *troupe.Run, i int) (checkResult, error) {
	return c.checkClean(ctx, run, state{Head: c.site.Base, Tree: c.now.Tree}, i, labelBaseline)
}

// checkClean runs the i-th check on a clean checkout of a commit, after those before it.
func (c *course) checkClean(ctx context.Context, run *troupe.Run, at state, i int, label string) (checkResult, error) {
	request := checkRequest{state: at, Check: c.site.Checks[i].Name, At: run.Now(), Clean: true, Label: label, Retry: retriesOnClean, Before: slimBefore(c.baseline, c.site.Checks[i].Name)}
	if label == labelBaseline {
		request.Retry = retriesInStep
	}
	for _, before := range c.site.Checks[:i] {
		request.After = append(request.After, before.Name)
	}
	return call[checkResult](ctx, run, c.tools.check, request)
}

// labelBaseline is the label of checks of the base.
const labelBaseline = "baseline"

// cannotRun asks what to do about a check that says nothing about the change.
func cannotRun(o *checks.Outcome, when string) string {
	return fmt.Sprintf("The check %q (%s) could not run %s: %s\n\n%s\n\nPut that right and answer \"go on\" to run it again, or \"stop\".", o.Name, o.Command, when, o.Remedy, clipText(o.Excerpt, 1500))
}
