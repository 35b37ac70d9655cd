package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long a program may take to end once it was told to.
const grace = 2 * time.Second

// promptEnd is for helpers that are built with the race detector, as tests are: they would
// sleep for a second before they end, once for every check. Others do not know it.
const promptEnd = "GORACE=atexit_sleep_ms=0"

// A spec is what the child is told.
type spec struct {
	Level   Level    `json:"level"`
	Argv    []string `json:"argv"`
	Dir     string   `json:"dir"`
	Env     []string `json:"env"`
	Write   []string `json:"write"`
	Read    []string `json:"read"`
	Network bool     `json:"network"`
	// Gate is the descriptor for the listener of a proxy, 0 where there is none.
	Gate int `json:"gate,omitempty"`

	Overlays []Overlay `json:"overlays,omitempty"`
	Keep     []string  `json:"keep,omitempty"`
	Hide     []string  `json:"hide,omitempty"`

	Root   string `json:"root"` // an empty directory, for the new root
	Home   string `json:"home"`
	Limits Limits `json:"limits"`
	Stage  int    `json:"stage"`

	grace time.Duration // what a child of ours may take besides
}

// A status is what the child tells.
type status struct {
	Error   string `json:"error,omitempty"`
	Missing string `json:"missing,omitempty"`
	Ended   string `json:"ended,omitempty"`
}

// Run runs a command to its end. A program that fails is a result; an error means that
// it could not be run as it should.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	c.Limits = c.Limits.filled()
	if s.level == Off || s.level == Wrapped {
		return s.runPlainly(ctx, c)
	}
	scratch, err := os.MkdirTemp("", "troupe-sandbox-")
	if err != nil {
		return Result{}, err
	}
	defer removeScratch(scratch)
	overlays, locks := ownUppers(c.Overlays)
	defer func() {
		for _, lock := range locks {
			lock.Close()
		}
	}()
	if s.level == Full {
		empty, err := standIn(&c)
		if err != nil {
			return Result{}, err
		}
		defer empty.leave()
	}
	sp := spec{
		Level: s.level, Argv: c.Argv, Dir: c.Dir, Env: c.Env, Write: existing(c.Write), Read: existing(c.Read),
		Network: c.Network, Overlays: overlays, Keep: existing(c.Keep), Hide: existing(c.Hide), Root: filepath.Join(scratch, "root"), Home: filepath.Join(scratch, "home"), Limits: c.Limits, Stage: 1, grace: 3 * time.Second,
	}
	for _, dir := range []string{sp.Root, sp.Home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return Result{}, err
		}
	}
	cmd := exec.Command(s.helper[0], s.helper[1:]...)
	cmd.Env, cmd.Dir = []string{"TROUPE_SANDBOX=1", promptEnd}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.level == Full {
		flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
		if !c.Network {
			flags |= unix.CLONE_NEWNET
		}
		cmd.SysProcAttr.Cloneflags = flags
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_KILL, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_CHROOT}
	}
	if len(c.Hosts) > 0 && s.level == Full && !c.Network {
		way, err := newGate(c.Hosts)
		if err != nil {
			return Result{}, err
		}
		defer way.close()
		sp.Gate = 5 // after the three usual ones, order and report
		return s.follow(ctx, cmd, sp, way)
	}
	return s.follow(ctx, cmd, sp, nil)
}

// follow starts the child, tells it what to do, and waits for its end.
func (s *Sandbox) follow(ctx context.Context, cmd *exec.Cmd, sp spec, way *gate) (Result, error) {
	order, tell, err := os.Pipe() // closed at our end, whatever happens to us: then the child ends
	if err != nil {
		return Result{}, err
	}
	defer tell.Close()
	defer order.Close()
	answer, report, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer answer.Close()
	defer report.Close()
	cmd.ExtraFiles = []*os.File{order, report}
	if way != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, way.theirs)
	}
	kept := &output{limit: sp.Limits.Output}
	cmd.Stdout, cmd.Stderr = kept, kept
	cmd.WaitDelay = grace
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("start the sandbox: %w", err)
	}
	order.Close()
	report.Close()
	if way != nil {
		way.open()
	}
	// It waits for its order, so that all that it will start is in the group, too.
	group := newMemoryGroup(cmd.Process.Pid, memoryLimit(sp.Limits.Memory))
	var said status
	var reading sync.WaitGroup
	reading.Go(func() { _ = json.NewDecoder(answer).Decode(&said) })
	encoded, err := json.Marshal(sp)
	if err == nil {
		_, err = tell.Write(append(encoded, '\n'))
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	ended := watch(ctx, cmd, sp)
	waited := cmd.Wait()
	reason := ended()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of its group
	reading.Wait()
	r := Result{Exit: cmd.ProcessState.ExitCode(), Output: kept.String(), Dropped: kept.dropped, Duration: time.Since(begun), Missing: said.Missing, Ended: said.Ended}
	if group.close() && r.Exit != 0 {
		r.Ended = "memory"
	}
	if reason != "" {
		r.Ended = reason
	}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case err != nil:
		return r, fmt.Errorf("tell the sandbox: %w", err)
	case said.Error != "":
		return r, errors.New(said.Error)
	case waited != nil && r.Exit < 0 && r.Ended == "":
		r.Exit = 128
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			r.Exit = 128 + int(ws.Signal())
		}
	}
	return r, nil
}

// watch ends a program that takes too long or writes too much. What it returns stops
// watching and says why the program was ended.
func watch(ctx context.Context, cmd *exec.Cmd, sp spec) func() string {
	over, reason := make(chan struct{}), ""
	var watching sync.WaitGroup
	watching.Go(func() {
		free := freeSpace(sp.Write)
		late := time.NewTimer(sp.Limits.Time)
		defer late.Stop()
		look := time.NewTicker(200 * time.Millisecond)
		defer look.Stop()
		for reason == "" {
			select {
			case <-over:
				return
			case <-ctx.Done():
				reason = "cancelled"
			case <-late.C:
				reason = "time"
			case <-look.C:
				for dir, before := range free {
					if now, ok := freeOf(dir); ok && before-now > sp.Limits.Written {
						reason = "written"
					}
				}
			}
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // our own child ends the others after the grace
		select {
		case <-over:
			return
		case <-time.After(grace + sp.grace):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Process.Kill()
	})
	return func() string {
		close(over)
		watching.Wait()
		return reason
	}
}

func freeSpace(dirs []string) map[string]int64 {
	free := map[string]int64{}
	for _, dir := range dirs {
		if n, ok := freeOf(dir); ok {
			free[dir] = n
		}
	}
	return free
}

func freeOf(dir string) (int64, bool) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, false
	}
	return int64(fs.Bfree) * fs.Bsize, true
}

func existing(paths []string) []string {
	var list []string
	for _, p := range paths {
		if p, err := filepath.EvalSymlinks(p); err == nil {
			list = append(list, p)
		}
	}
	return list
}

func removeScratch(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// runPlainly runs a command without a sandbox of ours, in a process group of its own.
func (s *Sandbox) runPlainly(ctx context.Context, c Command) (Result, error) {
	argv := c.Argv
	if s.level == Wrapped {
		argv = s.wrapped(c)
	}
	home, err := os.MkdirTemp("", "troupe-home-")
	if err != nil {
		return Result{}, err
	}
	defer removeScratch(home)
	env := append(cleanEnv(c.Env, home), "HOME="+home, "TMPDIR="+home)
	program, err := lookPath(argv[0], c.Dir, env)
	if err != nil {
		return Result{Exit: 127, Missing: err.Error()}, nil
	}
	cmd := exec.Command(program, argv[1:]...)
	cmd.Args = argv
	cmd.Dir, cmd.Env = c.Dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kept := &output{limit: c.Limits.Output}
	cmd.Stdout, cmd.Stderr = kept, kept
	cmd.WaitDelay = grace
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return Result{Exit: 127, Missing: err.Error()}, nil
		}
		return Result{}, err
	}
	ended := watch(ctx, cmd, spec{Write: c.Write, Limits: c.Limits})
	waited := cmd.Wait()
	r := Result{Ended: ended(), Exit: cmd.ProcessState.ExitCode(), Duration: time.Since(begun)}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	r.Output, r.Dropped = kept.String(), kept.dropped
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Exit = 128 + int(ws.Signal())
	}
	if _, isExit := errors.AsType[*exec.ExitError](waited); waited != nil && !isExit && !errors.Is(waited, exec.ErrWaitDelay) {
		return r, waited
	}
	return r, nil
}

func cleanEnv(env []string, home string) (list []string) {
	for _, v := range env {
		if !strings.HasPrefix(v, "HOME=") && !strings.HasPrefix(v, "TMPDIR=") {
			list = append(list, v)
		}
	}
	return list
}

// lookPath finds a program by the PATH that the program itself will get.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			return "", fmt.Errorf("%s: there is no such program", name)
		}
		return name, nil
	}
	for _, v := range env {
		list, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range filepath.SplitList(list) {
			file := filepath.Join(folder, name)
			if info, err := os.Stat(file); filepath.IsAbs(file) && err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s: there is no such program in PATH", name)
}

var _ io.Writer = (*output)(nil)
