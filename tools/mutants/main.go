// Command mutants breaks the code in small ways, one at a time, and reports which
// of the broken programs their package's own tests let pass.
//
// Only lines that the package's tests reach are broken. The tree is never changed:
// each broken file is compiled in the place of the real one by an overlay.
//
//	mutants -root .. -sample 100 ./flow ./store/sqlite ./internal/journal=.
//
// The last breaks internal/journal and runs the tests of the root package. All mutants of
// one file, against the tests that are meant for it, take little time:
//
//	mutants -root .. -at pipeline/markdown.go -run Markdown ./pipeline
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// options are what the command line says.
type options struct {
	root     string
	sample   int
	seed     uint64
	parallel int
	limit    time.Duration
	memory   int    // MiB of address space for a test program; 0 is no limit
	only     string // the tests that are run, as go test -run
	skip     string
	at       string // the place whose mutants are tried: FILE or FILE:LINE
	short    bool
	least    float64
	report   string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "directory of the module")
	flag.IntVar(&o.sample, "sample", 0, "how many mutants of each package to try; 0 tries all")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses the sample")
	flag.IntVar(&o.parallel, "parallel", 2, "how many mutants are tried at the same time")
	flag.DurationVar(&o.limit, "limit", 0, "time for the tests of one mutant; 0 is 5 s more than three times what they take unbroken")
	flag.IntVar(&o.memory, "memory", 8192, "address space for the tests of one mutant, in MiB; 0 is no limit")
	flag.StringVar(&o.at, "at", "", "try only the mutants of this place, FILE or FILE:LINE, relative to the module")
	flag.StringVar(&o.only, "run", "", "tests to run, as go test -run")
	flag.StringVar(&o.skip, "skip", "", "tests to leave out, as go test -skip")
	flag.BoolVar(&o.short, "short", false, "run the tests with -short")
	flag.Float64Var(&o.least, "least", 0, "fail if a smaller part of the mutants dies, in percent")
	flag.StringVar(&o.report, "json", "", "file to write the whole report to, as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries the mutants of all packages. A package that cannot be tried is an
// error that does not keep the others from being tried.
func run(ctx context.Context, o options, patterns []string, out io.Writer) error {
	if len(patterns) == 0 {
		return errors.New("name the packages to try, such as ./flow")
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	var reports []*report
	var failures error
	for _, pattern := range patterns {
		if ctx.Err() != nil {
			break
		}
		r, err := tryPackage(ctx, o, pattern)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("package %s: %w", pattern, err))
			continue
		}
		r.print(out)
		reports = append(reports, r)
		if o.least > 0 && r.Score < o.least {
			failures = errors.Join(failures, fmt.Errorf("package %s: %.1f %% of the mutants died; at least %.1f %% must", pattern, r.Score, o.least))
		}
	}
	if o.report != "" {
		data, err := json.MarshalIndent(reports, "", "\t")
		if err == nil {
			err = os.WriteFile(o.report, append(data, '\n'), 0o644)
		}
		failures = errors.Join(failures, err)
	}
	return errors.Join(failures, ctx.Err())
}
