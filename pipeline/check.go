package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// A Problem is one thing in an answer that is not as the contract says.
type Problem struct {
	// Pointer is a JSON pointer, empty for the whole answer.
	Pointer string `json:"pointer"`
	Message string `json:"message"`
	// Critical says that the answer must not be used. Otherwise this is a warning.
	Critical bool `json:"critical"`
}

// String returns the problem as a phrase, such as: /next_phase: required, but missing.
func (p Problem) String() string {
	if p.Pointer == "" {
		return "the answer: " + p.Message
	}
	return p.Pointer + ": " + p.Message
}

// Check returns what is wrong with an answer, the critical problems first; nil if it
// is as the contract says. Of more than ten problems of a sort, the rest is counted
// in one more.
func (c *Contract) Check(answer []byte) []Problem {
	problems := c.criticalProblems(answer)
	known := map[string]bool{}
	for _, p := range problems {
		known[p.Pointer] = true
	}
	for _, p := range c.warnings(answer) {
		if !known[p.Pointer] {
			problems = append(problems, p)
		}
	}
	return problems
}

// warnings is Check for an answer that fits.
func (c *Contract) warnings(answer []byte) []Problem { return problemsOf(c.whole.Check(answer)) }

// fits reports whether an answer has all that is critical.
func (c *Contract) fits(answer []byte) bool {
	const shortest = len(`{"status":"failed","phase":"x"}`)
	return len(answer) >= shortest && len(c.criticalProblems(answer)) == 0
}

func (c *Contract) criticalProblems(answer []byte) []Problem {
	problems := problemsOf(c.critical.Check(answer))
	if len(problems) > 0 && c.failed.Check(answer) == nil {
		return nil
	}
	if len(problems) == 0 {
		problems = c.missing(answer)
	}
	for i := range problems {
		problems[i].Critical = true
	}
	return problems
}

// missing returns what the next phase needs and a sound answer lacks that says that
// the next phase is ready.
func (c *Contract) missing(answer []byte) (problems []Problem) {
	fields := fieldsOf(answer)
	if string(fields.at("/next_phase/ready")) != "true" || string(fields.at("/status")) == `"failed"` {
		return nil
	}
	for _, needed := range c.needed {
		alternatives := strings.Split(needed, "|")
		if slices.ContainsFunc(alternatives, func(pointer string) bool { return isFilled(fields.at(pointer)) }) {
			continue
		}
		message := "the next phase needs it, but it is missing or empty"
		if len(alternatives) > 1 {
			message = "the next phase needs one of " + strings.Join(alternatives, ", ") + ", but they are missing or empty"
		}
		problems = append(problems, Problem{Pointer: alternatives[0], Message: message})
	}
	return problems
}

// isFilled reports whether a sound value is there and not empty. A number and a
// boolean always are.
func isFilled(value []byte) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return false
	}
	switch value[0] {
	case '"':
		return strings.TrimSpace(unquote(value)) != ""
	case '[', '{':
		return skipSpace(value, 1) < len(value)-1
	}
	return true
}

// problemsOf returns what argcheck found.
func problemsOf(err error) (problems []Problem) {
	if err == nil {
		return nil
	}
	mismatch, ok := errors.AsType[*argcheck.Mismatch](err)
	if !ok {
		return []Problem{{Message: err.Error(), Critical: true}}
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
