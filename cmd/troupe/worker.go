package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/project"
)

func (p *program) workerCommand() *cobra.Command {
	var queue string
	var atOnce int
	var rate float64
	c := &cobra.Command{
		Use:   "worker",
		Short: "Carry out runs that servers have put on record",
		Long: "Carries out the runs that servers put on record, with 'engine: workers' or 'engine: temporal' in troupe.yaml and a\n" +
			"PostgreSQL store. Start as many as there is work for, on any machine that has the project's files. Of the queues in\n" +
			"troupe.yaml each needs workers of its own, and so does what fits none of them.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if atOnce < 1 {
				return usage("--at-once: at least one")
			}
			if !(rate >= 0) {
				return usage("--rate: a number of runs a second, 0 for no limit")
			}
			return p.inProject(func(opened *project.Project) error {
				usual, err := opened.QueueRate(queue)
				if err != nil {
					return err
				}
				if !c.Flags().Changed("rate") {
					rate = usual
				}
				if opened.EngineKind() == project.EngineTemporal {
					return p.workTemporal(c.Context(), opened, "-queue", queue, "-at-once", strconv.Itoa(atOnce), "-rate", strconv.FormatFloat(rate, 'f', -1, 64))
				}
				if rate != 0 {
					return usage("--rate: limits for all workers of a queue need 'engine: temporal'")
				}
				if _, err := opened.SharedStore(c.Context()); err != nil {
					return err
				}
				p.tell("%s", waitingFor(opened, queue))
				return opened.Work(c.Context(), queue, atOnce)
			})
		},
	}
	c.Flags().StringVar(&queue, "queue", "", "the queue to take runs from (default: the usual one)")
	c.Flags().IntVar(&atOnce, "at-once", 16, "how many runs are carried out at the same time")
	c.Flags().Float64Var(&rate, "rate", 0, "how many runs all workers of the queue begin in a second, with Temporal (default: as troupe.yaml says)")
	return c
}

// waitingFor says what a worker waits for, and what it leaves to others.
func waitingFor(opened *project.Project, queue string) string {
	switch others := opened.Queues(); {
	case queue != "":
		return "Waiting for runs of queue " + queue + "."
	case len(others) > 0:
		return "Waiting for runs that fit no queue of troupe.yaml (" + strings.Join(others, ", ") + ": see --queue)."
	}
	return "Waiting for runs."
}

// temporalProgram is the program that has what troupe does not link.
const temporalProgram = "troupe-temporal"

// runTemporal has the program for Temporal do something, with the project's directory as
// the first argument. It is looked for beside this one and then where programs are.
func (p *program) runTemporal(ctx context.Context, opened *project.Project, args ...string) error {
	return p.pipeTemporal(ctx, opened, nil, args...)
}

// workTemporal has the program for Temporal carry out runs until ctx is done. Its standard input
// ends with this process, however that ends, and the program with it.
func (p *program) workTemporal(ctx context.Context, opened *project.Project, args ...string) error {
	open, held, err := os.Pipe()
	if err != nil {
		return err
	}
	defer held.Close()
	defer open.Close()
	err = p.pipeTemporal(ctx, opened, open, append([]string{"worker", "-until-eof"}, args...)...)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // it has ended well, as it was told to
	}
	return err
}

func (p *program) pipeTemporal(ctx context.Context, opened *project.Project, in io.Reader, args ...string) error {
	path, err := findTemporal()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, path, append([]string{"-C", opened.Dir(), "-model", p.flags.model}, args...)...)
	c.Stdin, c.Stdout, c.Stderr = in, p.out, p.err
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = endGrace
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.ExitCode() < 0 {
			return fmt.Errorf("%s ended: %w", temporalProgram, exit)
		}
		return errBroken // it has said why
	}
	return err
}

func findTemporal() (string, error) {
	name := temporalProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("engine: temporal needs the program %s beside this one or on the PATH: go install github.com/troupe-dev/troupe/engine/temporal/cmd/%s@latest", temporalProgram, temporalProgram)
	}
	return path, nil
}
