package mcp

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// grace is how long a process may take to end by itself.
const grace = 2 * time.Second

// A process is a server that was started.
type process struct {
	cmd    *exec.Cmd
	pipes  *stdio
	noise  *noise
	exited chan struct{} // closed when the process is gone
}

// start starts the server's program in a process group of its own.
func start(c *Config) (*process, error) {
	path, err := exec.LookPath(c.Command)
	if err == nil {
		path, err = filepath.Abs(path) // Dir must not change what is meant
	}
	if err != nil {
		return nil, err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	noise := &noise{logger: c.Logger}
	p := &process{
		cmd: &exec.Cmd{
			Path: path, Args: append([]string{c.Command}, c.Args...), Env: environment(c.Env), Dir: c.Dir,
			Stdin: theirIn, Stdout: theirOut, Stderr: noise, WaitDelay: grace,
		},
		pipes: newStdio(in, out, c.Timeout, noise), noise: noise, exited: make(chan struct{}),
	}
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		p.pipes.Close()
		return nil, err
	}
	go p.watch(out)
	return p, nil
}

// environment never returns nil, which would mean that everything is inherited.
func environment(values map[string]string) []string {
	list := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, name+"="+values[name])
	}
	return list
}

// watch returns when the process is gone. What it started goes with it, and whoever
// got away and still holds its output is not waited for.
func (p *process) watch(out *os.File) {
	defer close(p.exited)
	_ = p.cmd.Wait() // its state says the same
	killGroup(p.cmd)
	_ = out.SetReadDeadline(time.Now().Add(grace)) // fails if it is closed already
}

// stop ends the process and returns when it is gone.
func (p *process) stop() {
	_ = p.pipes.in.Close()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-p.exited:
	case <-patience.C:
		killGroup(p.cmd)
		<-p.exited
	}
	_ = p.pipes.Close()
}

// Connect makes a process its own transport.
func (p *process) Connect(context.Context) (sdk.Connection, error) { return p.pipes, nil }

// explain adds to an error what the process said last.
func (p *process) explain(err error) error {
	if last := p.noise.last(); last != "" {
		return fmt.Errorf("%w; it said: %s", err, last)
	}
	return err
}
