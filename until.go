package troupe

import (
	"context"
	"errors"
	"fmt"
)

// A LoopConfig repeats a step until its outcome will do.
type LoopConfig struct {
	Name string
	Body Step
	// Until says whether an outcome will do. Like a [Step], it says the same of the
	// same outcome whenever it is asked.
	Until func(Handoff) (bool, error)
	// Check is an agent that says so instead: it accepts an outcome, or says what is
	// to be done better, which the next round gets as the output "feedback".
	Check *Agent
	// Times is how often the body runs: 5 times at most, by default. An outcome that
	// still will not do is partial.
	Times int
}

// Loop repeats a step until its outcome will do, at most 5 times. It panics where
// [NewLoop] fails.
func Loop(name string, body Step, until func(Handoff) (bool, error)) Step {
	return must(NewLoop(LoopConfig{Name: name, Body: body, Until: until}))
}

// defaultTimes is how often a loop goes round where nobody says.
const defaultTimes = 5

// NewLoop returns a step that repeats another. Each round gets the task and what
// the round before came to.
func NewLoop(c LoopConfig) (Step, error) {
	if err := checkFlow("loop", c.Name, []Step{c.Body}); err != nil {
		return nil, err
	}
	if (c.Until == nil) == (c.Check == nil) {
		return nil, fmt.Errorf("loop %s: it needs either Until or Check", c.Name)
	}
	c.Times = orElse(c.Times, defaultTimes)
	l := &loop{LoopConfig: c}
	if c.Check != nil {
		judge, err := c.Check.With(verdictTools()...)
		if err != nil {
			return nil, fmt.Errorf("loop %s: %w", c.Name, err)
		}
		l.judge = judge
	}
	return l, nil
}

type loop struct {
	LoopConfig
	judge *Agent // the checking agent with its tools
}

func (l *loop) Name() string { return l.LoopConfig.Name }

func (l *loop) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	h := in
	for round := 1; ; round++ {
		out, err := run.Do(ctx, l.Body, h)
		if err != nil || out.Meta.Stop == StopInput {
			return out, err
		}
		out.Task = orElse(out.Task, in.Task)
		verdict, err := l.check(ctx, run, out)
		switch {
		case err != nil:
			return Handoff{}, err
		case verdict.Meta.Stop == StopInput:
			return verdict, nil
		case verdict.Meta.Target == accepted:
			return out, nil
		}
		if round >= l.Times {
			out.Meta.Status = StatusPartial
			message := fmt.Sprintf("the outcome still would not do after %d rounds", round)
			return out, run.Emit(ctx, &Warned{Code: "loop_limit", Message: message})
		}
		if h, err = run.handOver(ctx, l.Body.Name(), l.Body.Name(), again(out, verdict.Summary), nil); err != nil {
			return Handoff{}, err
		}
	}
}

// again is what the next round gets.
func again(out Handoff, feedback string) Handoff {
	h := Handoff{Task: out.Task, Summary: out.Summary, Custom: out.Custom, Meta: out.Meta}
	if feedback != "" {
		h.Outputs = map[string]any{"feedback": feedback}
	}
	return h
}

// check returns a verdict: one whose target is accepted, or what is to be done better.
func (l *loop) check(ctx context.Context, run *Run, out Handoff) (Handoff, error) {
	if l.Until != nil {
		done, err := l.Until(out)
		if err != nil {
			return Handoff{}, fmt.Errorf("loop %s: until: %w", l.Name(), err)
		}
		if done {
			return Handoff{Meta: HandoffMeta{Target: accepted}}, nil
		}
		return Handoff{}, nil
	}
	question := Handoff{
		Task:    "Check this outcome of the task below. Call accept if it will do, or revise to say what must be done better.\n\nThe task:\n" + out.Task,
		Summary: out.Summary, Meta: out.Meta,
	}
	return run.Do(ctx, l.judge, question)
}

// accepted and revised are to whom a verdict passes control.
const accepted, revised = "(accepted)", "(revised)"

func verdictTools() []Tool {
	return []Tool{
		NewTool("accept", "Accepts the outcome as it is.", func(context.Context, struct{}) (string, error) {
			return "", &turnOver{to: accepted}
		}, RepeatSafe()),
		NewTool("revise", "Sends the outcome back.", func(_ context.Context, in struct {
			Feedback string `json:"feedback" jsonschema:"what must be done better, and how"`
		}) (string, error) {
			if in.Feedback == "" {
				return "", errors.New("say what must be done better")
			}
			return "", &turnOver{to: revised, text: in.Feedback}
		}, RepeatSafe()),
	}
}
