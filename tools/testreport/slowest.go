package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// shownSlow is how many of the slowest tests are named.
const shownSlow = 15

// A timed test took so many seconds.
type timed struct {
	test    string
	seconds float64
}

// note keeps a test with its time, where it is a test of its own.
func (r *report) note(e *event) {
	if e.Test != "" && !strings.Contains(e.Test, "/") {
		r.timed = append(r.timed, timed{e.Package + " " + e.Test, e.Elapsed})
	}
}

// slowest are the tests that took longest, the longest first: where to look when all of them
// together take too long.
func (r *report) slowest() (lines []string) {
	slices.SortStableFunc(r.timed, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, t := range r.timed[:min(len(r.timed), shownSlow)] {
		lines = append(lines, fmt.Sprintf("%6.1fs %s", t.seconds, t.test))
	}
	return lines
}
