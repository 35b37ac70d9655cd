// Bench runs the same work on Troupe, on other frameworks and on a loop written
// by hand, with a stub model that costs nothing, and says what each of them costs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// errTargetMissed makes the exit status say that the verdicts are not all good.
var errTargetMissed = errors.New("a target is missed")

func main() {
	testing.Init() // testing.Benchmark takes its duration from a flag
	markdown := flag.Bool("markdown", false, "write a markdown table")
	runs := flag.Int("runs", 5, "measure every cell so often and keep the least")
	each := flag.Duration("each", 100*time.Millisecond, "how long one measurement goes on")
	flag.Parse()
	if err := flag.Set("test.benchtime", each.String()); err != nil {
		fail(err)
	}
	t, err := measureAll(*runs, os.Stderr)
	if err != nil {
		fail(err)
	}
	write := t.writeText
	if *markdown {
		write = t.writeMarkdown
	}
	if err := write(os.Stdout); err != nil {
		fail(err)
	}
	if err := writeVerdicts(os.Stdout, t.verdicts(context.Background()), *markdown); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// measureAll fills the table, naming each row on progress as it begins.
func measureAll(runs int, progress io.Writer) (*table, error) {
	t := &table{columns: entries(), cells: make(map[string]map[string]cell)}
	for _, r := range rows() {
		fmt.Fprintln(progress, "measuring:", r.name)
		t.rows = append(t.rows, r.name)
		t.cells[r.name] = make(map[string]cell)
		for _, e := range t.columns {
			c, err := measure(r, e, runs)
			if err != nil {
				return nil, err
			}
			t.cells[r.name][e.name] = c
		}
	}
	first, err := firstTool()
	if err != nil {
		return nil, err
	}
	t.remarks = append(t.remarks, fmt.Sprintf("Troupe infers a type's schema once per process: an agent and the first tool of its types cost %s.", first))
	return t, nil
}

func writeVerdicts(w io.Writer, all []verdict, asList bool) error {
	bullet := ""
	if asList {
		bullet = "- "
	}
	met := true
	for _, v := range all {
		fmt.Fprintf(w, "%s%s\n", bullet, v)
		met = met && v.met
	}
	if !met {
		return errTargetMissed
	}
	return nil
}
