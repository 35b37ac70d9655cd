//go:build unix

package main

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// patience is how long a command may take.
const patience = 5 * time.Minute

// A command is one invocation of troupe in a project.
type command struct {
	args  []string
	input string
	end   plan
	// change, where set, is made to the process before it is started.
	change func(*exec.Cmd)
}

// A plan says how a process is to end: at a point, or after a time, or by itself.
type plan struct {
	point failpoint.Point
	pass  int // how often it gets to the point
	after time.Duration
}

// An outcome is what became of a command.
type outcome struct {
	code     int // -1 if it was killed
	killed   bool
	took     time.Duration
	out, err string
}

// lines returns the complete lines of the output: those were acknowledged.
func (o *outcome) lines() []string {
	lines := strings.SplitAfter(o.out, "\n")
	return lines[:len(lines)-1]
}

// start starts a command in a directory. Its end is waited for by calling the result.
func (w *world) start(ctx context.Context, dir string, c command) (func() *outcome, *exec.Cmd, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	cmd := exec.CommandContext(ctx, w.program, c.args...)
	var out, trouble bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(c.input), &out, &trouble
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + filepath.Join(w.dir, "tmp"), "PATH=/usr/bin:/bin", "TROUPE_LOOK_FOR_OLLAMA=no"}
	if c.end.point != "" {
		cmd.Env = append(cmd.Env, failpoint.Variable+"="+c.end.String())
	}
	cmd.WaitDelay = patience // for the ledger, which may live a little longer
	if c.change != nil {
		c.change(cmd)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, nil, err
	}
	var killer *time.Timer
	if c.end.after > 0 {
		killer = time.AfterFunc(c.end.after, func() { cmd.Process.Kill() })
	}
	return func() *outcome {
		defer cancel()
		cmd.Wait() // how it ended is in the state
		if killer != nil {
			killer.Stop()
		}
		o := &outcome{code: cmd.ProcessState.ExitCode(), took: time.Since(began), out: out.String(), err: trouble.String()}
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		o.killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL && ctx.Err() == nil
		return o
	}, cmd, nil
}

// do runs a command to its end.
func (p *project) do(ctx context.Context, c command) (*outcome, error) {
	wait, _, err := p.world.start(ctx, p.dir, c)
	if err != nil {
		return nil, err
	}
	o := wait()
	p.world.report.add(restarts, 1)
	if p.world.Verbose {
		p.world.report.progress("%s: %q %v: code %d, %d bytes, %s %s", filepath.Base(p.dir), c.args, c.end, o.code, len(o.out), o.took.Round(time.Millisecond), o.err)
	}
	return o, ctx.Err()
}
