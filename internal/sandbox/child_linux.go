package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is what a program does that was started with [HelperArgument]: it builds the
// walls, runs the command within and returns its exit code.
func Child() int {
	order, report := os.NewFile(3, "order"), os.NewFile(4, "report")
	if order == nil || report == nil {
		fmt.Fprintln(os.Stderr, "this is a part of troupe's sandbox and not for calling by hand")
		return 2
	}
	reader := bufio.NewReader(order)
	line, err := reader.ReadBytes('\n')
	var sp spec
	if err == nil {
		err = json.Unmarshal(line, &sp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "this is a part of troupe's sandbox and not for calling by hand")
		return 2
	}
	tell := func(s status) { _ = json.NewEncoder(report).Encode(s) }
	if sp.Stage == 2 {
		err := confine(sp)
		var missing *missingError
		if errors.As(err, &missing) {
			tell(status{Missing: missing.Error()})
			return 127
		}
		tell(status{Error: err.Error()})
		return 126
	}
	code, st := supervise(sp, reader, report)
	if st != (status{}) {
		tell(st)
	}
	return code
}

type missingError struct{ error }

// supervise is the first child, process 1 where processes have a namespace of their
// own: it ends when the command or whoever started it ends, and all others with it.
func supervise(sp spec, order io.Reader, report *os.File) (int, status) {
	if sp.Level == Full {
		if err := buildRoot(&sp); err != nil {
			return 126, status{Error: err.Error()}
		}
		if !sp.Network {
			if err := raiseLoopback(); err != nil {
				return 126, status{Error: fmt.Sprintf("set up loopback: %v", err)}
			}
			if sp.Gate > 0 {
				address, err := offerListener(sp.Gate)
				if err != nil {
					return 126, status{Error: fmt.Sprintf("set up the way to hosts: %v", err)}
				}
				sp.Env = append(sp.Env, proxyEnv(address)...)
			}
		}
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 126, status{Error: fmt.Sprintf("adopt orphans: %v", err)}
	}
	sp.Stage = 2
	read, write, err := os.Pipe()
	if err != nil {
		return 126, status{Error: err.Error()}
	}
	self, err := os.Open("/proc/self/exe") // the new root may not show where the program is
	if err != nil {
		return 126, status{Error: err.Error()}
	}
	cmd := exec.Command("/proc/self/fd/5", HelperArgument)
	cmd.Env, cmd.Dir = []string{"TROUPE_SANDBOX=2", promptEnd}, "/"
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{read, report, self}
	told := make(chan os.Signal, 4)
	signal.Notify(told, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return 126, status{Error: fmt.Sprintf("start within the sandbox: %v", err)}
	}
	read.Close()
	self.Close()
	encoded, _ := json.Marshal(sp)
	_, _ = write.Write(append(encoded, '\n'))
	write.Close()
	return attend(sp, cmd.Process.Pid, order, told)
}

// attend waits for the command, takes in orphans, and ends all that is left.
func attend(sp spec, main int, order io.Reader, told <-chan os.Signal) (int, status) {
	gone, code := make(chan struct{}), 0
	go func() { // whoever started us is gone once nothing can be read any more
		_, _ = io.Copy(io.Discard, order)
		killOthers(sp)
		os.Exit(137)
	}()
	go func() {
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &ws, 0, nil)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				break
			}
			if pid == main {
				code = ws.ExitStatus()
				if ws.Signaled() {
					code = 128 + int(ws.Signal())
				}
				break
			}
		}
		close(gone)
	}()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	var late <-chan time.Time
	most, ticks := memoryLimit(sp.Limits.Memory), 0
	for {
		select {
		case <-gone:
			killOthers(sp)
			return code, status{}
		case <-late:
			killOthers(sp)
			return 137, status{}
		case <-told:
			late = time.After(grace)
			if sp.Level == Full {
				_ = syscall.Kill(-1, syscall.SIGTERM)
			} else {
				signalChildren(syscall.SIGTERM)
			}
		case <-look.C:
			if sp.Level == Full && countProcesses() > sp.Limits.Processes+2 {
				killOthers(sp)
				return 137, status{Ended: "processes"}
			}
			if ticks++; sp.Level == Full && ticks%4 == 0 && memoryHeld() > most {
				killOthers(sp)
				return 137, status{Ended: "memory"}
			}
		}
	}
}

// killOthers ends all that the command has left. Where processes have a namespace of
// their own, the kernel does that when we end; here it is done at once.
func killOthers(sp spec) {
	if sp.Level == Full {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		return
	}
	for range 100 {
		if signalChildren(syscall.SIGKILL) == 0 {
			return
		}
		var ws syscall.WaitStatus
		for {
			if pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// signalChildren signals all processes that descend from us, and counts them.
func signalChildren(sig syscall.Signal) int {
	parents := map[int]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[0] != "Z" {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	n, self := 0, os.Getpid()
	for pid := range parents {
		for above, steps := parents[pid], 0; above > 1 && steps < 1000; above, steps = parents[above], steps+1 {
			if above == self {
				_ = syscall.Kill(pid, sig)
				n++
				break
			}
		}
	}
	return n
}

// memoryLimit is how much programs may hold: what is asked for, or three quarters of
// what the machine has.
func memoryLimit(asked int64) int64 {
	if asked > 0 {
		return asked
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 1 << 62
	}
	return int64(info.Totalram) * int64(info.Unit) / 4 * 3
}

// memoryHeld is what all processes but this one hold. Pages that they share are counted
// for each.
func memoryHeld() (held int64) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/statm")
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(data)); len(fields) > 2 {
			resident, _ := strconv.ParseInt(fields[1], 10, 64)
			shared, _ := strconv.ParseInt(fields[2], 10, 64)
			held += (resident - shared) * int64(os.Getpagesize())
		}
	}
	return held
}

func countProcesses() int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if c := e.Name()[0]; c >= '1' && c <= '9' {
			n++
		}
	}
	return n
}

// raiseLoopback gives the namespace a loopback interface that works.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
