package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/checks"
)

// implement carries out what of the plan is left, and verifies what was committed.
func (c *course) implement(ctx context.Context) error {
	r, err := c.phase(ctx, phaseImplementation, map[string]any{"baseline": c.baseline})
	if err != nil {
		return err
	}
	if failed := r.failedStep(); failed != nil {
		c.stopped = fmt.Sprintf("%s failed: %s", stepName(failed.ID, failed.Title), failed.Reason)
	} else if r.Stopped {
		c.stopped = stoppedByPerson
	}
	return c.verify(ctx)
}

func (r *Result) failedStep() *StepRecord {
	for i := range r.Steps {
		if r.Steps[i].State == StepFailed {
			return &r.Steps[i]
		}
	}
	return nil
}

// verify runs all checks on a clean checkout: what is committed is what was checked.
func (c *course) verify(ctx context.Context) error {
	c.verified = nil
	steps := c.result(phaseImplementation)
	if c.now.Head == c.site.Base && (steps == nil || !slices.ContainsFunc(steps.Steps, func(s StepRecord) bool { return s.Commit != "" })) {
		return nil
	}
	if err := c.findChecks(ctx, c.run, &c.site, c.now); err != nil {
		return err
	}
	for i := range c.site.Checks {
		for {
			r, err := c.checkClean(ctx, c.run, c.now, i, "verify")
			if err != nil {
				return err
			}
			if r.Cause != checks.CauseEnvironment {
				c.verified = append(c.verified, r.Outcome)
				break
			}
			if err := c.askOrStop(ctx, cannotRun(&r.Outcome, "on a clean checkout")); err != nil || c.stopped != "" {
				return err
			}
		}
	}
	return nil
}

// reviewed has the change reviewed and puts right what is found, as often as allowed.
func (c *course) reviewed(ctx context.Context) error {
	for round := 1; ; round++ {
		before := c.review
		steps, err := c.findFixes(ctx, round)
		if err != nil || c.stopped != "" || len(steps) == 0 {
			return err
		}
		if again := c.review.comesBack(before); again != "" {
			c.stopped = fmt.Sprintf("the finding %s came back after its fix", again)
			return nil
		}
		if round >= c.Repository.QARounds {
			c.stopped = fmt.Sprintf("%s to be put right after %s", counted(len(steps), "finding is", "findings are")+" still", counted(round, "review", "reviews"))
			return nil
		}
		if _, err := call[Plan](ctx, c.run, c.tools.writePlan, planUpdate{Add: steps}); err != nil {
			return err
		}
		if err := c.implement(ctx); err != nil || c.stopped != "" {
			return err
		}
	}
}

// reviewThatIsThere is the review of a delivery that goes on, where it is of the change as it
// is: whoever stopped at it is shown it again, and nothing is paid twice.
func (c *course) reviewThatIsThere() (Result, bool) {
	for _, r := range c.earlier {
		if r.Phase == phaseQA && r.reviews(c.now.Head) {
			return r, c.extras.Continue
		}
	}
	return Result{}, false
}

// reviews says of a result that it is a review of a commit.
func (r *Result) reviews(head string) bool {
	return r.Review != nil && r.Site != nil && r.Site.Head == head
}

// findFixes has the change reviewed and returns the steps that put right what was found.
// Whoever is asked about everything is shown the findings before that, and may have it
// reviewed once more.
func (c *course) findFixes(ctx context.Context, round int) ([]PlanStep, error) {
	before := c.review
	more := map[string]any{"baseline": c.baseline, "verified": c.verified, "round": round}
	for asked := 0; ; asked++ {
		r, isThere := c.reviewThatIsThere()
		if asked > 0 || round > 1 || !isThere {
			var err error
			if r, err = c.phase(ctx, phaseQA, more); err != nil {
				return nil, err
			}
		}
		if c.review = r.Review; c.review == nil {
			c.stopped = "the review came to nothing: " + strings.Join(r.Errors, "; ")
			return nil, nil
		}
		plan, err := call[Plan](ctx, c.run, c.tools.readPlan, struct{}{})
		if err != nil {
			return nil, err
		}
		steps := c.review.fixes(plan.countFixes())
		isAsked := c.Approve == ApproveManual && len(steps) > 0 && round < c.Repository.QARounds && c.review.comesBack(before) == ""
		if !isAsked {
			return steps, nil
		}
		verdict, err := call[gateResult](ctx, c.run, c.gate, gateRequest{
			Phase: phaseQA, Kind: gateReview, Next: phaseImplementation, Status: string(r.Status), Ready: true, Rounds: maxRounds - asked,
			Warnings: toldOf(r.Warnings), Question: c.review.question(len(steps), maxRounds-asked, toldOf(r.Warnings)),
		})
		switch {
		case err != nil || verdict.Decision == decisionGoOn:
			return steps, err
		case verdict.Decision == decisionStop:
			c.stopped = stoppedByPerson
			return nil, nil
		}
		more["guidance"] = verdict.Guidance
	}
}
