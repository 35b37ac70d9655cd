//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const configuration = `model: local/m
providers: {local: {base_url: %q}}
limits: {model_tries: 1}
agents:
  clerk: {instructions: You are the clerk., skills: false, tools: [calculator]}
`

// newProject makes a project and returns its directory.
func (w *world) newProject(name string) (string, error) {
	dir := filepath.Join(w.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "troupe.yaml"), fmt.Appendf(nil, configuration, w.model.url), 0o644)
}

// A child is a server that was started.
type child struct {
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	trouble bytes.Buffer
	// url and token are those of the link that it printed.
	url, token string
	client     *http.Client
}

// patience is how long a child may take to end.
const patience = 15 * time.Second

var link = regexp.MustCompile(`^(http://[^/]+)/#token=(\S+)`)

// serve starts a server in a project's directory.
func (w *world) serve(ctx context.Context, dir string) (*child, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &child{cmd: exec.CommandContext(ctx, w.program, "-q", "serve", "--addr", "127.0.0.1:0"), cancel: cancel}
	c.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: w.concurrent + throng}}
	c.cmd.Dir, c.cmd.Stderr, c.cmd.WaitDelay = dir, &c.trouble, patience
	c.cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "TROUPE_LOOK_FOR_OLLAMA=no"}
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(os.Interrupt) }
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start troupe serve: %w", err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	found := link.FindStringSubmatch(line)
	if found == nil {
		c.stop()
		return nil, fmt.Errorf("troupe serve printed %q and no link: %s", line, &c.trouble)
	}
	c.url, c.token = found[1], found[2]
	return c, nil
}

// stop ends the server and waits until it has.
func (c *child) stop() {
	c.client.CloseIdleConnections()
	c.cancel()
	c.cmd.Wait() // that it was interrupted is no news
}

// spent is the processor time that the server has taken until it was stopped.
func (c *child) spent() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// used is the processor time that the server has taken so far, as its system says.
func (c *child) used() time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// memory is the most that the process has had of it, as its system says.
func (c *child) memory() string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	_, most, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int
	if _, err := fmt.Sscan(most, &kilobytes); err != nil {
		return "not known on this system"
	}
	return fmt.Sprintf("%.0f MB", float64(kilobytes)/1000)
}
