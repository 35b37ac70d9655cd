package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Tool is something a model may ask to be done.
//
// Call gets arguments that were checked against the input schema. An error is
// told to the model as the call's result and the run goes on; use *[ToolError]
// to choose its class. A Tool may be called concurrently.
type Tool interface {
	Spec() ToolSpec
	Call(ctx context.Context, in *Invocation) (Result, error)
}

// A ToolSpec describes a tool to models and to the engine.
type ToolSpec struct {
	// Name is what models call it: at most 64 of A-Z, a-z, 0-9, _ and -.
	Name        string
	Description string
	// Input and Output are JSON schemas. Input must describe an object; nil means
	// an object without properties. Output may be nil.
	Input, Output json.RawMessage
	// Timeout bounds one call: 0 means the engine's default, 10 s as a rule, and
	// [NoTimeout] none of its own.
	Timeout time.Duration
	// RepeatSafe says that a call may be carried out again when nobody knows
	// whether it was carried out: true of what only reads, and of what gives the
	// same end state twice.
	RepeatSafe bool
	// ReadOnly says that a call changes nothing: such calls of one turn run at the
	// same time. Any other call waits for those before it and is waited for by those
	// after it, so that the outcome is what the model's order says.
	ReadOnly bool

	check *argumentCheck
}

// NoTimeout is the timeout of a tool that only the run's budget bounds.
const NoTimeout time.Duration = -1

// An Invocation is one call of a tool.
type Invocation struct {
	// ID is the call's id: stable across a resumed run, fit as an idempotency key.
	ID string
	// Arguments is a JSON object that fits the tool's input schema.
	Arguments json.RawMessage
	// Run is what a tool uses to run steps of its own, as an agent tool does.
	Run *Run
	// Answer is what the user said when this call asked: see [InputNeeded].
	Answer string
}

// A Result is what the model is told about a call.
type Result struct {
	// Content is text, often JSON.
	Content string
}

// A Class says what kind of failure a tool's result is. The empty class is success.
type Class string

// The classes of failure. Their names are part of the event format.
const (
	ClassNotFound         Class = "not_found"         // there is no such tool
	ClassUnauthorized     Class = "unauthorized"      // the agent may not use it, or not so
	ClassInvalidArguments Class = "invalid_arguments" // not JSON, or not what the schema says
	ClassTimeout          Class = "timeout"
	ClassFailed           Class = "failed"
	ClassPanicked         Class = "panicked"
	ClassInterrupted      Class = "interrupted" // the outcome is unknown
)

// A ToolError is a failure whose class the tool chooses.
type ToolError struct {
	Class   Class
	Message string
	// Content is what the model is told, where the standard form will not do.
	Content string
	Err     error
}

// Error returns the message, or the cause where there is none.
func (e *ToolError) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

func (e *ToolError) Unwrap() error { return e.Err }

// InputNeeded is the error of a tool that cannot go on without the user. It ends
// the run with an [InputRequested] event; the answer is the session's next input.
type InputNeeded struct {
	Question string
	// Again says that the tool has done nothing yet and is to be called again, with
	// the same arguments and the answer. Else the model is told the question, and
	// gets the answer as the next message.
	Again bool
}

// Error returns the question.
func (e *InputNeeded) Error() string { return e.Question }

// errToolName says what a name must look like.
var errToolName = errors.New("a tool's name has 1 to 64 letters, digits, underscores or hyphens")

func checkToolName(name string) error {
	if len(name) == 0 || len(name) > 64 {
		return fmt.Errorf("tool %.64q: %w", name, errToolName)
	}
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return fmt.Errorf("tool %q: %w", name, errToolName)
		}
	}
	return nil
}
