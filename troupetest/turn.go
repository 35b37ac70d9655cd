package troupetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Turn is one answer of a [Script]. Begin one with a function such as [Say] or
// [Call] and add to it with its methods, each of which returns a changed copy:
//
//	troupetest.Think("I should add.").Call("add", `{"a":2,"b":3}`)
type Turn struct {
	pieces  []piece
	finish  troupe.Finish // empty for what the pieces call for
	usage   troupe.Usage
	failure error
	cut     bool
	forever bool
	checks  []Check
}

// A piece is a chunk, or a wait before the next one.
type piece struct {
	chunk troupe.Chunk
	wait  time.Duration
}

// Say answers with text, one chunk for each piece.
func Say(pieces ...string) Turn { return Turn{}.Say(pieces...) }

// Think begins with reasoning, one chunk for each piece.
func Think(pieces ...string) Turn { return Turn{}.Think(pieces...) }

// Call asks for a tool. The script gives the call its id.
func Call(tool, arguments string) Turn { return Turn{}.Call(tool, arguments) }

// Calls asks for several tools at once. A call without an id is given one.
func Calls(calls ...troupe.ToolCall) Turn { return Turn{}.Calls(calls...) }

// Refuse declines to answer.
func Refuse(text string) Turn { return Turn{}.with(troupe.Chunk{Refusal: text}) }

// Length answers with text that is cut off at the model's output limit.
func Length(pieces ...string) Turn { return Say(pieces...).Finish(troupe.FinishLength) }

// Wait lets time pass before it goes on, or until the request's context is done.
// In a bubble of [testing/synctest] that takes no time.
func Wait(d time.Duration) Turn { return Turn{}.Wait(d) }

// Fail ends in an error, such as a *[troupe.ModelError].
func Fail(err error) Turn { return Turn{}.Fail(err) }

// CutOff says text and stops without an end, as a broken connection does.
func CutOff(pieces ...string) Turn {
	t := Say(pieces...)
	t.cut = true
	return t
}

// Say adds text, one chunk for each piece.
func (t Turn) Say(pieces ...string) Turn {
	for _, text := range pieces {
		t = t.with(troupe.Chunk{Text: text})
	}
	return t
}

// Think adds reasoning, one chunk for each piece.
func (t Turn) Think(pieces ...string) Turn {
	for _, text := range pieces {
		t = t.with(troupe.Chunk{Thought: text})
	}
	return t
}

// Call adds a tool call.
func (t Turn) Call(tool, arguments string) Turn {
	return t.Calls(troupe.ToolCall{Name: tool, Arguments: arguments})
}

// Calls adds tool calls. Those without an id are given one.
func (t Turn) Calls(calls ...troupe.ToolCall) Turn {
	for _, call := range calls {
		t = t.with(troupe.Chunk{Call: &call})
	}
	return t
}

// Wait adds a pause.
func (t Turn) Wait(d time.Duration) Turn {
	t.pieces = append(slices.Clip(t.pieces), piece{wait: d})
	return t
}

// Fail ends the turn in an error, after what it has said so far.
func (t Turn) Fail(err error) Turn { t.failure = err; return t }

// Finish ends the turn for another reason than its pieces call for.
func (t Turn) Finish(f troupe.Finish) Turn { t.finish = f; return t }

// Using sets what the turn says it has used.
func (t Turn) Using(u troupe.Usage) Turn { t.usage = u; return t }

// Forever repeats the turn for all requests to come.
func (t Turn) Forever() Turn { t.forever = true; return t }

// Expect checks the request that the turn answers.
func (t Turn) Expect(checks ...Check) Turn {
	t.checks = append(slices.Clip(t.checks), checks...)
	return t
}

func (t Turn) with(chunk troupe.Chunk) Turn {
	t.pieces = append(slices.Clip(t.pieces), piece{chunk: chunk})
	return t
}

// end is the last chunk of a turn that has one.
func (t Turn) end() *troupe.End {
	finish := t.finish
	if finish == "" {
		finish = troupe.FinishStop
		if slices.ContainsFunc(t.pieces, func(p piece) bool { return p.chunk.Call != nil }) {
			finish = troupe.FinishCalls
		}
	}
	return &troupe.End{Finish: finish, Usage: t.usage, Model: "script"}
}

// String shows the turn in the words of a transcript's replies, on one line.
func (t Turn) String() string {
	var words []string
	for _, p := range t.pieces {
		c := &p.chunk
		switch {
		case c.Call != nil:
			words = append(words, fmt.Sprintf("call %s %s", c.Call.Name, c.Call.Arguments))
		case c.Thought != "":
			words = append(words, fmt.Sprintf("think %q", c.Thought))
		case c.Refusal != "":
			words = append(words, fmt.Sprintf("refuse %q", c.Refusal))
		case p.wait != 0:
			words = append(words, "wait "+p.wait.String())
		default:
			words = append(words, fmt.Sprintf("say %q", c.Text))
		}
	}
	if t.finish != "" {
		words = append(words, "finish "+string(t.finish))
	}
	if t.failure != nil {
		words = append(words, fmt.Sprintf("fail %v", t.failure))
	}
	if t.cut {
		words = append(words, "cut")
	}
	return strings.Join(words, "; ")
}
