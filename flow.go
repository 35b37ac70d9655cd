package troupe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// An Edit may change what one step hands to the next. Like a [Step] it does the
// same to the same handoff whenever it is asked, and touches nothing else.
type Edit func(from, to string, h Handoff) (Handoff, error)

// NewStep makes a step of a function, which keeps to what [Step] says.
func NewStep(name string, do func(context.Context, *Run, Handoff) (Handoff, error)) Step {
	return &stepFunc{name, do}
}

type stepFunc struct {
	name string
	do   func(context.Context, *Run, Handoff) (Handoff, error)
}

func (s *stepFunc) Name() string { return s.name }
func (s *stepFunc) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	return s.do(ctx, run, in)
}

// handOver records that control passes from one step to another, and returns what
// the other gets.
func (r *Run) handOver(ctx context.Context, from, to string, h Handoff, edit Edit) (Handoff, error) {
	if edit != nil {
		var err error
		if h, err = edit(from, to, h); err != nil {
			return Handoff{}, fmt.Errorf("edit what %s hands to %s: %w", from, to, err)
		}
	}
	return h, r.Emit(ctx, &HandedOff{From: from, To: to, Handoff: h})
}

// then returns what comes of a handoff once a step has done its part: the step's
// answer is the summary, and the answer before it goes to the outputs.
func (h Handoff) then(out Handoff) Handoff {
	outputs := maps.Clone(h.Outputs)
	if outputs == nil {
		outputs = map[string]any{}
	}
	if h.Summary != "" && h.Meta.Source != "" {
		outputs[h.Meta.Source] = h.Summary
	}
	maps.Copy(outputs, out.Outputs)
	if len(outputs) > 0 {
		out.Outputs = outputs
	}
	out.Task = orElse(out.Task, h.Task)
	if out.Custom == nil {
		out.Custom = h.Custom
	}
	return out
}

// failure is what a flow that goes on without a step hands on in its place.
func (h Handoff) failure(run *Run, step Step, err error) Handoff {
	return h.then(Handoff{
		Summary: fmt.Sprintf("%s could not do its part: %s", step.Name(), clip(err.Error(), maxErrorText)),
		Meta:    HandoffMeta{Source: step.Name(), Time: run.Now(), Status: StatusFailed},
	})
}

// mustStop reports an error that no flow may go on after: the run was told to
// stop, or its log and its definition do not fit.
func mustStop(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrChanged)
}

// checkFlow refuses what cannot be a flow of steps.
func checkFlow(kind, name string, steps []Step) error {
	if name == "" {
		return fmt.Errorf("%s: it needs a name", kind)
	}
	if len(steps) == 0 {
		return fmt.Errorf("%s %s: it has no steps", kind, name)
	}
	for i, step := range steps {
		switch {
		case step == nil:
			return fmt.Errorf("%s %s: step %d is nil", kind, name, i+1)
		case step.Name() == "":
			return fmt.Errorf("%s %s: step %d has no name", kind, name, i+1)
		case step.Name() == name:
			return fmt.Errorf("%s %s: a step has the flow's own name", kind, name)
		}
	}
	return nil
}

// checkDistinct refuses steps that could not be told apart by their names.
func checkDistinct(kind, name string, steps []Step) error {
	var names []string
	for _, step := range steps {
		if slices.Contains(names, step.Name()) {
			return fmt.Errorf("%s %s: two steps have the name %s", kind, name, step.Name())
		}
		names = append(names, step.Name())
	}
	return nil
}

// must is for flows whose parts are written in the program.
func must(step Step, err error) Step {
	if err != nil {
		panic("troupe: " + err.Error())
	}
	return step
}
