package knowledge

import (
	"io"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// A process is a server that was started.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser // what it reads
	out  io.ReadCloser  // what it prints
	wait func()         // returns when it is gone
}

func start(c *ClientConfig) (*process, error) {
	cmd := exec.Command(c.Command, c.Args...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = c.Dir, c.Stderr, closeGrace
	cmd.Env = []string{} // nil would mean that everything is inherited
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		cmd.Env = append(cmd.Env, name+"="+c.Env[name])
	}
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// How it ends is of no interest: it was told to.
	return &process{cmd: cmd, in: in, out: out, wait: sync.OnceFunc(func() { _ = cmd.Wait() })}, cmd.Start()
}

// end closes the process's input, kills it if it has not ended by itself after the
// grace, and returns when it is gone. What it has started goes with it.
func (p *process) end(grace time.Duration) {
	_ = p.in.Close() // may be closed already
	kill := time.AfterFunc(grace, func() { killGroup(p.cmd) })
	defer kill.Stop()
	p.wait()
	killGroup(p.cmd)
}
