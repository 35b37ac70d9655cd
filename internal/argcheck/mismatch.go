package argcheck

import (
	"fmt"
	"strings"
)

const maxProblems = 10

// A Mismatch is the error of a text that is JSON and does not fit the schema. Its
// message is written for whoever made the text, who may be a model.
type Mismatch struct {
	// Problems holds at most ten.
	Problems []Problem
	// More is the number of problems beyond those.
	More int
}

// A Problem is one thing that does not fit.
type Problem struct {
	// Path is a JSON pointer, such as /items/0/price. It is empty for the whole text.
	// A name of more than 60 characters is shortened.
	Path string
	// Expected says what the schema asks for, or all there is to say where Got is empty.
	Expected string
	// Got is what came instead, shortened.
	Got string
	// IsMissing says that the field is required and not there.
	IsMissing bool
	// IsRepeated says that the object has the field more than once.
	IsRepeated bool
	// Known is a JSON array of the names that the object may have, where the field is
	// none of them, and empty else.
	Known string
	// Options is a JSON array of the strings that an enum or a const allows here, and
	// empty where there are none.
	Options string
}

// Error returns all problems in one line.
func (m *Mismatch) Error() string {
	lines := make([]string, len(m.Problems))
	for i, p := range m.Problems {
		lines[i] = p.String()
	}
	if m.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", m.More))
	}
	return strings.Join(lines, "; ")
}

// String returns the problem as a phrase, such as: field /b: expected integer, got null.
func (p Problem) String() string {
	if p.Path == "" {
		return "the arguments: " + p.complaint()
	}
	return "field " + p.Path + ": " + p.complaint()
}

func (p Problem) complaint() string {
	if p.Got == "" {
		return p.Expected
	}
	return "expected " + p.Expected + ", got " + p.Got
}

// hasRoom counts a problem and says whether there is room to add it.
func (m *Mismatch) hasRoom() bool {
	if len(m.Problems) < maxProblems {
		return true
	}
	m.More++
	return false
}

// Malformed is the error of a text that is not JSON, or that is and is refused.
type Malformed struct {
	// Offset is the place in the text, in bytes.
	Offset int
	// Reason says what is wrong there.
	Reason string
	// Near is the text around that place.
	Near string
}

// Error returns the reason and the place.
func (m *Malformed) Error() string {
	text := fmt.Sprintf("cannot read the JSON at byte %d: %s", m.Offset, m.Reason)
	if m.Near != "" {
		text += ", near: " + m.Near
	}
	return text
}
