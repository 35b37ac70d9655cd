package checks

import (
	"context"
	"slices"
)

// A Retry says how often a check that fails is run again, unchanged. Tests that fail only
// now and then say nothing about a change.
type Retry struct {
	Times int
	// Before is what the check said of the base, nil where it said nothing: what failed
	// there is not tried again.
	Before *Outcome
	// Restore puts the files back between two runs. Nil means that there is nothing to do.
	Restore func() error
}

// RunWithRetry runs a check, and again while it fails. Tests that fail in one run and pass
// in another are named as flaky; where nothing else fails, the check has passed.
func (c *Check) RunWithRetry(ctx context.Context, room Room, retry Retry) (Outcome, error) {
	last, err := c.Run(ctx, room)
	for n := 0; n < retry.Times && err == nil && last.mayBeFlaky(retry.Before); n++ {
		if retry.Restore != nil {
			if err := retry.Restore(); err != nil {
				return last, err
			}
		}
		var next Outcome
		if next, err = c.Run(ctx, room); err == nil {
			last = last.and(next)
		}
	}
	return last, err
}

// mayBeFlaky tells tests that fail, and were not known to, from what fails every time: what
// compilers complain about is so.
func (o *Outcome) mayBeFlaky(before *Outcome) bool {
	if o.OK || o.Cause != CauseChange || len(o.Failing) == 0 && len(o.Diagnostics) > 0 {
		return false
	}
	return before == nil || len(Newly(*o, *before)) > 0
}

// and is what two runs of the same check say together.
func (o Outcome) and(next Outcome) Outcome {
	took := o.Took + next.Took
	if next.Cause == CauseEnvironment { // which says nothing about the first
		o.Took = took
		return o
	}
	both := slices.DeleteFunc(slices.Clone(o.Failing), func(name string) bool { return !slices.Contains(next.Failing, name) })
	flaky := o.Flaky
	for _, name := range append(slices.Clone(o.Failing), next.Failing...) {
		if !slices.Contains(both, name) {
			flaky = append(flaky, name)
		}
	}
	output := o.Output + "\n--- It failed, and was run again, unchanged: ---\n\n" + next.Output
	switch {
	case next.OK && len(o.Failing) == 0:
		flaky = append(flaky, o.Name)
	case !next.OK && len(both) == 0: // it fails every time, if not always in the same place
		both, flaky = append(slices.Clone(o.Failing), next.Failing...), o.Flaky
	}
	if !next.OK {
		next.Failing = compact(both)
	}
	next.Flaky, next.Took, next.Output = compact(flaky), took, output
	return next
}

func compact(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}
