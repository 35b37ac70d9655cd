package troupe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
	"github.com/troupe-dev/troupe/internal/typeschema"
)

// An argumentCheck checks arguments against the schema it was made from.
type argumentCheck struct {
	schema json.RawMessage
	*argcheck.Schema
}

// NewTool makes a tool from a function. The schemas of its input and output come
// from the types: In must be a struct (or a map) and its fields are described by
// `json` and `jsonschema` tags, as in
//
//	type Query struct {
//		City string `json:"city" jsonschema:"the city to look up"`
//		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
//	}
//
// A field without omitempty or omitzero is required. The tags enum:"a,b", minimum,
// maximum, minLength, maxLength, minItems, maxItems, pattern and format say what
// values it takes, or its type does, with a method JSONSchema() json.RawMessage. A
// format is told to the model and not checked. What fn returns is given to the model as
// JSON, a string as it is, and a [Result] may hold more than text. NewTool panics if the
// name, a type or the function cannot be a tool's, or a tag says nothing that its field
// can have, which is a mistake in the program.
func NewTool[In, Out any](name, description string, fn func(context.Context, In) (Out, error), options ...ToolOption) Tool {
	var withCall func(context.Context, *Invocation, In) (Out, error)
	if fn != nil {
		withCall = func(ctx context.Context, _ *Invocation, in In) (Out, error) { return fn(ctx, in) }
	}
	return NewToolWithCall(name, description, withCall, options...)
}

// NewToolWithCall is NewTool for a function that also gets the invocation: to run steps
// of its own, to emit events, or to know the session it is called in.
func NewToolWithCall[In, Out any](name, description string, fn func(context.Context, *Invocation, In) (Out, error), options ...ToolOption) Tool {
	if err := checkToolName(name); err != nil {
		panic("troupe.NewTool: " + err.Error())
	}
	if fn == nil {
		panic(fmt.Sprintf("troupe.NewTool: tool %s: there is no function to call", name))
	}
	in, out := *schemaOf[In](typeschema.Read), &typeSchema{}
	if reflect.TypeFor[Out]() != reflect.TypeFor[Result]() {
		out = schemaOf[Out](typeschema.Written)
	}
	if in.err == nil && !in.isObject {
		in.err = notAnObject(reflect.TypeFor[In]())
	}
	if in.err != nil {
		panic(fmt.Sprintf("troupe.NewTool: tool %s: input: %v", name, in.err))
	}
	if out.err != nil {
		panic(fmt.Sprintf("troupe.NewTool: tool %s: output: %v", name, out.err))
	}
	t := &typedTool[In, Out]{fn: fn, spec: ToolSpec{
		Name: name, Description: description, Input: in.schema, Output: out.schema, check: in.check,
	}}
	for _, option := range options {
		option(&t.spec)
	}
	return t
}

// A ToolOption sets what a tool's types cannot say.
type ToolOption func(*ToolSpec)

// RepeatSafe says that a call may be carried out again when nobody knows whether
// it was: see [ToolSpec].
func RepeatSafe() ToolOption { return func(s *ToolSpec) { s.RepeatSafe = true } }

// ReadOnly says that a call changes nothing, so that several of one turn may run at
// the same time and one that was interrupted may be repeated: see [ToolSpec].
func ReadOnly() ToolOption { return func(s *ToolSpec) { s.ReadOnly, s.RepeatSafe = true, true } }

// Sequential takes back that a tool only reads: a call waits for those before it in
// its turn. It is how every tool is that does not say otherwise.
func Sequential() ToolOption { return func(s *ToolSpec) { s.ReadOnly = false } }

// Timeout bounds one call of the tool: see [ToolSpec].
func Timeout(d time.Duration) ToolOption { return func(s *ToolSpec) { s.Timeout = d } }

type typedTool[In, Out any] struct {
	spec ToolSpec
	fn   func(context.Context, *Invocation, In) (Out, error)
}

func (t *typedTool[In, Out]) Spec() ToolSpec { return t.spec }

func (t *typedTool[In, Out]) Call(ctx context.Context, call *Invocation) (Result, error) {
	var in In
	if _, err := rawjson.Decode(call.Arguments, &in); err != nil {
		return Result{}, &ToolError{Class: classInvalidArguments, Err: err}
	}
	out, err := t.fn(ctx, call, in)
	if err != nil {
		return Result{}, err
	}
	switch out := any(out).(type) {
	case string:
		return Result{Content: out}, nil
	case Result:
		return out, nil
	}
	data, err := json.Marshal(out)
	if bytes.Contains(data, []byte(`\u00`)) {
		// Marshal escapes <, > and & for HTML pages; models read them better as they are.
		data, err = encodeJSON(out)
	}
	if err != nil {
		return Result{}, fmt.Errorf("the tool's result is not JSON: %w", err)
	}
	return Result{Content: string(data)}, nil
}

// NewRawTool makes a tool from a spec whose schema is given, as those of other
// programs are. The function gets arguments that fit the schema.
func NewRawTool(spec ToolSpec, fn func(context.Context, *Invocation) (Result, error)) (Tool, error) {
	t := &rawTool{spec: spec, fn: fn}
	checked, err := checkedSpec(t)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, fmt.Errorf("tool %s: there is no function to call", spec.Name)
	}
	t.spec = checked
	return t, nil
}

type rawTool struct {
	spec ToolSpec
	fn   func(context.Context, *Invocation) (Result, error)
}

func (t *rawTool) Spec() ToolSpec { return t.spec }
func (t *rawTool) Call(ctx context.Context, in *Invocation) (Result, error) {
	return t.fn(ctx, in)
}

// noArguments is the schema of a tool that takes none.
var noArguments = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// checkedSpec returns the tool's spec, ready to check arguments with. A check that
// was made for another schema, as that of a tool which is wrapped, does not count.
func checkedSpec(tool Tool) (ToolSpec, error) {
	spec := tool.Spec()
	if len(spec.Input) == 0 {
		spec.Input = noArguments
	}
	if err := checkToolName(spec.Name); err != nil {
		return ToolSpec{}, err
	}
	if spec.check != nil && sameBytes(spec.check.schema, spec.Input) {
		return spec, nil
	}
	check, err := argcheck.Compile(spec.Input)
	if err != nil {
		return ToolSpec{}, fmt.Errorf("tool %s: input %w", spec.Name, err)
	}
	var keywords map[string]json.RawMessage
	_ = json.Unmarshal(spec.Input, &keywords) // a schema may also be true
	if types := typesOf(keywords["type"]); len(types) > 0 && !slices.Contains(types, "object") {
		return ToolSpec{}, fmt.Errorf("tool %s: input schema: it must describe an object, and is of type %s", spec.Name, strings.Join(types, " or "))
	}
	spec.check = &argumentCheck{spec.Input, check}
	return spec, nil
}

// sameBytes is bytes.Equal that looks first whether both are one and the same.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// typeSchema is what is known of a Go type.
type typeSchema struct {
	schema   json.RawMessage
	check    *argumentCheck
	isObject bool
	err      error
}

// A typeUse is a type and what is done with its values.
type typeUse struct {
	reflect.Type
	typeschema.Direction
}

// schemas remembers what schemaOf found. It is a memory of a pure function: inferring
// a schema takes a hundred times as long as making a tool.
var schemas sync.Map // typeUse to *typeSchema

func schemaOf[T any](direction typeschema.Direction) *typeSchema {
	use := typeUse{reflect.TypeFor[T](), direction}
	if known, ok := schemas.Load(use); ok {
		return known.(*typeSchema)
	}
	known, _ := schemas.LoadOrStore(use, inferSchema(use))
	return known.(*typeSchema)
}

func inferSchema(use typeUse) *typeSchema {
	data, err := typeschema.Of(use.Type, use.Direction)
	if err != nil {
		return &typeSchema{err: err}
	}
	check, err := argcheck.Compile(data)
	return &typeSchema{schema: data, check: &argumentCheck{data, check}, isObject: isObject(data), err: err}
}

// isObject reports whether a schema says that values are objects, and nothing else.
func isObject(schema json.RawMessage) bool {
	var head struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &head) == nil && head.Type == "object"
}

// notAnObject is the error of a type that a tool cannot take.
func notAnObject(t reflect.Type) error {
	return fmt.Errorf("%s is not an object in JSON; use a struct", t)
}
