package troupe

import (
	"sync/atomic"
	"time"
)

// Limits bound a run and everything nested in it. A zero field means the default;
// a negative one means no limit.
type Limits struct {
	// Turns is how many times models are asked: 50 by default.
	Turns int `json:"turns,omitempty"`
	// ToolCalls, Tokens and Cost (in US dollars, where prices are known) have no
	// limit by default, nor has Time.
	ToolCalls int           `json:"tool_calls,omitempty"`
	Tokens    int           `json:"tokens,omitempty"`
	Cost      float64       `json:"cost,omitempty"`
	Time      time.Duration `json:"time,omitempty"`
	// Depth is how deep runs nest: 5 by default.
	Depth int `json:"depth,omitempty"`
	// ToolTimeout is for tools that say nothing of their own: 10 s by default.
	ToolTimeout time.Duration `json:"tool_timeout,omitempty"`
	// Attempts is how often in a row a tool may fail before the model is told to
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
	// answerGrace is how long the last answer may take after time is up.
	answerGrace = 30 * time.Second
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

// Spent is what a run has used so far, nested runs included.
type Spent struct {
	Turns     int     `json:"turns"`
	ToolCalls int     `json:"tool_calls"`
	Usage     Usage   `json:"usage"`
	Cost      float64 `json:"cost,omitempty"`
	Elapsed   Millis  `json:"elapsed_ms"`
}

// A budget counts what a run and its children spend. Branches share it.
type budget struct {
	limits    Limits
	started   time.Time
	before    time.Duration // spent by earlier passes over the same log
	turns     atomic.Int64
	toolCalls atomic.Int64
	input     atomic.Int64
	cached    atomic.Int64
	written   atomic.Int64
	output    atomic.Int64
	reasoning atomic.Int64
	nanoCost  atomic.Int64 // billionths of a dollar, so that adding is atomic
}

func (b *budget) add(u Usage, cost float64) {
	b.input.Add(int64(u.Input))
	b.cached.Add(int64(u.CachedInput))
	b.written.Add(int64(u.CacheWrite))
	b.output.Add(int64(u.Output))
	b.reasoning.Add(int64(u.Reasoning))
	b.nanoCost.Add(int64(cost * 1e9))
}

func (b *budget) elapsed() time.Duration { return b.before + time.Since(b.started) }

func (b *budget) spent() Spent {
	return Spent{
		Turns:     int(b.turns.Load()),
		ToolCalls: int(b.toolCalls.Load()),
		Usage: Usage{
			Input: int(b.input.Load()), CachedInput: int(b.cached.Load()), CacheWrite: int(b.written.Load()),
			Output: int(b.output.Load()), Reasoning: int(b.reasoning.Load()),
		},
		Cost:    float64(b.nanoCost.Load()) / 1e9,
		Elapsed: Millis(b.elapsed()),
	}
}

// reached says which limit leaves no room for another turn: none, as a rule.
func (b *budget) reached() Stop {
	l := &b.limits
	switch {
	case l.Turns > 0 && b.turns.Load() >= int64(l.Turns):
		return StopTurns
	case l.ToolCalls > 0 && b.toolCalls.Load() >= int64(l.ToolCalls):
		return StopToolCalls
	case l.Tokens > 0 && b.input.Load()+b.output.Load() >= int64(l.Tokens):
		return StopTokens
	case l.Cost > 0 && float64(b.nanoCost.Load()) >= l.Cost*1e9:
		return StopCost
	case l.Time > 0 && b.elapsed() >= l.Time:
		return StopTime
	}
	return ""
}
