//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Run runs a command. Only Off and Wrapped are to be had on this system.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	c.Limits = c.Limits.filled()
	if s.level != Off && s.level != Wrapped {
		return Result{}, errors.New("it needs Linux")
	}
	argv := c.Argv
	if s.level == Wrapped {
		argv = s.wrapped(c)
	}
	home, err := os.MkdirTemp("", "troupe-home-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(home)
	timed, cancel := context.WithTimeout(ctx, c.Limits.Time)
	defer cancel()
	cmd := exec.CommandContext(timed, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, append(c.Env, "HOME="+home, "TMPDIR="+home), 2*time.Second
	kept := &output{limit: c.Limits.Output}
	cmd.Stdout, cmd.Stderr = kept, kept
	begun := time.Now()
	failure := cmd.Run()
	r := Result{Duration: time.Since(begun), Output: kept.String(), Dropped: kept.dropped}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case timed.Err() != nil:
		r.Ended = "time"
	case errors.Is(failure, exec.ErrNotFound) || errors.Is(failure, os.ErrNotExist):
		r.Exit, r.Missing = 127, fmt.Sprintf("%s: there is no such program", argv[0])
		return r, nil
	}
	if cmd.ProcessState != nil {
		r.Exit = cmd.ProcessState.ExitCode()
	}
	return r, nil
}

// Child is the sandbox's own child, which there is none of on this system.
func Child() int { return 1 }
