package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The outcomes of trying a mutant.
const (
	killed   = "killed"    // a test failed
	timedOut = "timed out" // the tests took much longer than they do
	survived = "survived"  // no test noticed
	notBuilt = "not built" // the change is no program: it counts for nothing
)

// An attempt is a mutant and what became of it.
type attempt struct {
	mutant
	Outcome string        `json:"outcome"`
	Detail  string        `json:"detail,omitempty"`
	Took    time.Duration `json:"took_ns"`
}

// A report is what became of the mutants of one package.
type report struct {
	Package  string        `json:"package"`
	Seed     uint64        `json:"seed"`
	Tests    time.Duration `json:"tests_ns"` // how long the tests take unbroken, each alone
	Covered  int           `json:"covered"`  // mutants of lines that the tests reach
	Killed   int           `json:"killed"`
	TimedOut int           `json:"timed_out"`
	Survived int           `json:"survived"`
	NotBuilt int           `json:"not_built"`
	Score    float64       `json:"score"` // percent that died
	Tried    []attempt     `json:"tried"`
}

func (r *report) count() {
	for _, a := range r.Tried {
		switch a.Outcome {
		case killed:
			r.Killed++
		case timedOut:
			r.TimedOut++
		case survived:
			r.Survived++
		case notBuilt:
			r.NotBuilt++
		}
	}
	r.Score = 100
	if counted := r.Killed + r.TimedOut + r.Survived; counted > 0 {
		r.Score = 100 * float64(r.Killed+r.TimedOut) / float64(counted)
	}
}

// print writes the figures, and each survivor with its place and its change.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d of %d mutants of covered lines tried (seed %d): %d killed, %d timed out, %d survived, %d did not build: %.1f %% died\n",
		r.Package, len(r.Tried), r.Covered, r.Seed, r.Killed, r.TimedOut, r.Survived, r.NotBuilt, r.Score)
	for _, a := range r.Tried {
		if a.Outcome == survived {
			fmt.Fprintf(w, "  survived %s\n", a.at())
		}
	}
}

// at is the change after its place.
func (m *mutant) at() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.describe())
}

func (m *mutant) describe() string {
	if m.After == "" {
		return m.Kind + ": " + oneLine(m.Before)
	}
	return m.Kind + ": " + oneLine(m.Before) + " => " + oneLine(m.After)
}

func oneLine(code string) string {
	const most = 100
	code = strings.Join(strings.Fields(code), " ")
	if len(code) > most {
		return code[:most] + "..."
	}
	return code
}
