// Package flow arranges steps: one after the other, at the same time, as a team whose
// members hand over to each other, as a group chat, or in a loop until the outcome is
// accepted. Steps are agents, other flows, or Go functions (see [troupe.NewStep]). The
// flows here use nothing but the exported methods of [troupe.Run], so that a flow of
// your own can do whatever they do.
package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
)

// An Edit may change what one step hands to the next. Like a [troupe.Step] it does
// the same to the same handoff whenever it is asked, and touches nothing else.
type Edit func(from, to string, h troupe.Handoff) (troupe.Handoff, error)

// Output returns what an agent of the flow answered, as a T: the checked answer of an
// agent that has an output (see [troupe.OutputOf]), or what it said in plain words,
// where that is a T or T is a string.
func Output[T any](h troupe.Handoff, agent string) (T, error) {
	var value T
	output, ok := h.Outputs[agent]
	if h.Meta.Source == agent {
		output, ok = any(h.Summary), true // it spoke last
		if h.Value != nil {
			output = h.Value
		}
	}
	if !ok {
		return value, fmt.Errorf("output of %s: the handoff has none; it has those of %s", agent, names(h))
	}
	if err := decode(output, &value); err != nil {
		return value, fmt.Errorf("output of %s: it is no %T: %w", agent, value, err)
	}
	return value, nil
}

// decode puts an output into what value points to. Plain words are taken as the JSON
// that they may be, unless a string is wanted.
func decode(output, value any) error {
	data, err := json.Marshal(output)
	if err != nil {
		return err
	}
	text, isText := output.(string)
	if !isText || reflect.TypeOf(value).Elem().Kind() == reflect.String {
		return json.Unmarshal(data, value)
	}
	if err := json.Unmarshal([]byte(text), value); err != nil && json.Unmarshal(data, value) != nil {
		return err
	}
	return nil
}

// names lists whose outputs a handoff has.
func names(h troupe.Handoff) string {
	list := slices.Sorted(maps.Keys(h.Outputs))
	if h.Meta.Source != "" && !slices.Contains(list, h.Meta.Source) {
		list = append(list, h.Meta.Source)
	}
	if len(list) == 0 {
		return "nobody"
	}
	return strings.Join(list, ", ")
}

// handOver records that control passes from one step to another, and returns what
// the other gets.
func handOver(ctx context.Context, run *troupe.Run, from, to string, h troupe.Handoff, edit Edit) (troupe.Handoff, error) {
	if edit != nil {
		var err error
		if h, err = edit(from, to, h.Clone()); err != nil {
			return troupe.Handoff{}, fmt.Errorf("edit what %s hands to %s: %w", from, to, err)
		}
	}
	return run.HandOver(ctx, from, to, h)
}

// cutShort is what a flow ends with where a limit of the run leaves no room for more.
func cutShort(h troupe.Handoff, limit string) troupe.Handoff {
	h.Meta.Status, h.Meta.Stop = "partial", limit
	return h
}

// Then returns what comes of a handoff once a step has done its part: the step's
// answer is the summary, the answer before it goes to the outputs, and attachments
// and custom values travel on.
func Then(h, out troupe.Handoff) troupe.Handoff {
	outputs := maps.Clone(h.Outputs)
	if outputs == nil {
		outputs = map[string]any{}
	}
	if (h.Summary != "" || h.Value != nil) && h.Meta.Source != "" {
		outputs[h.Meta.Source] = h.Answer()
	}
	maps.Copy(outputs, out.Outputs)
	if len(outputs) > 0 {
		out.Outputs = outputs
	}
	if out.Task == "" {
		out.Task = h.Task
	}
	if out.Custom == nil {
		out.Custom = h.Custom
	}
	if out.Parts == nil {
		out.Parts = h.Parts
	}
	return out
}

// failure is what a flow that goes on without a step hands on in its place.
func failure(h troupe.Handoff, run *troupe.Run, step troupe.Step, err error) troupe.Handoff {
	return Then(h, troupe.Handoff{
		Summary: fmt.Sprintf("%s could not do its part: %s", step.Name(), why(err)),
		Meta:    troupe.HandoffMeta{Source: step.Name(), Time: run.Now(), Status: "failed"},
	})
}

// why says in plain words what a step has failed for, as the next step and the answer have it:
// the same when the run is gone over again, where nothing but the words of an error is left.
func why(err error) string {
	text := whose.ReplaceAllString(err.Error(), "")
	if p := problem.OfRecord("", text); p.IsExplained() {
		text = strings.TrimSpace(p.Sentence + " " + p.Cause)
	}
	return clip(text)
}

// whose is what a [troupe.RunError] says beside its cause, once for each run around the one
// that failed.
var whose = regexp.MustCompile(`(?s)^.*\bagent \S+: task "(?:[^"\\]|\\.)*": after \d+ turns?: `)

// maxErrorText caps what a flow says of an error, in bytes.
const maxErrorText = 2 << 10

func clip(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	n := maxErrorText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// mustStop reports an error that no flow may go on after: the run was told to
// stop, or its log and its definition do not fit.
func mustStop(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, troupe.ErrChanged)
}

// check refuses what cannot be a flow of steps.
func check(kind, name string, steps []troupe.Step) error {
	if name == "" {
		return fmt.Errorf("%s: it needs a name", kind)
	}
	if len(steps) == 0 {
		return fmt.Errorf("%s %s: it has no steps", kind, name)
	}
	for i, step := range steps {
		switch {
		case step == nil || reflect.ValueOf(step).Kind() == reflect.Pointer && reflect.ValueOf(step).IsNil():
			return fmt.Errorf("%s %s: step %d is nil", kind, name, i+1)
		case step.Name() == "":
			return fmt.Errorf("%s %s: step %d has no name", kind, name, i+1)
		case step.Name() == name:
			return fmt.Errorf("%s %s: a step has the flow's own name", kind, name)
		}
	}
	return nil
}

// checkDistinct refuses steps that could not be told apart by their names.
func checkDistinct(kind, name string, steps []troupe.Step) error {
	var names []string
	for _, step := range steps {
		if slices.Contains(names, step.Name()) {
			return fmt.Errorf("%s %s: two steps have the name %s", kind, name, step.Name())
		}
		names = append(names, step.Name())
	}
	return nil
}

// must is for flows whose parts are written in the program.
func must(step troupe.Step, err error) troupe.Step {
	if err != nil {
		panic("flow: " + err.Error())
	}
	return step
}

// define makes a flow's definition. Settings that are empty or zero are left out.
func define(kind, name string, settings map[string]any, steps ...troupe.Step) *troupe.Definition {
	d := &troupe.Definition{Kind: kind, Name: name}
	for _, step := range steps {
		d.Steps = append(d.Steps, step.Definition())
	}
	for key, value := range settings {
		if value == 0 || value == false || value == "" {
			continue
		}
		if d.Settings == nil {
			d.Settings = map[string]string{}
		}
		d.Settings[key] = fmt.Sprint(value)
	}
	return d
}
