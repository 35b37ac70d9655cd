package troupe

import "context"

// A SequenceConfig arranges steps one after the other.
type SequenceConfig struct {
	Name  string
	Steps []Step
	// GoOn says that the sequence goes on when a step fails: the next one is told,
	// and the outcome is partial. By default the sequence fails with the step.
	GoOn bool
	// Edit may change what each step hands to the next.
	Edit Edit
}

// Sequence runs steps one after the other, each with what the one before hands
// over. It panics where [NewSequence] fails.
func Sequence(name string, steps ...Step) Step {
	return must(NewSequence(SequenceConfig{Name: name, Steps: steps}))
}

// NewSequence returns a step that runs steps one after the other. Each gets the
// task, the answer of the one before as summary, and earlier answers as outputs
// under their agents' names. If a step asks the user, the sequence ends with the
// question, and the answer goes to that step.
func NewSequence(c SequenceConfig) (Step, error) {
	if err := checkFlow("sequence", c.Name, c.Steps); err != nil {
		return nil, err
	}
	return &sequence{c}, nil
}

type sequence struct{ SequenceConfig }

func (s *sequence) Name() string { return s.SequenceConfig.Name }

func (s *sequence) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	h, failures := in, 0
	for i, step := range s.Steps {
		if i > 0 {
			var err error
			if h, err = run.handOver(ctx, s.Steps[i-1].Name(), step.Name(), h, s.Edit); err != nil {
				return Handoff{}, err
			}
		}
		out, err := run.Do(ctx, step, h)
		switch {
		case err != nil && (!s.GoOn || mustStop(ctx, err) || failures == len(s.Steps)-1):
			return Handoff{}, err
		case err != nil:
			failures++
			h = h.failure(run, step, err)
		case out.Meta.Stop == StopInput:
			return out, nil
		default:
			h = h.then(out)
		}
	}
	if failures > 0 {
		h.Meta.Status = StatusPartial
	}
	return h, nil
}
