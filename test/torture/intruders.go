//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"
)

var errNotReached = errors.New("the process does not come to its first event")

const (
	// intrusions is how often a process meets another, once unharmed and once killed.
	intrusions = 25
	// knocks is how often one works beside another that stays for patience at most.
	knocks = 8
)

// getInTheWay starts processes where one has the data directory open.
func (w *world) getInTheWay(ctx context.Context) error {
	p, old, err := w.prepared(ctx, "way", wayTasks)
	if err != nil {
		return err
	}
	if err := w.knock(ctx, p, old); err != nil {
		return err
	}
	return w.race(ctx, p)
}

// knock works beside a process that stays.
func (w *world) knock(ctx context.Context, p *project, old string) error {
	first, lines, err := p.stay(ctx)
	if err != nil {
		return err
	}
	for i := range knocks {
		task := wayTasks + 1 + i
		c := runTask(task)
		if i%2 == 1 {
			c = command{args: []string{"--json", "chat", "writer", "--session", old, "-m", fmt.Sprintf("T%d {writer=write:a.md}", task)}}
		}
		o, err := p.do(ctx, c)
		if err != nil {
			return err
		}
		w.report.add(intruders, 1)
		if o.code != 0 {
			p.problem("troupe %q, while process %d is at work: exit code %d: %s", c.args, first.pid, o.code, o.err)
		} else if i%2 == 0 {
			if _, err := p.mustAnswer(ctx, task, o); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(lines, "T%d {writer=write:c.md}\n", wayTasks+intrusions+2)
	lines.Close()
	o := first.wait()
	if _, err := p.mustAnswer(ctx, wayTasks+intrusions+2, o); err != nil {
		return err
	}
	_, err = p.show(ctx, old, nil)
	return err
}

// A resident is a process that stays until its input ends.
type resident struct {
	pid  int
	wait func() *outcome
}

// stay starts a process that has been told one thing and waits for the next.
func (p *project) stay(ctx context.Context) (*resident, io.WriteCloser, error) {
	in, lines, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	began := make(chan struct{})
	wait, cmd, err := p.world.start(ctx, p.dir, command{args: []string{"--json", "chat", "writer"}, change: func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.Stdout = in, io.MultiWriter(cmd.Stdout, &bell{rung: began})
	}})
	if err != nil {
		lines.Close()
		return nil, nil, err
	}
	fmt.Fprintf(lines, "T%d {writer=write:a.md}\n", wayTasks+intrusions+1)
	select {
	case <-began:
		return &resident{cmd.Process.Pid, wait}, lines, nil
	case <-time.After(patience):
		lines.Close()
		wait()
		return nil, nil, errNotReached
	}
}

// A bell rings at the first thing that is written.
type bell struct {
	once sync.Once
	rung chan struct{}
}

func (b *bell) Write(data []byte) (int, error) {
	b.once.Do(func() { close(b.rung) })
	return len(data), nil
}

// race starts processes while another is being killed.
func (w *world) race(ctx context.Context, p *project) error {
	random := rand.New(rand.NewPCG(w.Seed, lanes))
	task := wayTasks + 1<<10
	for range intrusions {
		first := runTask(task)
		first.end.after = time.Duration(1+random.IntN(200)) * time.Millisecond
		waitFirst, _, err := w.start(ctx, p.dir, first)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		second, err := p.do(ctx, runTask(task+1))
		if err != nil {
			return err
		}
		killed := waitFirst()
		w.report.add(intruders, 1)
		if _, err := p.mustAnswer(ctx, task+1, second); err != nil {
			return err
		}
		if err := p.finish(ctx, task, killed); err != nil {
			return err
		}
		task += 2
	}
	return p.leftovers()
}
