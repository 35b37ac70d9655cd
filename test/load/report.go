//go:build unix

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// A report is what was measured, and what went wrong.
type report struct {
	rows [][2]string

	mu       sync.Mutex
	failures int
	samples  []error // the first few failures
}

// row adds a measurement.
func (r *report) row(what, format string, args ...any) {
	r.rows = append(r.rows, [2]string{what, fmt.Sprintf(format, args...)})
}

// maxSamples is how many failures are shown. Where many fail, they fail alike.
const maxSamples = 5

// fail notes that a turn failed, or that its events were not what they should be.
func (r *report) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures++; len(r.samples) < maxSamples {
		r.samples = append(r.samples, err)
	}
}

// print prints the table. It fails if a turn has failed.
func (r *report) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "processors, of which model and readers have their part\t%d\n", runtime.GOMAXPROCS(0))
	for _, row := range r.rows {
		fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
	}
	fmt.Fprintf(table, "failed turns\t%d\n", r.failures)
	if err := table.Flush(); err != nil {
		return err
	}
	for _, err := range r.samples {
		fmt.Fprintln(out, "-", err)
	}
	if r.failures > 0 {
		return fmt.Errorf("%d turns failed", r.failures)
	}
	return nil
}

// percentile returns the value that so many in a hundred are not above, rounded for
// people; 0 if there are none.
func percentile(values []time.Duration, p int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)*p/100].Round(10 * time.Microsecond)
}
