// Package room says that a limit of a run leaves no room for another step.
package room

// An Error is why a step was not begun: a limit of its run, or of one that this is nested in, is
// reached.
type Error struct {
	// Limit is turns, tool_calls, tokens, cost or time, Text how much that was.
	Limit, Text string
}

func (e *Error) Error() string { return e.Text }
