package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
)

// The exit codes. Scripts rely on them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // the command line is not one
	exitFindings    = 3
	exitInput       = 4 // a person must answer before it can go on
	exitInterrupted = 130
)

var (
	errInterrupted = errors.New("interrupted")
	// errFindings ends a command whose report is the message.
	errFindings = errors.New("there are findings")
	// errInput ends a command that has shown the question.
	errInput = errors.New("the agent waits for an answer")
	// errBroken ends a command that has said what is wrong.
	errBroken = errors.New("something is wrong")
)

// A usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// exitCode says what an error means to whoever started the program.
func exitCode(ctx context.Context, err error) int {
	_, isUsage := errors.AsType[*usageError](err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(context.Cause(ctx), errInterrupted) || errors.Is(err, errInterrupted):
		return exitInterrupted
	case isUsage:
		return exitUsage
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errInput):
		return exitInput
	}
	return exitFailed
}

// isReported says whether the user has been told already.
func isReported(err error) bool {
	return errors.Is(err, errFindings) || errors.Is(err, errInput) || errors.Is(err, errBroken)
}

// reportPanic makes a panic an exit code and one line. Where it came from is in a
// file, or in the log of whoever asked for all of it.
func (p *program) reportPanic(code *int) {
	if value := recover(); value != nil {
		p.tellCrash(&terminal.Crash{Value: value, Stack: debug.Stack()})
		*code = exitFailed
	}
}

func (p *program) tellCrash(crash *terminal.Crash) {
	if p.flags.logLevel == "debug" {
		fmt.Fprintf(p.err, "troupe: %v; this is a mistake in troupe\n%s", crash, crash.Stack)
		return
	}
	where := "run again with --log-level debug to see where"
	if file, err := writeCrash(crash); err == nil {
		where = "where it happened is in " + file
	}
	fmt.Fprintf(p.err, "troupe: %v; this is a mistake in troupe: %s\n", crash, where)
}

func writeCrash(crash *terminal.Crash) (name string, err error) {
	f, err := os.CreateTemp("", "troupe-crash-*.txt")
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(f, crash.Error()+"\n\n"+string(crash.Stack))
	return f.Name(), errors.Join(err, f.Close())
}
