package troupe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/troupe-dev/troupe/internal/answer"
	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
	"github.com/troupe-dev/troupe/internal/typeschema"
)

// An Output says what an agent's final answer must be: JSON of a schema. The
// provider is asked to enforce it where it can, the model is told, and every answer
// is checked whatever was promised.
type Output struct {
	// Schema is a JSON schema. One that does not describe an object is asked for as
	// the field "answer" of one, because providers take nothing else.
	Schema json.RawMessage `json:"schema"`
	// Name is what the provider is told the answer is called: "answer" by default.
	Name string `json:"name,omitempty"`
	// Corrections is how often a model is asked again whose answer does not fit, in
	// the same conversation: 2 times by default, never where it is negative.
	Corrections int `json:"corrections,omitempty"`

	// decode checks that a value fits the Go type, where there is one, and returns it as it does.
	decode func([]byte) ([]byte, error)
}

const defaultCorrections = 2

// OutputOf is the Output of a Go type. Its fields are described by tags as those of
// a tool are, see [NewTool]. The schema is what encoding/json reads into the type: a
// type with a method UnmarshalText is a string, one with UnmarshalJSON may be anything
// unless it has a method JSONSchema, and one without, such as url.URL, is an object of
// its exported fields. OutputOf panics where the type has no schema, or a tag makes
// none, which is a mistake in the program.
func OutputOf[T any]() *Output {
	output, err := outputFor[T]()
	if err != nil {
		panic("troupe.OutputOf: " + err.Error())
	}
	return output
}

func outputFor[T any]() (*Output, error) {
	known := schemaOf[T](typeschema.Read)
	if known.err != nil {
		return nil, fmt.Errorf("%s: %w", reflect.TypeFor[T](), known.err)
	}
	return &Output{Schema: known.schema, Name: schemaName(reflect.TypeFor[T]().Name()), decode: func(data []byte) ([]byte, error) {
		return rawjson.Decode(data, new(T))
	}}, nil
}

// schemaName is a type's name as providers take it.
func schemaName(name string) string {
	if name == "" || checkToolName(name) != nil {
		return ""
	}
	return name
}

// Ask has the agent answer with a T: its output is bound to the type for this run.
// The error is an *[OutputError] where the model does not manage to, and the outcome
// says what the run came to in any case. An input that names a session and nothing else
// resumes that session's latest run, which was asked for the same type, or returns what it
// came to if it has finished.
func Ask[T any](ctx context.Context, engine *Engine, agent *Agent, input Input) (T, Outcome, error) {
	var value T
	if agent == nil {
		return value, Outcome{}, errors.New("ask: there is no agent to ask")
	}
	output, err := outputFor[T]()
	if err != nil {
		return value, Outcome{}, fmt.Errorf("ask: %w", err)
	}
	bound, err := agent.WithOutput(output)
	if err != nil {
		return value, Outcome{}, err
	}
	events := engine.Run(ctx, bound, input)
	if input.Session != "" && reflect.DeepEqual(input, Input{Session: input.Session}) {
		events = engine.Resume(ctx, bound, input.Session)
	}
	outcome, err := Collect(events)
	if errors.Is(err, ErrNothingToResume) {
		if known, lost := engine.Outcome(ctx, input.Session); lost == nil && known.Stop != stopInput {
			outcome, err = known, nil
		}
	}
	switch {
	case err != nil:
		return value, outcome, err
	case outcome.Handoff.Value == nil:
		return value, outcome, &OutputError{Agent: agent.id, Text: outcome.Text, Problem: noValue(outcome.Stop), Stop: outcome.Stop}
	}
	// A run that was begun before may have been asked for another type.
	if err = bound.output.fits(outcome.Handoff.Value); err == nil {
		err = json.Unmarshal(outcome.Handoff.Value, &value)
	}
	if err != nil {
		return value, outcome, &OutputError{Agent: agent.id, Text: outcome.Text, Problem: err.Error()}
	}
	return value, outcome, nil
}

// noValue says why a run that has ended has no value.
func noValue(stop string) string {
	if stop == stopAnswered {
		return "the run was not asked for a value: it has answered in words"
	}
	return "the run ended before there was an answer: " + stop
}

// An OutputError says that an agent gave no answer that fits its [Output].
type OutputError struct {
	Agent string
	// Text is the answer that does not fit, and Problem says why.
	Text    string
	Problem string
	// Stop is why the model stopped, as in [RunFinished]: "refused", "empty" and the like.
	Stop string
}

// Error says whose answer does not fit, and why.
func (e *OutputError) Error() string {
	return fmt.Sprintf("the answer of %s does not fit what it is to return: %s (it said: %q)", e.Agent, e.Problem, shorten(e.Text, 200))
}

// A boundOutput is an Output that was checked.
type boundOutput struct {
	Output
	schema  json.RawMessage // what is asked for: always an object
	check   *argcheck.Schema
	wrapped *wrappedOutput // nil where the answer is an object
}

// A wrappedOutput is one that is asked for as the field "answer" of an object.
type wrappedOutput struct {
	check *argcheck.Schema
	types []string // that the schema names
}

func (o *Output) bind() (*boundOutput, error) {
	b := &boundOutput{Output: *o, schema: o.Schema}
	b.Corrections = orElse(b.Corrections, defaultCorrections)
	b.Name = orElse(b.Name, "answer")
	if err := checkToolName(b.Name); err != nil {
		return nil, fmt.Errorf("output: its name %q: use letters, digits, underscores and hyphens", b.Name)
	}
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(o.Schema, &keywords); err != nil || keywords == nil {
		return nil, fmt.Errorf("output: its schema is not a JSON object: %.60s", o.Schema)
	}
	if !isObject(o.Schema) {
		bare, err := argcheck.Compile(o.Schema)
		if err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
		b.wrapped = &wrappedOutput{check: bare, types: typesOf(keywords["type"])}
		b.schema = wrap(o.Schema, keywords)
	}
	check, err := argcheck.Compile(b.schema)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	b.check = check
	return b, nil
}

// wrap returns the schema of an object whose field "answer" fits a schema. What the
// schema refers to stays where the references lead.
func wrap(schema json.RawMessage, keywords map[string]json.RawMessage) json.RawMessage {
	shared := ""
	for _, name := range []string{"$defs", "definitions"} {
		if defs, ok := keywords[name]; ok {
			shared += fmt.Sprintf(`,%q:%s`, name, defs)
			delete(keywords, name)
			schema, _ = encodeJSON(keywords) // it was JSON before
		}
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"answer":%s},"required":["answer"],"additionalProperties":false%s}`, schema, shared))
}

// prompt tells the model what it is to answer with.
func (b *boundOutput) prompt() string {
	return "Your final answer must be a single JSON value that fits this JSON schema, with nothing before or after it:\n" + string(b.schema)
}

// typesOf returns the types that a schema's keyword names.
func typesOf(keyword json.RawMessage) (types []string) {
	var name string
	if json.Unmarshal(keyword, &name) == nil {
		return []string{name}
	}
	_ = json.Unmarshal(keyword, &types) // none where it names none
	return types
}

// read returns the value that an answer holds.
func (b *boundOutput) read(text string) (json.RawMessage, error) {
	value, err := answer.Read(text, b.check)
	data := value.JSON
	switch {
	case err != nil && b.wrapped != nil:
		data, err = b.wrapped.readBare(text, err)
	case err == nil && b.wrapped != nil:
		var outer struct {
			Answer json.RawMessage `json:"answer"`
		}
		err = json.Unmarshal(data, &outer)
		data = outer.Answer
	}
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, err
	}
	if b.decode != nil {
		return b.decode(compact.Bytes())
	}
	return compact.Bytes(), nil
}

// readBare returns the value of an answer that has it without the object that was asked
// for, of which err says what is wrong with it.
func (w *wrappedOutput) readBare(text string, err error) ([]byte, error) {
	failure, ok := errors.AsType[*answer.Error](err)
	if !ok {
		return nil, err
	}
	takesObjects := slices.Contains(w.types, "object")
	maySearch := (takesObjects || slices.Contains(w.types, "array")) &&
		(failure.Reason == answer.NoJSON || failure.Reason == answer.Misfit || failure.Reason == answer.Broken)
	value, bareErr := answer.ReadBare(text, w.check, maySearch)
	if bareErr == nil {
		return value.JSON, nil
	}
	nearest := failure.Nearest
	bare, _ := errors.AsType[*answer.Error](bareErr)
	isBare := nearest != nil && (nearest[0] != '{' || takesObjects && !hasAnswer(nearest))
	if bare.Reason == answer.Ambiguous || bare.Reason == answer.Misfit && isBare {
		return nil, bareErr
	}
	return nil, err
}

func hasAnswer(object []byte) bool {
	return slices.ContainsFunc(rawjson.Fields(object), func(f rawjson.Field) bool { return f.Name == "answer" })
}

// fits says what is wrong with a value that is on record as an answer.
func (b *boundOutput) fits(value json.RawMessage) error {
	if b.wrapped != nil {
		return b.wrapped.check.Check(value)
	}
	return b.check.Check(value)
}

// outputOf returns what a step's final answer must fit, as it goes on record.
func outputOf(step Step) *Output {
	agent, ok := step.(*Agent)
	if !ok || agent.output == nil {
		return nil
	}
	return &Output{Schema: agent.output.Schema, Name: agent.output.Name, Corrections: agent.output.Corrections}
}

// keepOutput has an agent whose run is resumed answer with what the run began with.
func (x *execution) keepOutput(began *Output) error {
	agent, ok := x.chain.step.(*Agent)
	if !ok || began == nil || agent.output != nil && bytes.Equal(agent.output.Schema, began.Schema) {
		return nil
	}
	bound, err := agent.WithOutput(began)
	if err != nil {
		return err
	}
	x.chain.step = bound
	return nil
}

// changedOutput says that a step has come to another output since a run began, empty
// where it has not.
func changedOutput(step Step, began *Output) string {
	if now := outputOf(step); now != nil && began != nil && !bytes.Equal(now.Schema, began.Schema) {
		return fmt.Sprintf("the output of agent %s has changed since the run began", step.Name())
	}
	return ""
}

// fit takes an answer that must fit the agent's Output, or has the model correct it.
func (c *conversation) fit(ctx context.Context, replied *ModelReplied, stop string) (string, error) {
	text := replied.Message.Text
	var value json.RawMessage
	var err error
	switch stop {
	case stopLength:
		err = answer.CutOff(text)
	case stopRefused:
		text, err = replied.Message.Refusal, errors.New("the model refused to answer")
	case stopFiltered:
		err = errors.New("the provider withheld the answer, or a part of it")
	default:
		value, err = c.agent.output.read(text)
	}
	if err == nil {
		c.answer(string(value), stopAnswered)
		c.out.Value = value
		return "", nil
	}
	c.misfits++
	isDeliberate := stop == stopRefused || stop == stopFiltered // to ask again does not change it
	if c.misfits > c.agent.output.Corrections || isDeliberate {
		if !c.run.isPast() {
			return "", &OutputError{Agent: c.agent.id, Text: text, Problem: err.Error(), Stop: stop}
		}
		c.misfits = 0
	}
	return "", c.tell(ctx, "answer_misfit", "The answer does not fit what the agent is to return; the model is asked again: "+err.Error(), answer.Correction(err, ""))
}

// fitLast takes the answer that a model was asked for because a limit was reached. There
// is no room to correct it.
func (c *conversation) fitLast(text, stop string) (Handoff, error) {
	value, err := c.agent.output.read(text)
	if err != nil {
		return Handoff{}, &OutputError{Agent: c.agent.id, Text: text, Problem: fmt.Sprintf("a limit (%s) was reached before there was an answer that fits: %s", stop, err), Stop: stop}
	}
	c.answer(string(value), stop)
	c.out.Value = value
	return c.out, nil
}
