package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A table holds what was measured, by row and by column.
type table struct {
	rows    []string
	columns []entry
	cells   map[string]map[string]cell // by row, then by column
	remarks []string
}

// lines are the table as text: a heading, then a line per row. Missing cells
// have a footnote's number.
func (t *table) lines() (lines [][]string, notes []string) {
	heading := []string{"time / memory / allocations"}
	for _, column := range t.columns {
		heading = append(heading, column.name)
	}
	lines = append(lines, append(heading, "Troupe ÷ best peer"))
	for _, name := range t.rows {
		line := []string{name}
		for _, column := range t.columns {
			c := t.cells[name][column.name]
			if c.missing == "" {
				line = append(line, c.String())
				continue
			}
			note := column.name + ": " + c.missing
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
			line = append(line, fmt.Sprintf("– (%d)", slices.Index(notes, note)+1))
		}
		lines = append(lines, append(line, t.ratios(name)))
	}
	return lines, notes
}

// ratios compares Troupe with the best peer in each of the three respects.
func (t *table) ratios(row string) string {
	best, ok := t.best(row)
	if !ok {
		return "–"
	}
	ours := t.cells[row][troupeName]
	return fmt.Sprintf("%.2f / %.2f / %.2f",
		float64(ours.time)/float64(best.time), float64(ours.bytes)/float64(best.bytes), float64(ours.allocs)/float64(best.allocs))
}

// best is the least that any peer needs in a row, in each respect.
func (t *table) best(row string) (best figure, ok bool) {
	for _, column := range t.columns {
		c := t.cells[row][column.name]
		switch {
		case !column.isPeer() || c.missing != "":
		case !ok:
			best, ok = c.figure, true
		default:
			best = best.least(c.figure)
		}
	}
	return best, ok
}

// writeText writes the table for a terminal.
func (t *table) writeText(w io.Writer) error {
	lines, notes := t.lines()
	columns := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(columns, strings.Join(line, "\t"))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	return t.writeNotes(w, notes)
}

// writeMarkdown writes the table for a document.
func (t *table) writeMarkdown(w io.Writer) error {
	lines, notes := t.lines()
	for i, line := range lines {
		fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|%s\n", strings.Repeat(" --- |", len(line)))
		}
	}
	return t.writeNotes(w, notes)
}

func (t *table) writeNotes(w io.Writer, notes []string) error {
	fmt.Fprintln(w)
	for i, note := range notes {
		fmt.Fprintf(w, "(%d) %s\n\n", i+1, note)
	}
	for _, remark := range t.remarks {
		fmt.Fprintf(w, "%s\n", remark)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// String is time, memory and allocations, with three significant digits.
func (f figure) String() string {
	return fmt.Sprintf("%s / %s / %s", short(f.time), memory(f.bytes), thousands(f.allocs))
}

func short(d time.Duration) string {
	switch {
	case d >= time.Millisecond:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	case d >= time.Microsecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

func memory(n int64) string {
	switch {
	case n >= 1<<20:
		return digits(float64(n)/(1<<20)) + " MiB"
	case n >= 1<<10:
		return digits(float64(n)/(1<<10)) + " KiB"
	}
	return fmt.Sprintf("%d B", n)
}

func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousands(n int64) string {
	if n >= 1000 {
		return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
	}
	return fmt.Sprint(n)
}
