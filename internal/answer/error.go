package answer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A Reason is why no value was read.
type Reason int

// The reasons.
const (
	NoJSON    Reason = iota // nothing in the text is meant as JSON
	Misfit                  // what there is does not fit
	Broken                  // its syntax is broken, and can be mended in several ways or in none
	Cut                     // it breaks off
	LeftOut                 // it says itself that something is left out
	Ambiguous               // different values fit
	TooLong                 // the text is longer than MaxText
)

// A Problem is one thing that is wrong with an answer.
type Problem struct {
	// Pointer is a JSON pointer, empty for the whole answer.
	Pointer string
	Message string
}

// String returns the problem as a phrase, such as: /next_phase: required, but missing.
func (p Problem) String() string {
	if p.Pointer == "" {
		return "the answer: " + p.Message
	}
	return p.Pointer + ": " + p.Message
}

// An Error says why no value was read from a text, in words for whoever wrote the text.
type Error struct {
	Reason Reason
	// Problems has at least one.
	Problems []Problem
	// Nearest is the largest sound value in the text that does not fit, nil if there is none.
	Nearest []byte
	// Unsound is the text from where the first value begins whose syntax is broken.
	Unsound []byte
	// Part is what there is of a value that breaks off, closed, or that something is left
	// out of, where it can be told. It may be shown. It is not to be used.
	Part []byte
}

// Error returns all problems in one line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// CutOff returns the error of a text that its provider says is not whole, whatever it
// looks like.
func CutOff(text string) *Error {
	r := &reader{check: nothing{}}
	if answer := WithoutThoughts(text); len(text) <= MaxText {
		_, _ = r.mend([]byte(answer)) // for where it breaks off; nothing fits
	}
	r.isCut, r.nearest = true, nil
	return r.failure()
}

// nothing is a checker that takes nothing.
type nothing struct{}

func (nothing) Check([]byte) error { return errors.New("nothing fits") }

// Correction returns the request to answer again, for the conversation in which the
// model sees what it was asked for and what it answered. The use completes "cannot be
// used as", such as: the output of the phase "qa". It may be empty.
func Correction(err error, use string) string {
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		failure = &Error{Problems: []Problem{{Message: err.Error()}}}
	}
	var b strings.Builder
	b.WriteString("Your last answer cannot be used")
	if use != "" {
		b.WriteString(" as " + use)
	}
	b.WriteString(":\n")
	for _, p := range failure.Problems {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	switch failure.Reason {
	case Cut:
		b.WriteString("Answer again from the beginning, with the whole JSON value and nothing else: no code block, no explanation. " +
			"Make it shorter, so that it is complete before the limit of one answer is reached.")
	case LeftOut:
		b.WriteString(`Answer again with the whole JSON value and nothing else, and write out what "..." stands for: no code block, no explanation.`)
	case Ambiguous:
		b.WriteString("Answer again with the one JSON value that you mean and nothing else: no code block, no draft, no explanation.")
	default:
		b.WriteString("Answer again with the whole corrected JSON value and nothing else: no code block, no explanation. Keep what was right.")
	}
	return b.String()
}

func ambiguous() *Error {
	return &Error{Reason: Ambiguous, Problems: []Problem{{Message: "it holds different JSON values that all fit; only one may be there"}}}
}

func tooLong(size int) *Error {
	return &Error{Reason: TooLong, Problems: []Problem{{Message: fmt.Sprintf("it has %d bytes, more than the %d allowed", size, MaxText)}}}
}

// failure returns why nothing was read.
func (r *reader) failure() *Error {
	e := &Error{Nearest: r.nearest, Unsound: r.unsound}
	switch {
	case r.isCut:
		e.Reason, e.Part = Cut, r.part
		e.Problems = []Problem{{Pointer: lastPointer(r.part), Message: "it breaks off here, before it is complete"}}
		return e
	case r.leaves && r.nearest == nil:
		e.Reason, e.Part = LeftOut, r.part
		e.Problems = []Problem{{Message: leavesOut}}
		return e
	case r.unsound != nil:
		e.Reason = Broken
		e.Problems = r.problemsOf(r.unsound)
		if r.doubt != "" {
			e.Problems = append(e.Problems, Problem{Message: "it cannot be mended with certainty: " + r.doubt})
		}
	}
	if r.nearest != nil {
		if e.Reason == NoJSON {
			e.Reason = Misfit
		}
		e.Problems = append(e.Problems, r.problemsOf(r.nearest)...)
	}
	if e.Problems == nil {
		e.Problems = []Problem{{Message: "it holds no JSON that could be read"}}
	}
	return e
}

// problemsOf returns what the checker says of a value.
func (r *reader) problemsOf(value []byte) []Problem {
	r.work += len(value)
	return Problems(r.check.Check(value))
}

// Problems returns what an error of a [Checker] says.
func Problems(err error) (problems []Problem) {
	if err == nil {
		return nil
	}
	mismatch, ok := errors.AsType[*argcheck.Mismatch](err)
	if !ok {
		return []Problem{{Message: err.Error()}}
	}
	for _, p := range mismatch.Problems {
		message := p.Expected
		if p.Got != "" {
			message = "expected " + p.Expected + ", got " + p.Got
		}
		problems = append(problems, Problem{Pointer: p.Path, Message: message})
	}
	if mismatch.More > 0 {
		problems = append(problems, Problem{Message: fmt.Sprintf("%d more problems", mismatch.More)})
	}
	return problems
}

// lastPointer returns the JSON pointer to what a value ends with.
func lastPointer(value []byte) (pointer string) {
	for {
		if fields := rawjson.Fields(value); len(fields) > 0 {
			last := fields[len(fields)-1]
			name := strings.ReplaceAll(strings.ReplaceAll(last.Name, "~", "~0"), "/", "~1")
			pointer, value = pointer+"/"+name, last.Value
			continue
		}
		elements := rawjson.Elements(value)
		if len(elements) == 0 {
			return pointer
		}
		pointer, value = fmt.Sprintf("%s/%d", pointer, len(elements)-1), elements[len(elements)-1]
	}
}
