package flow

import (
	"context"

	"github.com/troupe-dev/troupe"
)

// A SequenceConfig arranges steps one after the other.
type SequenceConfig struct {
	Name  string
	Steps []troupe.Step
	// ContinueOnError says that the sequence goes on when a step fails: the failure is
	// reported to the next step, and the outcome is partial. By default the sequence fails with the step.
	ContinueOnError bool
	// Edit may change what each step hands to the next.
	Edit Edit
}

// Sequence runs steps one after the other, each with what the one before hands
// over. It panics where [NewSequence] fails.
func Sequence(name string, steps ...troupe.Step) troupe.Step {
	return must(NewSequence(SequenceConfig{Name: name, Steps: steps}))
}

// NewSequence returns a step that runs steps one after the other. Each gets the
// task, the answer of the one before as summary, and earlier answers as outputs
// under their agents' names. If a step asks the user, the sequence ends with the
// question, and the answer goes to that step.
func NewSequence(c SequenceConfig) (troupe.Step, error) {
	if err := check("sequence", c.Name, c.Steps); err != nil {
		return nil, err
	}
	return &sequence{c, define("sequence", c.Name, map[string]any{"continue_on_error": c.ContinueOnError}, c.Steps...)}, nil
}

type sequence struct {
	SequenceConfig
	definition *troupe.Definition
}

func (s *sequence) Name() string                   { return s.SequenceConfig.Name }
func (s *sequence) Definition() *troupe.Definition { return s.definition }

func (s *sequence) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	h, failures, isPartial := in, 0, false
	for i, step := range s.Steps {
		if i > 0 {
			if limit := run.Limit(); limit != "" {
				return cutShort(h, limit), nil
			}
			var err error
			if h, err = handOver(ctx, run, s.Steps[i-1].Name(), step.Name(), h, s.Edit); err != nil {
				return troupe.Handoff{}, err
			}
		}
		h = run.Given(h)
		out, err := run.Do(ctx, step, h)
		switch {
		case err != nil && (!s.ContinueOnError || mustStop(ctx, err) || failures == len(s.Steps)-1):
			return troupe.Handoff{}, err
		case err != nil:
			failures++
			h = failure(h, run, step, err)
		case out.Meta.Stop == "input_requested":
			return out, nil
		default:
			isPartial = isPartial || out.Meta.Status == "partial"
			h = Then(h, out)
		}
	}
	if failures > 0 || isPartial && h.Meta.Status != "failed" { // whatever was made of it since
		h.Meta.Status = "partial"
	}
	return h, nil
}
