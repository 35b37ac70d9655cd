package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/eval"
	"github.com/troupe-dev/troupe/internal/words"
)

func (p *program) evalCommand() *cobra.Command {
	var o eval.Options
	var junit, out string
	c := &cobra.Command{
		Use:   "eval SUITE",
		Short: "Run cases against agents, and compare models or versions of a bundle",
		Long: "Runs the cases of a suite, checks what comes of them, and compares models or versions of a project: pass rates, cost and\n" +
			"time. Without a model it plays recordings where there are any, and rehearses else. It exits with 0 if every case passed as\n" +
			"often as it must, with 3 if not, and with 1 if some run could not be carried out. 'troupe sessions export ID --as-case'\n" +
			"makes a case of a conversation.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			suite, err := eval.Read(args[0])
			if err != nil {
				return err
			}
			if o.Record && o.Replay {
				return usage("--record and --replay cannot go together")
			}
			o.Project, o.Open = p.flags.dir, p.options()
			return p.eval(c.Context(), suite, o, junit, out)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Repeats, "repeats", 0, "run each case so often, whatever the suite says")
	f.StringVar(&o.Only, "only", "", "only cases whose names begin so")
	f.BoolVar(&o.Record, "record", false, "record what models answer into the suite's recordings")
	f.BoolVar(&o.Replay, "replay", false, "answer from the suite's recordings alone")
	f.StringVar(&junit, "junit", "", "write a JUnit report to this file")
	f.StringVar(&out, "output", "", "write the whole report as JSON to this file")
	return c
}

func (p *program) eval(ctx context.Context, suite *eval.Suite, o eval.Options, junit, out string) error {
	busy := p.busy("beginning")
	o.Begun = func(of int) { busy.doing("0 of %s", words.Counted(of, "run")) }
	o.Done = func(run eval.Played, n, of int) {
		mark := "✓"
		if !run.Passed() {
			mark = "✗"
		}
		busy.doing("%d of %s", n, words.Counted(of, "run"))
		busy.tell("%s %s, %s, run %d: %v", mark, terminal.OneLine(run.Case, 60), run.Variant, run.Run, run.Time.Round(1e7))
	}
	report, err := eval.Run(ctx, suite, o)
	busy.end()
	if err != nil {
		return err
	}
	for file, write := range map[string]func(io.Writer) error{junit: report.WriteJUnit, out: func(w io.Writer) error { return encodeJSON(w, report) }} {
		if file != "" {
			if err := writeFile(file, write); err != nil {
				return err
			}
		}
	}
	if p.flags.json {
		err = p.writeJSON(report)
	} else {
		err = report.WriteText(p.out)
	}
	switch {
	case err != nil:
		return err
	case report.Broken:
		return errBroken
	case !report.Passed:
		return errFindings
	}
	return nil
}

// writeFile writes a file, whose content a function writes.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
