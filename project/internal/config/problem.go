package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is something in troupe.yaml that keeps it from being used.
type Problem struct {
	File    string
	Line    int // 0 where it is about the file as a whole
	Message string
}

// Error shows the problem on one line, as compilers do.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems is everything that is wrong with a file, in the order of its lines.
type Problems []Problem

// Error shows one problem per line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}
