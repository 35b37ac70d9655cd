package pipeline

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe"
)

// An askedBelow is the error of a run below this one that ended with a question: nothing
// goes on until it is answered.
type askedBelow struct{ out troupe.Handoff }

// Error returns the question.
func (e *askedBelow) Error() string { return "the user must answer first: " + e.out.Summary }

// runBelow runs a step. A question that it ended with is an error.
func runBelow(ctx context.Context, run *troupe.Run, step troupe.Step, in troupe.Handoff) (troupe.Handoff, error) {
	out, err := run.Do(ctx, step, in)
	if err == nil && out.Meta.Stop == "input_requested" {
		err = &askedBelow{out}
	}
	return out, err
}

// passQuestion has a step end with the question of a run below it.
func passQuestion(out *troupe.Handoff, err *error) {
	if asked, ok := errors.AsType[*askedBelow](*err); ok {
		*out, *err = asked.out, nil
	}
}
