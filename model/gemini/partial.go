package gemini

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// A growingCall is a call whose arguments come value by value.
type growingCall struct {
	block     *wire.Block
	call      troupe.ToolCall
	arguments map[string]any
	size      int
}

// A partialArg is a value of an argument, or a piece of a text, and its place.
type partialArg struct {
	JSONPath    string
	StringValue *string
	NumberValue *json.Number
	BoolValue   *bool
	NullValue   json.RawMessage
}

func (a *answer) growCall(g *growingCall, pieces []partialArg, more bool) error {
	added := 0
	for i := range pieces {
		p := &pieces[i]
		added += len(p.JSONPath)
		if p.StringValue != nil {
			added += len(*p.StringValue)
		}
		if steps, ok := stepsOf(p.JSONPath); ok {
			g.arguments, _ = put(g.arguments, steps, p).(map[string]any)
		}
	}
	g.size += added
	if err := a.reply.Weigh(added); err != nil {
		return err
	}
	if err := a.reply.Growing(g.call.Name, g.size); err != nil {
		return err
	}
	if !more {
		return a.endCall()
	}
	return nil
}

// endCall adds the call that was growing.
func (a *answer) endCall() error {
	g := a.growing
	if g == nil {
		return nil
	}
	a.growing = nil
	if data, err := json.Marshal(g.arguments); err == nil && g.arguments != nil {
		g.call.Arguments = string(data)
	}
	return a.reply.Call(g.block, g.call, a.madeID)
}

var step = regexp.MustCompile(`^(?:\.([^.\[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]|\["([^"]*)"\])`)

// maxDepth bounds how deep arguments are nested.
const maxDepth = 32

// stepsOf takes a path such as $.a.b[0] apart: names, and numbers for elements.
func stepsOf(path string) (steps []any, ok bool) {
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" {
		m := step.FindStringSubmatch(rest)
		if m == nil || len(steps) == maxDepth {
			return nil, false
		}
		if m[2] != "" {
			n, _ := strconv.Atoi(m[2])
			steps = append(steps, n)
		} else {
			steps = append(steps, m[1]+m[3]+m[4])
		}
		rest = rest[len(m[0]):]
	}
	if len(steps) == 0 {
		return nil, false
	}
	_, isName := steps[0].(string)
	return steps, isName
}

// put returns a value with another one at a place inside it. A piece of text goes on
// with the text that is there.
func put(in any, steps []any, p *partialArg) any {
	if len(steps) == 0 {
		switch {
		case p.StringValue != nil:
			before, _ := in.(string)
			return before + *p.StringValue
		case p.NumberValue != nil:
			return *p.NumberValue
		case p.BoolValue != nil:
			return *p.BoolValue
		}
		return nil
	}
	switch at := steps[0].(type) {
	case string:
		object, ok := in.(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		object[at] = put(object[at], steps[1:], p)
		return object
	case int:
		list, _ := in.([]any)
		for len(list) <= at {
			list = append(list, nil)
		}
		list[at] = put(list[at], steps[1:], p)
		return list
	}
	return in
}
