package troupe

import "context"

// A Step is something an engine can run: an agent, or steps arranged.
//
// Do touches the world only through run: it starts no goroutine, reads no clock
// and does no I/O of its own, and given the same outcomes it does the same things
// in the same order. That is what lets a run resume from its log. When Do has
// returned, nothing that it started is still running.
type Step interface {
	// Name identifies the step in events and in the logs of earlier runs.
	Name() string
	Do(ctx context.Context, run *Run, in Handoff) (Handoff, error)
}
