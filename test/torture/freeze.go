//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// freezes is how many processes are frozen, and freezeTries how often that is tried
	// for each: most are at work for a moment only.
	freezes     = 2
	freezeTries = 50
	// leasePatience is how long it takes at most until a frozen process has lost its
	// session.
	leasePatience = 40 * time.Second
)

// freeze stops processes in the middle of a run for longer than their leases last. Others
// go on with their runs, and when they wake up they must not do anything more.
func (w *world) freeze(ctx context.Context) error {
	p, _, err := w.prepared(ctx, "ice", iceTasks)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(w.Seed, lanes+2))
	for task, done := iceTasks+1, 0; done < freezes; task++ {
		if task == iceTasks+freezeTries {
			p.problem("no process could be frozen in the middle of a run")
			return nil
		}
		began := make(chan struct{})
		c := runTask(task)
		c.change = func(cmd *exec.Cmd) { cmd.Stdout = io.MultiWriter(cmd.Stdout, &bell{rung: began}) }
		wait, cmd, err := w.start(ctx, p.dir, c)
		if err != nil {
			return err
		}
		select {
		case <-began: // its first event is stored
		case <-time.After(patience):
			return errNotReached
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			wait()
			continue
		}
		froze, err := w.takeOver(ctx, p, task)
		if err == nil {
			err = cmd.Process.Signal(syscall.SIGCONT)
		}
		o := wait()
		switch {
		case err != nil:
			return err
		case !froze:
			if err := p.finish(ctx, task, o); err != nil {
				return err
			}
			continue
		}
		done++
		w.report.add(frozen, 1)
		// It notices by itself, or its next event is refused.
		isRefused := strings.Contains(o.err, "another process has taken the session over") || strings.Contains(o.err, "the lease that it is written under is over")
		if o.code != 1 || !isRefused {
			p.problem("a frozen process ended with exit code %d: %s", o.code, o.err)
		}
		o.code = 0
		if _, err := p.mustAnswer(ctx, task, o); err != nil {
			return err
		}
	}
	return nil
}

// takeOver goes on with the run of a process that does not answer, if it has one.
func (w *world) takeOver(ctx context.Context, p *project, task int) (bool, error) {
	list, err := p.list(ctx)
	if err != nil {
		return false, err
	}
	for _, listed := range list {
		if !strings.HasPrefix(listed.Summary, fmt.Sprintf("T%d ", task)) || listed.Execution.Status != "running" {
			continue
		}
		for deadline := time.Now().Add(leasePatience); time.Now().Before(deadline); time.Sleep(time.Second) {
			o, err := p.do(ctx, command{args: []string{"--json", "sessions", "resume", listed.ID}})
			if err != nil {
				return false, err
			}
			if o.code == 0 {
				return true, nil
			}
			if !strings.Contains(o.err, "has had it since") && !strings.Contains(o.err, "database is locked") {
				p.problem("to go on with what a frozen process has: exit code %d: %s", o.code, o.err)
				return true, nil
			}
		}
		p.problem("a process that is frozen keeps its session")
		return true, nil
	}
	return false, nil
}
