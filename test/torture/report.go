//go:build unix

package main

import (
	"fmt"
	"sync"
	"text/tabwriter"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A report counts what was done and what was wrong.
type report struct {
	options
	mu       sync.Mutex
	points   map[failpoint.Point]int
	counts   map[string]int
	problems []string
}

// What is counted, in the order it is shown.
const (
	randomKills   = "kills at random moments"
	pointKills    = "kills at failpoints"
	restarts      = "commands run"
	sessions      = "sessions brought to their answers"
	eventChecks   = "acknowledged events checked"
	fileChecks    = "files checked"
	modelCalls    = "model calls"
	askedAgain    = "model calls asked again because a kill cut them"
	effects       = "calls of a tool that is not safe to repeat"
	deliveryKills = "deliveries killed and resumed"
	diskLimits    = "commands on a disk that is full"
	readOnlys     = "commands where nothing may be written"
	intruders     = "commands on a data directory in use"
	deletions     = "deletions killed"
	forks         = "forks killed"
	frozen        = "processes frozen past their leases"
	serverKills   = "servers killed while clients talk to them"
	cuts          = "connections of clients that may be cut"
)

var counted = []string{randomKills, pointKills, restarts, sessions, eventChecks, fileChecks, modelCalls, askedAgain, effects, deliveryKills, diskLimits, readOnlys, intruders, deletions, forks, frozen, serverKills, cuts}

func newReport(o options) *report {
	return &report{options: o, points: map[failpoint.Point]int{}, counts: map[string]int{}}
}

func (r *report) add(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what] += n
	if total := r.counts[randomKills] + r.counts[pointKills]; (what == randomKills || what == pointKills) && total%50 == 0 {
		fmt.Fprintf(r.Out, "%d kills, %d problems\n", total, len(r.problems))
	}
}

// hit counts a kill at a point.
func (r *report) hit(p failpoint.Point) {
	r.add(pointKills, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.points[p]++
}

func (r *report) progress(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.Out, format+"\n", args...)
}

// problem notes that something is not as it should be.
func (r *report) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	r.problems = append(r.problems, text)
	fmt.Fprintf(r.Out, "PROBLEM: %s\n", text)
}

// close prints the table. It fails if there were problems.
func (r *report) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	table := tabwriter.NewWriter(r.Out, 0, 0, 2, ' ', 0)
	for _, p := range failpoint.Points() {
		fmt.Fprintf(table, "killed at %s\t%d\n", p, r.points[p])
		if r.points[p] == 0 && r.Only == "" {
			r.problems = append(r.problems, fmt.Sprintf("the point %s was never reached", p))
		}
	}
	for _, what := range counted {
		fmt.Fprintf(table, "%s\t%d\n", what, r.counts[what])
	}
	fmt.Fprintf(table, "problems\t%d\n", len(r.problems))
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range r.problems {
		fmt.Fprintln(r.Out, "-", p)
	}
	if n := len(r.problems); n > 0 {
		return fmt.Errorf("%d problems", n)
	}
	return nil
}
