package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	// a negative one none of its own.
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

// An Invocation is one call of a tool.
type Invocation struct {
	// ID is unique to this call among all calls of all sessions, and the same when
	// the call is repeated after an interruption: fit as an idempotency key elsewhere.
	ID string
	// Arguments is a JSON object that fits the tool's input schema.
	Arguments json.RawMessage
	// Run is what a tool uses to run steps of its own, as an agent tool does.
	Run *Run
	// User is who the run is for, and Values what the caller put into [Input.Values].
	// The model sees neither. Both are shared and must not be changed.
	User   string
	Values map[string]any
	// Answers are what the user said each time this call asked: see [InputNeeded].
	Answers []Answer
}

// Progress tells readers of the run how far the call has come. It is on record.
func (in *Invocation) Progress(ctx context.Context, text string) error {
	data, err := encodeJSON(struct {
		Call string `json:"call"`
		Text string `json:"text"`
	}{in.ID, text})
	if err != nil {
		return err
	}
	if err := in.Run.emit(ctx, &Noted{Name: "progress", Data: data}); err != nil {
		return err
	}
	return in.Run.flush()
}

// A Result is what came of a call.
type Result struct {
	// Content is what the model is told: text, often JSON.
	Content string
	// Parts are images and files that the model is shown with it.
	Parts []Part
	// Value is for programs, which get it from [Run.Call] and from the log as JSON has
	// it. The model does not see it.
	Value any
	// Keep, where set, is a name for the content under which it outlives compaction of
	// the context, until a later result has the same name: for what an agent works by,
	// such as a workflow's instructions.
	Keep string
}

// A Decision is the error of a tool that ends its agent's run: control goes back to
// the flow around the agent, with what was decided. It is no failure.
type Decision struct {
	// Name says what was decided, for a flow to act on.
	Name string `json:"name"`
	// To is the agent that is to go on, where there is one.
	To string `json:"to,omitempty"`
	// Text is what the agent hands back.
	Text string `json:"text,omitempty"`
}

// Error says what was decided.
func (d *Decision) Error() string {
	if d.To != "" {
		return d.Name + ": control passes to " + d.To
	}
	return d.Name
}

// The classes of failure: see [ToolError]. Their names are part of the event format.
const (
	classNotFound         = "not_found"         // there is no such tool, or not what was asked for
	classUnauthorized     = "unauthorized"      // the agent may not use it, or not so
	classInvalidArguments = "invalid_arguments" // not JSON, or not what the schema says
	classTimeout          = "timeout"
	classFailed           = "failed"
	classPanicked         = "panicked"
	classInterrupted      = "interrupted" // the outcome is unknown
)

// isFailure reports whether the tool failed as a tool. That something is not there
// or not allowed is an answer, and what was interrupted says nothing.
func isFailure(class string) bool {
	return class != "" && class != classNotFound && class != classUnauthorized && class != classInterrupted
}

// A ToolError is a failure whose class the tool chooses.
type ToolError struct {
	// Class is what kind of failure it is: "not_found" (there is no such tool, or not
	// what was asked for), "unauthorized" (the agent may not use it, or not so),
	// "invalid_arguments" (not JSON, or not what the schema says), "timeout", "failed",
	// "panicked" or "interrupted" (the outcome is unknown).
	Class   string
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
	// CallAgain says that the tool has done nothing yet and is to be called again,
	// with the same arguments and the answer. Else the model is told the question, and
	// gets the answer as the next message.
	CallAgain bool
	// Approval says that the question is whether the call may be carried out.
	Approval bool
}

// Error returns the question.
func (e *InputNeeded) Error() string { return e.Question }

// An Answer is what a person said or decided when something was asked.
type Answer struct {
	// Approved and Denied are decisions that a program passes on. Where both are
	// false, Text is what the person said in their own words.
	Approved bool   `json:"approved,omitempty"`
	Denied   bool   `json:"denied,omitempty"`
	Text     string `json:"text,omitempty"`
	// Scope says for what a program takes the decision: "session" for all calls of the
	// tool in the session, and nothing for this call alone. It is on record for those who read it;
	// asking no more is the program's to do.
	Scope string `json:"scope,omitempty"`
}

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

// A ToolSet is the tools that an agent shows to its model, in the agent's order.
// It does not change: providers keep their encoding of it.
type ToolSet struct {
	specs   []ToolSpec
	tools   []Tool
	names   string // for messages to the model
	size    int
	encoded encoding
}

// NewToolSet checks the tools' names and schemas. It is for those who call a
// [Model] directly; an [Agent] makes its own.
func NewToolSet(tools ...Tool) (*ToolSet, error) {
	set := &ToolSet{tools: tools, specs: make([]ToolSpec, len(tools))}
	names := make([]string, len(tools))
	for i, tool := range tools {
		spec, err := checkedSpec(tool)
		if err != nil {
			return nil, err
		}
		if set.index(spec.Name) >= 0 {
			return nil, fmt.Errorf("tool %s is there twice", spec.Name)
		}
		set.specs[i] = spec
		names[i] = spec.Name
		set.size += len(spec.Name) + len(spec.Description) + len(spec.Input) + 40
	}
	set.names = strings.Join(names, ", ")
	return set, nil
}

// Specs returns the tools' descriptions. The caller must not change them.
func (s *ToolSet) Specs() []ToolSpec {
	if s == nil {
		return nil
	}
	return s.specs
}

// Len is the number of tools; a nil ToolSet has none.
func (s *ToolSet) Len() int { return len(s.Specs()) }

// Encoded returns the provider's encoding of the set, as [Message.Encoded] does.
func (s *ToolSet) Encoded(by any, encode func(*ToolSet) []byte) []byte {
	if data, ok := s.encoded.get(by); ok {
		return data
	}
	return s.encoded.set(by, encode(s))
}

// spec returns what a tool says of itself now, ready to check arguments with.
func (s *ToolSet) spec(i int) (*ToolSpec, error) {
	known := &s.specs[i]
	now := s.tools[i].Spec()
	if sameBytes(now.Input, known.Input) || len(now.Input) == 0 && sameBytes(known.Input, noArguments) {
		return known, nil
	}
	checked, err := checkedSpec(s.tools[i])
	if err != nil {
		return nil, err
	}
	return &checked, nil
}

// list names the tools for a message to the model.
func (s *ToolSet) list() string {
	if s.names == "" {
		return "none"
	}
	return s.names
}

func (s *ToolSet) index(name string) int {
	for i := range s.specs {
		if s.specs[i].Name == name {
			return i
		}
	}
	return -1
}
