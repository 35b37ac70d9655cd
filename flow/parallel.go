package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
)

// A ParallelConfig arranges steps side by side.
type ParallelConfig struct {
	Name string
	// Steps have different names.
	Steps []troupe.Step
	// Quorum is how many successes are enough: once there are so many, the steps
	// still at work are cancelled; if there cannot be, the flow fails. 1 makes the
	// first success the outcome. By default all steps are waited for, and the flow
	// fails only if all of them do.
	Quorum int
	// MaxParallel is how many steps run at the same time: all, by default. A negative
	// number is refused.
	MaxParallel int
	// Edit may give each step an input of its own.
	Edit Edit
}

// Parallel runs steps at the same time on the same input. It panics where
// [NewParallel] fails.
func Parallel(name string, steps ...troupe.Step) troupe.Step {
	return must(NewParallel(ParallelConfig{Name: name, Steps: steps}))
}

// NewParallel returns a step that runs steps at the same time. A step that fails
// does not touch the others. Each result is an event when it comes; the outcome has
// them all, as outputs under the steps' names and as a summary in the order of the
// steps. With Quorum 1, it is the outcome of the first in that order that succeeded.
func NewParallel(c ParallelConfig) (troupe.Step, error) {
	if err := check("parallel", c.Name, c.Steps); err != nil {
		return nil, err
	}
	if err := checkDistinct("parallel", c.Name, c.Steps); err != nil {
		return nil, err
	}
	if c.Quorum < 0 || c.Quorum > len(c.Steps) {
		return nil, fmt.Errorf("parallel %s: a quorum of %d successes is not possible with %d steps", c.Name, c.Quorum, len(c.Steps))
	}
	if c.MaxParallel < 0 {
		return nil, fmt.Errorf("parallel %s: MaxParallel %d is negative", c.Name, c.MaxParallel)
	}
	settings := map[string]any{"quorum": c.Quorum, "max_parallel": c.MaxParallel}
	return &parallel{c, define("parallel", c.Name, settings, c.Steps...)}, nil
}

type parallel struct {
	ParallelConfig
	definition *troupe.Definition
}

func (p *parallel) Name() string                   { return p.ParallelConfig.Name }
func (p *parallel) Definition() *troupe.Definition { return p.definition }

func (p *parallel) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	inputs := make([]troupe.Handoff, len(p.Steps))
	for i, step := range p.Steps {
		inputs[i] = in
		if p.Edit != nil {
			var err error
			if inputs[i], err = p.Edit(p.Name(), step.Name(), in.Clone()); err != nil {
				return troupe.Handoff{}, fmt.Errorf("edit what %s hands to %s: %w", p.Name(), step.Name(), err)
			}
		}
	}
	outs, errs := p.runAll(ctx, run, inputs)
	for _, err := range errs {
		if err != nil && mustStop(ctx, err) {
			return troupe.Handoff{}, err
		}
	}
	return p.gather(in, outs, errs)
}

// runAll runs the steps until they are done, there is a quorum of successes, or a limit of
// the run leaves no room for those that have not begun.
func (p *parallel) runAll(ctx context.Context, run *troupe.Run, inputs []troupe.Handoff) ([]troupe.Handoff, []error) {
	outs := make([]troupe.Handoff, len(p.Steps))
	var mu sync.Mutex
	successes := 0
	branches := make([]func(context.Context, *troupe.Run) error, len(p.Steps))
	for i, step := range p.Steps {
		branches[i] = func(ctx context.Context, run *troupe.Run) (err error) {
			if limit := run.Limit(); limit != "" {
				outs[i] = cutShort(troupe.Handoff{Summary: "(not begun: the run's limit on " + strings.ReplaceAll(limit, "_", " ") + " is reached)"}, limit)
				return nil
			}
			if outs[i], err = run.Do(ctx, step, inputs[i]); err != nil || outs[i].Meta.Status != "success" {
				return err
			}
			mu.Lock()
			successes++
			isQuorum := successes == p.Quorum
			mu.Unlock()
			if isQuorum {
				return run.StopOthers(ctx)
			}
			return nil
		}
	}
	return outs, run.All(ctx, p.MaxParallel, branches...)
}

// gather makes one outcome of those of all steps.
func (p *parallel) gather(in troupe.Handoff, outs []troupe.Handoff, errs []error) (troupe.Handoff, error) {
	all := troupe.Handoff{Task: in.Task, Custom: in.Custom, Parts: in.Parts, Outputs: map[string]any{}, Meta: troupe.HandoffMeta{Status: "success"}}
	var b strings.Builder
	successes, asking := 0, -1
	for i, step := range p.Steps {
		switch out := &outs[i]; {
		case errors.Is(errs[i], troupe.ErrCancelled):
			continue
		case errs[i] != nil:
			all.Meta.Status = "partial"
			fmt.Fprintf(&b, "## %s\n\n(failed: %s)\n\n", step.Name(), why(errs[i]))
			continue
		case out.Meta.Stop == "input_requested" && asking < 0:
			asking = i
		case out.Meta.Status == "success":
			if successes++; p.Quorum == 1 {
				return Then(in, *out), nil
			}
		default:
			all.Meta.Status, all.Meta.Stop = "partial", cmp.Or(all.Meta.Stop, out.Meta.Stop)
		}
		if outs[i].Meta.Source != "" { // else it was not begun
			all.Outputs[step.Name()] = outs[i].Answer()
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", step.Name(), outs[i].Summary)
	}
	switch {
	case successes >= p.Quorum && p.Quorum > 0:
		all.Meta.Status, all.Meta.Stop = "success", ""
	case asking >= 0:
		return outs[asking], nil
	case p.Quorum > 0 || len(all.Outputs) == 0:
		return troupe.Handoff{}, fmt.Errorf("parallel %s: %d of %d steps succeeded, %d are needed: %w",
			p.Name(), successes, len(p.Steps), max(p.Quorum, 1), errors.Join(errs...))
	}
	all.Summary = strings.TrimSpace(b.String())
	return all, nil
}
