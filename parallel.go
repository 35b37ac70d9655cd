package troupe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A ParallelConfig arranges steps side by side.
type ParallelConfig struct {
	Name string
	// Steps have different names.
	Steps []Step
	// Enough is how many successes are enough: once there are so many, the steps
	// still at work are cancelled; if there cannot be, the flow fails. 1 makes the
	// first success the outcome, more make a quorum. By default all steps are waited
	// for, and the flow fails only if all of them do.
	Enough int
	// AtOnce is how many steps run at the same time: all, by default.
	AtOnce int
	// Edit may give each step an input of its own.
	Edit Edit
}

// Parallel runs steps at the same time on the same input. It panics where
// [NewParallel] fails.
func Parallel(name string, steps ...Step) Step {
	return must(NewParallel(ParallelConfig{Name: name, Steps: steps}))
}

// NewParallel returns a step that runs steps at the same time. A step that fails
// does not touch the others. Each result is an event when it comes; the outcome has
// them all, as outputs under the steps' names and as a summary in the order of the
// steps. With Enough 1, it is the outcome of the first in that order that succeeded.
func NewParallel(c ParallelConfig) (Step, error) {
	if err := checkFlow("parallel", c.Name, c.Steps); err != nil {
		return nil, err
	}
	if err := checkDistinct("parallel", c.Name, c.Steps); err != nil {
		return nil, err
	}
	if c.Enough < 0 || c.Enough > len(c.Steps) {
		return nil, fmt.Errorf("parallel %s: %d successes of %d steps cannot be enough", c.Name, c.Enough, len(c.Steps))
	}
	if c.AtOnce < 0 {
		return nil, fmt.Errorf("parallel %s: AtOnce %d is negative", c.Name, c.AtOnce)
	}
	return &parallel{c}, nil
}

type parallel struct{ ParallelConfig }

func (p *parallel) Name() string { return p.ParallelConfig.Name }

// errEnough is why a step was cancelled, or not begun.
var errEnough = errors.New("enough other steps have succeeded")

func (p *parallel) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	inputs := make([]Handoff, len(p.Steps))
	for i, step := range p.Steps {
		inputs[i] = in
		if p.Edit != nil {
			var err error
			if inputs[i], err = p.Edit(p.Name(), step.Name(), in); err != nil {
				return Handoff{}, fmt.Errorf("edit what %s hands to %s: %w", p.Name(), step.Name(), err)
			}
		}
	}
	outs, errs := p.runAll(ctx, run, inputs)
	for _, err := range errs {
		if err != nil && mustStop(ctx, err) {
			return Handoff{}, err
		}
	}
	return p.gather(in, outs, errs)
}

// runAll runs the steps until they are done or enough of them have succeeded.
func (p *parallel) runAll(ctx context.Context, run *Run, inputs []Handoff) ([]Handoff, []error) {
	enough := orElse(p.Enough, len(p.Steps)+1)
	outs := make([]Handoff, len(p.Steps))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	finished := run.finishedBranches(len(p.Steps))
	decided := count(finished) >= enough // before the run was interrupted
	successes := 0
	branches := make([]func(context.Context, *Run) error, len(p.Steps))
	for i, step := range p.Steps {
		branches[i] = func(ctx context.Context, run *Run) (err error) {
			if decided && !finished[i] {
				return errEnough
			}
			outs[i], err = run.Do(ctx, step, inputs[i])
			mu.Lock()
			defer mu.Unlock()
			if err == nil && outs[i].Meta.Status == StatusSuccess {
				successes++
			}
			if successes >= enough && !decided {
				cancel(errEnough)
			}
			return err
		}
	}
	return outs, run.all(ctx, orElse(p.AtOnce, len(branches)), branches)
}

// finishedBranches says which branches of the next All have, on record, run a step
// to its success.
func (r *Run) finishedBranches(n int) []bool {
	finished := make([]bool, n)
	for i := range finished {
		at := fmt.Sprintf("%s/%d/1", r.place(r.count+1), i)
		if end := r.exec.journal.childEnd(r.id, r.id+":"+at, at); end != nil {
			b, ok := end.Body.(*RunFinished)
			finished[i] = ok && b.Output.Meta.Status == StatusSuccess
		}
	}
	return finished
}

func count(claims []bool) int {
	n := 0
	for _, claim := range claims {
		if claim {
			n++
		}
	}
	return n
}

// gather makes one outcome of those of all steps.
func (p *parallel) gather(in Handoff, outs []Handoff, errs []error) (Handoff, error) {
	all := Handoff{Task: in.Task, Custom: in.Custom, Outputs: map[string]any{}, Meta: HandoffMeta{Status: StatusSuccess}}
	var b strings.Builder
	successes, asking := 0, -1
	for i, step := range p.Steps {
		switch out := &outs[i]; {
		case errors.Is(errs[i], errEnough):
			continue
		case errs[i] != nil:
			all.Meta.Status = StatusPartial
			fmt.Fprintf(&b, "## %s\n\n(failed: %s)\n\n", step.Name(), clip(errs[i].Error(), maxErrorText))
			continue
		case out.Meta.Stop == StopInput && asking < 0:
			asking = i
		case out.Meta.Status == StatusSuccess:
			if successes++; p.Enough == 1 {
				return in.then(*out), nil
			}
		default:
			all.Meta.Status = StatusPartial
		}
		all.Outputs[step.Name()] = outs[i].Summary
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", step.Name(), outs[i].Summary)
	}
	switch {
	case successes >= p.Enough && p.Enough > 0:
		all.Meta.Status = StatusSuccess
	case asking >= 0:
		return outs[asking], nil
	case p.Enough > 0 || len(all.Outputs) == 0:
		return Handoff{}, fmt.Errorf("parallel %s: %d of %d steps succeeded, %d are needed: %w",
			p.Name(), successes, len(p.Steps), max(p.Enough, 1), errors.Join(errs...))
	}
	all.Summary = strings.TrimSpace(b.String())
	return all, nil
}
