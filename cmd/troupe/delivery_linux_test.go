package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A tty is a terminal with a program in it, as a person has it.
type tty struct {
	t    *testing.T
	cmd  *exec.Cmd
	file *os.File

	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

// deliverInTerminal starts troupe in a terminal.
func deliverInTerminal(t *testing.T, dir string, env []string, args ...string) *tty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal can be had here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no terminal can be had here: %v", err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be had here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	y := &tty{t: t, file: master, more: make(chan struct{}, 1), cmd: exec.CommandContext(ctx, "troupe", args...)}
	y.cmd.Dir, y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = dir, slave, slave, slave
	y.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "HOME=/no-home", "TERM=xterm", "GORACE=" + hurry}, env...)
	y.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := y.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var reading sync.WaitGroup
	reading.Go(y.read)
	t.Cleanup(func() { master.Close(); reading.Wait() })
	return y
}

func (y *tty) read() {
	data := make([]byte, 4096)
	for {
		n, err := y.file.Read(data)
		y.mu.Lock()
		y.text.Write(data[:n])
		y.mu.Unlock()
		select {
		case y.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (y *tty) screen() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.text.String()
}

// sees waits until all parts were shown.
func (y *tty) sees(parts ...string) {
	y.t.Helper()
	late := time.After(5 * time.Minute)
	for {
		missing, screen := "", y.screen()
		for _, part := range parts {
			if !strings.Contains(screen, part) {
				missing = part
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-y.more:
		case <-late:
			y.t.Fatalf("%q was not shown:\n%s", missing, screen)
		}
	}
}

func (y *tty) types(line string) {
	y.t.Helper()
	if _, err := y.file.WriteString(line + "\n"); err != nil {
		y.t.Fatal(err)
	}
}

// A delivery in a terminal: what is done is shown while it is done, the question of the
// gate is asked there, and what is typed is guidance.
func TestADeliveryInATerminal(t *testing.T) {
	a := newAgency(t)
	dir := a.newRepository(t)
	shown := make(chan struct{}) // the builder thinks until somebody has seen that it does
	a.plays(func(phase, step, prompt string, n int) string {
		if phase == "implementation" && step == "1" && n == 0 {
			<-shown
			return builtFiles(aFile("step1.ok", "bad\n"))
		}
		if phase == "planning" && strings.Contains(prompt, "one step will do") {
			return planned(aStep("1", "All of it"))
		}
		return goodWork(phase, step, prompt, n)
	})
	y := deliverInTerminal(t, dir, a.environment(dir), "deliver", "--approve", "plan", "Make it good")
	y.sees("delivery ", "sandbox ", "checks:", "baseline        test ✓", "requirements    1 story, 1 criterion", "planning        2 steps", "The plan has 2 steps", `Answer "go on"`)
	y.types("one step will do")
	y.sees("The plan has 1 step:", "All of it")
	y.types("go on")
	y.sees("step 1 of 1     All of it", "… step 1 of 1 · builder is thinking · 1s", "tokens")
	close(shown)
	y.sees("round 1       step1.ok +1 −0 ·  test ✗", "round 2       step1.ok", "→ ", "verify          test ✓", "qa              accepted", "delivered  ", "Take it: troupe deliveries apply")
	if err := y.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, y.screen())
	}
}
