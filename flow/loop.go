package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// A LoopConfig repeats a step until its outcome is accepted.
type LoopConfig struct {
	Name string
	Body troupe.Step
	// Until accepts an outcome or not. Like a [troupe.Step], it decides the same for the
	// same outcome whenever it is asked.
	Until func(troupe.Handoff) (bool, error)
	// Check is an agent that judges in place of Until: it accepts an outcome, or says
	// what must be better, which the next round gets as the output "feedback".
	Check *troupe.Agent
	// MaxRounds is how often the body runs: 5 times at most, by default. A negative
	// number is refused. An outcome that is still not accepted then is partial.
	MaxRounds int
}

// Loop repeats a step until its outcome is accepted, at most 5 times. It panics where
// [NewLoop] fails.
func Loop(name string, body troupe.Step, until func(troupe.Handoff) (bool, error)) troupe.Step {
	return must(NewLoop(LoopConfig{Name: name, Body: body, Until: until}))
}

const defaultRounds = 5

// NewLoop returns a step that repeats another. Each round gets the task and what
// the round before came to.
func NewLoop(c LoopConfig) (troupe.Step, error) {
	steps := []troupe.Step{c.Body}
	if err := check("loop", c.Name, steps); err != nil {
		return nil, err
	}
	if (c.Until == nil) == (c.Check == nil) {
		return nil, fmt.Errorf("loop %s: it needs either Until or Check", c.Name)
	}
	if c.MaxRounds < 0 {
		return nil, fmt.Errorf("loop %s: MaxRounds %d is negative", c.Name, c.MaxRounds)
	}
	if c.MaxRounds == 0 {
		c.MaxRounds = defaultRounds
	}
	l := &loop{LoopConfig: c}
	if c.Check != nil {
		steps = append(steps, c.Check)
		judge, err := c.Check.With(verdictTools()...)
		if err != nil {
			return nil, fmt.Errorf("loop %s: %w", c.Name, err)
		}
		l.judge = judge
	}
	l.definition = define("loop", c.Name, map[string]any{"max_rounds": c.MaxRounds}, steps...)
	return l, nil
}

type loop struct {
	LoopConfig
	definition *troupe.Definition
	judge      *troupe.Agent // the checking agent with its tools
}

func (l *loop) Name() string                   { return l.LoopConfig.Name }
func (l *loop) Definition() *troupe.Definition { return l.definition }

func (l *loop) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	h := in
	for round := 1; ; round++ {
		out, err := run.Do(ctx, l.Body, h)
		if err != nil || out.Meta.Stop == "input_requested" {
			return out, err
		}
		if out.Task == "" {
			out.Task = in.Task
		}
		if out.Parts == nil {
			out.Parts = in.Parts
		}
		if limit := run.Limit(); limit != "" && l.Until == nil {
			return cutShort(out, limit), nil
		}
		v, err := l.check(ctx, run, out)
		switch {
		case err != nil:
			return troupe.Handoff{}, err
		case v.question != nil:
			return *v.question, nil
		case v.accepted:
			return out, nil
		}
		if round >= l.MaxRounds {
			out.Meta.Status = "partial"
			return out, run.Warn(ctx, "loop_limit", fmt.Sprintf("the outcome still would not do after %d rounds", round))
		}
		if limit := run.Limit(); limit != "" {
			return cutShort(out, limit), nil
		}
		if h, err = handOver(ctx, run, l.Body.Name(), l.Body.Name(), again(out, v.feedback), nil); err != nil {
			return troupe.Handoff{}, err
		}
	}
}

// again is what the next round gets.
func again(out troupe.Handoff, feedback string) troupe.Handoff {
	h := troupe.Handoff{Task: out.Task, Summary: out.Summary, Custom: out.Custom, Parts: out.Parts, Meta: out.Meta}
	if feedback != "" {
		h.Outputs = map[string]any{"feedback": feedback}
	}
	return h
}

// A verdict is what a check comes to.
type verdict struct {
	accepted bool
	feedback string
	question *troupe.Handoff // the checking agent asks the user
}

func (l *loop) check(ctx context.Context, run *troupe.Run, out troupe.Handoff) (verdict, error) {
	if l.Until != nil {
		done, err := l.Until(out)
		if err != nil {
			return verdict{}, fmt.Errorf("loop %s: until: %w", l.Name(), err)
		}
		return verdict{accepted: done}, nil
	}
	said, err := run.Do(ctx, l.judge, troupe.Handoff{
		Task:    "Check this outcome of the task below. Call accept if it will do, or revise to say what must be done better.\n\nThe task:\n" + out.Task,
		Summary: out.Summary, Parts: out.Parts, Meta: out.Meta,
	})
	switch decision := said.Meta.Decision; {
	case err != nil:
		return verdict{}, err
	case said.Meta.Stop == "input_requested":
		return verdict{question: &said}, nil
	case decision != nil && decision.Name == decisionAccept:
		return verdict{accepted: true}, nil
	}
	return verdict{feedback: said.Summary}, nil
}

const decisionAccept, decisionRevise = "accept", "revise"

func verdictTools() []troupe.Tool {
	return []troupe.Tool{
		troupe.NewTool("accept", "Accepts the outcome as it is.", func(context.Context, struct{}) (string, error) {
			return "", &troupe.Decision{Name: decisionAccept}
		}, troupe.RepeatSafe()),
		troupe.NewTool("revise", "Sends the outcome back.", func(_ context.Context, in struct {
			Feedback string `json:"feedback" jsonschema:"what must be done better, and how"`
		}) (string, error) {
			if in.Feedback == "" {
				return "", errors.New("say what must be done better")
			}
			return "", &troupe.Decision{Name: decisionRevise, Text: in.Feedback}
		}, troupe.RepeatSafe()),
	}
}
