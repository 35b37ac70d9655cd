package project

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
)

// usualTurns is how often models are asked in a run where nobody says.
const usualTurns = 50

// limits are those that troupe.yaml has now.
func (p *Project) limits() troupe.Limits {
	l := p.models.Limits()
	return troupe.Limits{
		Turns: l.Turns, ToolCalls: l.ToolCalls, Tokens: l.Tokens, Cost: l.Cost, Time: l.Time, Depth: l.Depth,
		ToolTimeout: l.ToolTimeout, Attempts: l.Attempts, ModelTries: l.ModelTries,
	}
}

// limit takes over limits that were changed here, as [limitOf] returns them. Those that are
// removed are empty.
func (s *settings) limit(changed map[string]string) {
	chooser := &s.stage.project.models
	l := chooser.Limits()
	for key, value := range changed {
		switch key { // what is no value was refused
		case "limits.cost":
			l.Cost, _ = strconv.ParseFloat(value, 64)
		case "limits.time":
			l.Time, _ = time.ParseDuration(value)
		case "limits.turns":
			l.Turns, _ = strconv.Atoi(value)
		case "limits.tokens":
			l.Tokens, _ = strconv.Atoi(value)
		}
	}
	chooser.Limit(l)
}

// limited has runs begin with the limits as they are then: the engine has those from when it
// was made.
type limited struct {
	server.Runs
	stage *stage
}

// Run implements [server.Runs].
func (l limited) Run(ctx context.Context, step troupe.Step, input troupe.Input) iter.Seq2[troupe.Event, error] {
	input.Limits = inPlaceOf(l.stage.limits, l.stage.project.limits(), input.Limits)
	return l.Runs.Run(ctx, step, input)
}

// inPlaceOf are the limits of a run that come to what is configured now in an engine that was
// made with others: where the run has none of its own, and where they have changed.
func inPlaceOf(made, now, own troupe.Limits) troupe.Limits {
	own.Turns = changedTo(made.Turns, now.Turns, own.Turns, usualTurns)
	own.Tokens = changedTo(made.Tokens, now.Tokens, own.Tokens, -1)
	own.Cost = changedTo(made.Cost, now.Cost, own.Cost, -1)
	own.Time = changedTo(made.Time, now.Time, own.Time, -1)
	return own
}

// changedTo is one limit of a run: usual is what it is where none is configured any more.
func changedTo[T int | float64 | time.Duration](made, now, own, usual T) T {
	if own != 0 || made == now {
		return own
	}
	return cmp.Or(now, usual)
}
