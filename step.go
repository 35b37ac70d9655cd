package troupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
)

// A Step is something an engine can run: an agent, or steps arranged.
//
// Do touches the world only through run: it starts no goroutine, reads no clock
// and does no I/O of its own, and given the same outcomes it does the same things
// in the same order. That is what lets a run resume from its log. When Do has
// returned, nothing that it started is still running.
type Step interface {
	// Name identifies the step in events and in the logs of earlier runs.
	Name() string
	// Definition says what the step is, as data.
	Definition() *Definition
	Do(ctx context.Context, run *Run, in Handoff) (Handoff, error)
}

// A Definition says what a step is: for plans and pictures, and so that a run which
// is resumed can tell that its step is no longer the one that was begun.
type Definition struct {
	// Kind is "agent", "sequence", "parallel" and the like.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Settings are what makes the step behave as it does, long ones as a hash.
	Settings map[string]string `json:"settings,omitempty"`
	// Steps are those that it arranges, in order.
	Steps []*Definition `json:"steps,omitempty"`
}

// Digest is the same for definitions that are the same.
func (d *Definition) Digest() string {
	hash := sha256.New()
	d.write(hash)
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

func (d *Definition) write(w io.Writer) {
	fmt.Fprintf(w, "%q %q %d %d", d.Kind, d.Name, len(d.Settings), len(d.Steps))
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		fmt.Fprintf(w, " %q=%q", name, d.Settings[name])
	}
	for _, step := range d.Steps {
		step.write(w)
	}
}

// changeFrom says how d differs from what it was when a run began: in words, empty
// where it does not. What an agent is told and may use can change under a run, which
// goes on with what it began with; how steps are arranged cannot.
func (d *Definition) changeFrom(was *Definition) string {
	switch {
	case was == nil || d == nil:
		return ""
	case was.Kind != d.Kind || was.Name != d.Name:
		return fmt.Sprintf("%s %s is now %s %s", was.Kind, was.Name, d.Kind, d.Name)
	case d.Kind == kindAgent:
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(was.Settings)) {
		if d.Settings[name] != was.Settings[name] {
			return fmt.Sprintf("%s of %s %s was %q and is now %q", name, d.Kind, d.Name, was.Settings[name], d.Settings[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		if _, ok := was.Settings[name]; !ok {
			return fmt.Sprintf("%s %s has a new setting %s: %q", d.Kind, d.Name, name, d.Settings[name])
		}
	}
	for i, step := range d.Steps {
		if i >= len(was.Steps) {
			return fmt.Sprintf("%s %s has a new step %d: %s", d.Kind, d.Name, i+1, step.Name)
		}
		if change := step.changeFrom(was.Steps[i]); change != "" {
			return fmt.Sprintf("step %d of %s %s: %s", i+1, d.Kind, d.Name, change)
		}
	}
	if len(was.Steps) > len(d.Steps) {
		return fmt.Sprintf("%s %s no longer has its step %d: %s", d.Kind, d.Name, len(d.Steps)+1, was.Steps[len(d.Steps)].Name)
	}
	return ""
}

const kindAgent = "agent"

// isNil reports whether there is no step: also where somebody has passed on an agent that
// could not be made.
func isNil(step Step) bool {
	if step == nil {
		return true
	}
	v := reflect.ValueOf(step)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// NewStep makes a step of a function, which keeps to what [Step] says. The steps
// that it runs, where given, are part of its definition. Where one of them asks the user
// something, that is what comes of it, and it is run again with the answer.
func NewStep(name string, do func(context.Context, *Run, Handoff) (Handoff, error), runs ...Step) Step {
	if name == "" || do == nil {
		panic(fmt.Sprintf("troupe.NewStep(%q): a step needs a name and a function", name))
	}
	definition := &Definition{Kind: "step", Name: name}
	for _, step := range runs {
		definition.Steps = append(definition.Steps, step.Definition())
	}
	return &stepFunc{definition, do}
}

type stepFunc struct {
	definition *Definition
	do         func(context.Context, *Run, Handoff) (Handoff, error)
}

func (s *stepFunc) Name() string            { return s.definition.Name }
func (s *stepFunc) Definition() *Definition { return s.definition }

// Do calls the function. A question that a step of it asked reaches the user, whatever the
// function made of it: it is run again with the answer.
func (s *stepFunc) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	out, err := s.do(ctx, run, in)
	if ctx.Err() != nil || errors.Is(err, ErrChanged) || err == nil && out.Meta.Asked != "" {
		return out, err
	}
	if question, ok := run.exec.askedIn(run.id); ok {
		return question, nil
	}
	return out, err
}
