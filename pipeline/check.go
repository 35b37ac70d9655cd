package pipeline

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/answer"
	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
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
func (c *Contract) Check(text []byte) []Problem {
	problems := c.criticalProblems(text)
	known := map[string]bool{}
	for _, p := range problems {
		known[p.Pointer] = true
	}
	for _, p := range c.warnings(text) {
		if !known[p.Pointer] {
			problems = append(problems, p)
		}
	}
	return problems
}

// warnings is Check for an answer that fits.
func (c *Contract) warnings(text []byte) []Problem { return problemsOf(c.whole.Check(text)) }

// fits reports whether an answer has all that is critical.
func (c *Contract) fits(text []byte) bool { return critical{c}.Check(text) == nil }

func (c *Contract) criticalProblems(text []byte) []Problem {
	problems := problemsOf(critical{c}.Check(text))
	for i := range problems {
		problems[i].Critical = true
	}
	return problems
}

// critical checks what an answer must have to be used.
type critical struct{ *Contract }

// Check implements [answer.Checker].
func (c critical) Check(text []byte) error {
	if err := c.critical.Check(text); err != nil {
		if c.failed.Check(text) == nil {
			return nil
		}
		return err
	}
	if missing := c.missing(text); missing != nil {
		return &argcheck.Mismatch{Problems: missing}
	}
	return nil
}

// lost returns the fields that the schema requires and an answer lacks whose syntax was
// mended: the mending may have lost them. An answer that says that its phase failed
// needs none.
func (c *Contract) lost(text []byte) (problems []Problem) {
	mismatch, ok := errors.AsType[*argcheck.Mismatch](c.whole.Check(text))
	if !ok || c.failed.Check(text) == nil {
		return nil
	}
	for _, p := range mismatch.Problems {
		if p.IsMissing {
			problems = append(problems, Problem{Pointer: p.Path, Message: "required, but missing after the syntax was mended", Critical: true})
		}
	}
	return problems
}

// missing returns what the next phase needs and a sound answer lacks that says that
// the next phase is ready.
func (c *Contract) missing(text []byte) (problems []argcheck.Problem) {
	fields := rawjson.Fields(text)
	if string(fields.At("/next_phase/ready")) != "true" || string(fields.At("/status")) == `"failed"` {
		return nil
	}
	for _, needed := range c.needed {
		alternatives := strings.Split(needed, "|")
		if slices.ContainsFunc(alternatives, func(pointer string) bool { return isFilled(fields.At(pointer)) }) {
			continue
		}
		message := "the next phase needs it, but it is missing or empty"
		if len(alternatives) > 1 {
			message = "the next phase needs one of " + strings.Join(alternatives, ", ") + ", but they are missing or empty"
		}
		problems = append(problems, argcheck.Problem{Path: alternatives[0], Expected: message})
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
		return strings.TrimSpace(rawjson.Unquote(value)) != ""
	case '[', '{':
		return rawjson.SkipSpace(value, 1) < len(value)-1
	}
	return true
}

// problemsOf returns what a check found.
func problemsOf(err error) (problems []Problem) {
	for _, p := range answer.Problems(err) {
		problems = append(problems, Problem{Pointer: p.Pointer, Message: p.Message})
	}
	return problems
}
