package troupe

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Limits bound a run and everything nested in it. A zero field means the default;
// a negative one means no limit. An agent may have limits of its own, which bound
// each run of it: see [AgentConfig].
type Limits struct {
	// Turns is how many times models are asked: 50 by default.
	Turns int `json:"turns,omitempty"`
	// ToolCalls, Tokens and Cost (in US dollars, where prices are known) have no
	// limit by default, nor has Time, which the last answer is a part of.
	ToolCalls int           `json:"tool_calls,omitempty"`
	Tokens    int           `json:"tokens,omitempty"`
	Cost      float64       `json:"cost,omitempty"`
	Time      time.Duration `json:"time,omitempty"`
	// Depth is how deep runs nest: 5 by default.
	Depth int `json:"depth,omitempty"`
	// ToolTimeout is for tools that say nothing of their own: 10 s by default.
	ToolTimeout time.Duration `json:"tool_timeout,omitempty"`
	// Attempts is how often in a row a tool may fail before the model is advised to
	// leave it alone: 3 by default.
	Attempts int `json:"attempts,omitempty"`
	// ModelTries is how often a model call is tried that fails for a passing
	// reason: 4 by default.
	ModelTries int `json:"model_tries,omitempty"`
}

// Defaults of [Limits], and what is not worth configuring.
const (
	defaultTurns       = 50
	defaultDepth       = 5
	defaultToolTimeout = 10 * time.Second
	defaultAttempts    = 3
	defaultModelTries  = 4

	// repeatsWarned and repeatsStopped count identical calls with identical
	// results among the latest repeatWindow calls of an agent.
	repeatsWarned  = 3
	repeatsStopped = 5
	repeatWindow   = 12

	// maxResult caps what one tool call may add to the context, in bytes.
	maxResult = 1 << 20
	// maxErrorText caps what an error may say to a model or a log.
	maxErrorText = 2 << 10

	// toolGrace is how long a cancelled run waits for a tool to notice.
	toolGrace = 2 * time.Second
	// maxAnswerTime is the most that a time limit sets aside for the last answer.
	maxAnswerTime = 30 * time.Second
)

// with returns l with every zero field taken from base.
func (l Limits) with(base Limits) Limits {
	return Limits{
		Turns:       orElse(l.Turns, base.Turns),
		ToolCalls:   orElse(l.ToolCalls, base.ToolCalls),
		Tokens:      orElse(l.Tokens, base.Tokens),
		Cost:        orElse(l.Cost, base.Cost),
		Time:        orElse(l.Time, base.Time),
		Depth:       orElse(l.Depth, base.Depth),
		ToolTimeout: orElse(l.ToolTimeout, base.ToolTimeout),
		Attempts:    orElse(l.Attempts, base.Attempts),
		ModelTries:  orElse(l.ModelTries, base.ModelTries),
	}
}

// tighter returns l with every field that bounds more in other.
func (l Limits) tighter(other *Limits) Limits {
	return Limits{
		Turns:     lower(l.Turns, other.Turns),
		ToolCalls: lower(l.ToolCalls, other.ToolCalls),
		Tokens:    lower(l.Tokens, other.Tokens),
		Cost:      lower(l.Cost, other.Cost),
		Time:      lower(l.Time, other.Time),
	}
}

// lower returns the lower of two limits, of which one that is not positive bounds
// nothing.
func lower[T int | float64 | time.Duration](a, b T) T {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

var defaultLimits = Limits{
	Turns: defaultTurns, Depth: defaultDepth, ToolTimeout: defaultToolTimeout,
	Attempts: defaultAttempts, ModelTries: defaultModelTries,
}

// answerTime is how much of a time limit is set aside for the last answer.
func answerTime(limit time.Duration) time.Duration { return min(limit/4, maxAnswerTime) }

// limit makes the agent's own limits those of the run, beside those around it.
func (r *Run) limit(ctx context.Context, a *Agent) (context.Context, context.CancelFunc) {
	if a.limits == nil {
		return ctx, func() {}
	}
	rules := a.limits.with(*r.rules)
	r.rules = &rules
	r.budget.limits = r.budget.limits.tighter(a.limits)
	if a.limits.Time <= 0 {
		return ctx, func() {}
	}
	return r.limitTime(ctx, a.limits.Time, a.id)
}

// Spent is what a run has used.
type Spent struct {
	Turns     int     `json:"turns"`
	ToolCalls int     `json:"tool_calls"`
	Usage     Usage   `json:"usage"`
	Cost      float64 `json:"cost,omitempty"`
	// Elapsed is how long the run was at work, what is nested in it included.
	Elapsed Millis `json:"elapsed_ms"`
}

// Add returns the sum of s and t. The time is that of s: what is nested in a run
// is at work while the run is.
func (s Spent) Add(t Spent) Spent {
	s.Turns += t.Turns
	s.ToolCalls += t.ToolCalls
	s.Usage = s.Usage.Add(t.Usage)
	s.Cost += t.Cost
	return s
}

// counts add up what is spent. Branches share them.
type counts struct {
	turns, toolCalls, input, cached, written, output, reasoning atomic.Int64
	nanoCost                                                    atomic.Int64 // billionths of a dollar, so that adding is atomic
}

func (c *counts) add(s *Spent) {
	add := func(counter *atomic.Int64, n int) {
		if n != 0 {
			counter.Add(int64(n))
		}
	}
	add(&c.turns, s.Turns)
	add(&c.toolCalls, s.ToolCalls)
	add(&c.input, s.Usage.Input)
	add(&c.cached, s.Usage.CachedInput)
	add(&c.written, s.Usage.CacheWrite)
	add(&c.output, s.Usage.Output)
	add(&c.reasoning, s.Usage.Reasoning)
	add(&c.nanoCost, int(s.Cost*1e9))
}

// take takes away what others have added.
func (c *counts) take(others *counts) {
	all := func(c *counts) [8]*atomic.Int64 {
		return [...]*atomic.Int64{&c.turns, &c.toolCalls, &c.input, &c.cached, &c.written, &c.output, &c.reasoning, &c.nanoCost}
	}
	taken := all(others)
	for i, counter := range all(c) {
		counter.Add(-taken[i].Load())
	}
}

func (c *counts) spent() Spent {
	return Spent{
		Turns:     int(c.turns.Load()),
		ToolCalls: int(c.toolCalls.Load()),
		Usage: Usage{
			Input: int(c.input.Load()), CachedInput: int(c.cached.Load()), CacheWrite: int(c.written.Load()),
			Output: int(c.output.Load()), Reasoning: int(c.reasoning.Load()),
		},
		Cost: float64(c.nanoCost.Load()) / 1e9,
	}
}

// A budget is what one run may spend and has spent. What a run spends counts
// against the budgets of all runs that it is nested in.
type budget struct {
	limits  Limits // zero fields do not bound
	outer   *budget
	started time.Time
	before  time.Duration // spent by earlier passes over the same log
	own     counts
	below   counts // what is nested in the run has spent
}

// add counts what the run itself has spent.
func (b *budget) add(s *Spent) {
	b.own.add(s)
	b.outer.addBelow(s)
}

// addBelow counts what something nested in the run has spent.
func (b *budget) addBelow(s *Spent) {
	for ; b != nil; b = b.outer {
		b.below.add(s)
	}
}

// takeBack has what a nested run has counted count no longer: it is run once more.
func (b *budget) takeBack(nested *budget) {
	for ; b != nil; b = b.outer {
		b.below.take(&nested.own)
		b.below.take(&nested.below)
	}
}

func (b *budget) elapsed() time.Duration { return b.before + time.Since(b.started) }

// spent is what the run itself has spent, and what is nested in it.
func (b *budget) spent() (own, below Spent) {
	own, below = b.own.spent(), b.below.spent()
	own.Elapsed = Millis(b.elapsed())
	return own, below
}

// toolCalls is how many tools were called in the run and in what is nested in it.
func (b *budget) toolCalls() int64 { return b.own.toolCalls.Load() + b.below.toolCalls.Load() }

// boundsCost reports whether what the run may cost has a limit.
func (b *budget) boundsCost() bool {
	return b.bounds(func(l *Limits) bool { return l.Cost > 0 })
}

// boundsUsage reports whether what the run may use of models has a limit.
func (b *budget) boundsUsage() bool {
	return b.bounds(func(l *Limits) bool { return l.Cost > 0 || l.Tokens > 0 })
}

// bounds reports whether limits of the run, or of one that it is nested in, are such.
func (b *budget) bounds(such func(*Limits) bool) bool {
	for ; b != nil; b = b.outer {
		if such(&b.limits) {
			return true
		}
	}
	return false
}

// reached says which limit leaves no room for another turn, and whose it is: none,
// as a rule.
func (b *budget) reached() (string, *budget) {
	for ; b != nil; b = b.outer {
		if stop := b.reachedHere(); stop != "" {
			return stop, b
		}
	}
	return "", nil
}

func (b *budget) reachedHere() string {
	l := &b.limits
	switch {
	case l.Turns > 0 && b.own.turns.Load()+b.below.turns.Load() >= int64(l.Turns):
		return stopTurns
	case l.ToolCalls > 0 && b.toolCalls() >= int64(l.ToolCalls):
		return stopToolCalls
	case b.overspentHere() != "":
		return b.overspentHere()
	case l.Time > 0 && b.elapsed() >= l.Time-answerTime(l.Time):
		return stopTime
	}
	return ""
}

// overspent says which limit on what models use is reached, whatever other one is.
func (b *budget) overspent() string {
	for ; b != nil; b = b.outer {
		if stop := b.overspentHere(); stop != "" {
			return stop
		}
	}
	return ""
}

func (b *budget) overspentHere() string {
	l := &b.limits
	sum := func(own, below *atomic.Int64) int64 { return own.Load() + below.Load() }
	switch {
	case l.Tokens > 0 && sum(&b.own.input, &b.below.input)+sum(&b.own.output, &b.below.output) >= int64(l.Tokens):
		return stopTokens
	case l.Cost > 0 && float64(sum(&b.own.nanoCost, &b.below.nanoCost)) >= l.Cost*1e9:
		return stopCost
	}
	return ""
}

// limitText says which limit ended a run's work, in lower case.
func limitText(stop string, b *budget) string {
	for ; b.outer != nil && b.reachedHere() != stop && b.overspentHere() != stop; b = b.outer {
	}
	l := &b.limits
	switch stop {
	case stopTurns:
		return usedUp(l.Turns, "turn")
	case stopToolCalls:
		return usedUp(l.ToolCalls, "tool call")
	case stopTokens:
		return fmt.Sprintf("the %d tokens of this run are used up", l.Tokens)
	case stopCost:
		return fmt.Sprintf("the %v US dollars of this run are spent", l.Cost)
	case stopTime:
		return fmt.Sprintf("the %s of this run are over", l.Time)
	}
	return "the same call was made again and again with the same result"
}

func usedUp(n int, what string) string {
	if n == 1 {
		return "the 1 " + what + " of this run is used up"
	}
	return fmt.Sprintf("all %d %ss of this run are used up", n, what)
}
