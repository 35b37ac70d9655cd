package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A memoryGroup is a control group of the kernel that bounds what the processes in it
// hold together, files that they have read included.
type memoryGroup struct {
	dir  string
	kept string // the file that counts what was killed
}

// newMemoryGroup puts a process that has not begun yet into a group of its own. It
// returns nil where the kernel offers none to us: then what is held is only watched.
func newMemoryGroup(pid int, most int64) *memoryGroup {
	data, _ := os.ReadFile("/proc/self/cgroup")
	return memoryGroupIn("/sys/fs/cgroup", string(data), pid, most, func(dir string) error { return os.Mkdir(dir, 0o755) })
}

// memoryGroupIn makes the group below the groups of this process, which are those of version
// 2 ("0::/path") or of version 1 ("4:memory:/path"). The kernel puts files into a folder that
// mkdir has made, and in version 2 those for memory only where the group above allows it.
func memoryGroupIn(root, own string, pid int, most int64, mkdir func(string) error) *memoryGroup {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var parent, limit, kept string
		switch {
		case parts[0] == "0" && parts[1] == "":
			parent, limit, kept = root, "memory.max", "memory.events"
		case parts[1] == "memory":
			parent, limit, kept = filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.oom_control"
		default:
			continue
		}
		dir := filepath.Join(parent, parts[2], fmt.Sprintf("troupe-%d", pid))
		if mkdir(dir) != nil {
			continue
		}
		g := &memoryGroup{dir, filepath.Join(dir, kept)}
		if g.set(limit, most) == nil && g.set("cgroup.procs", int64(pid)) == nil {
			return g
		}
		_ = os.Remove(dir)
	}
	return nil
}

// set writes a number to a file that the kernel has put there: it makes no new one.
func (g *memoryGroup) set(name string, value int64) error {
	file, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.FormatInt(value, 10))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// close removes the group, and reports whether something in it was killed because it
// held too much.
func (g *memoryGroup) close() (exceeded bool) {
	if g == nil {
		return false
	}
	data, _ := os.ReadFile(g.kept)
	for line := range strings.Lines(string(data)) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			exceeded = count != "0"
		}
	}
	for range 100 { // those that were killed leave it one by one
		if err := os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return exceeded
}

// MemoryIsBounded reports whether the kernel bounds what programs hold. Where it does
// not, the level Full still looks several times a second and ends those that hold too
// much.
func MemoryIsBounded() bool {
	idle := exec.Command("/bin/sh", "-c", "read line")
	wait, err := idle.StdinPipe()
	if err != nil || idle.Start() != nil {
		return false
	}
	g := newMemoryGroup(idle.Process.Pid, 1<<40)
	wait.Close()
	_ = idle.Wait() // it has read the end of its input
	g.close()
	return g != nil
}
