//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// Numbers of tasks that no lane has.
const (
	diskTasks = (lanes + 1) << 23
	rightTask = diskTasks + 1<<20
	wayTasks  = diskTasks + 2<<20
	cutTasks  = diskTasks + 3<<20
	iceTasks  = diskTasks + 4<<20
)

// prepared makes a project with one session that has come to its answer.
func (w *world) prepared(ctx context.Context, name string, task int) (p *project, old string, err error) {
	if p, err = w.newProject(ctx, name); err != nil {
		return nil, "", err
	}
	o, err := p.do(ctx, runTask(task))
	if err != nil {
		return nil, "", err
	}
	old, err = p.mustAnswer(ctx, task, o)
	return p, old, err
}

func runTask(task int) command {
	return command{args: []string{"-q", "--json", "run", "writer", fmt.Sprintf("T%d {writer=write:a.md+write:b.md}", task)}}
}

// mustAnswer looks for the session of a task that a command has come to the end of,
// and checks it.
func (p *project) mustAnswer(ctx context.Context, task int, o *outcome) (id string, err error) {
	if o.code != 0 {
		p.problem("task %d: exit code %d: %s", task, o.code, o.err)
	}
	if id, err = p.sessionOf(ctx, task, o); err != nil {
		return "", err
	}
	if id == "" {
		p.problem("task %d has no session", task)
	} else if s := p.seen[id]; s.info.Status != "completed" || !strings.HasPrefix(s.answer, fmt.Sprintf("T%d-", task)) {
		p.problem("session %s is %s with the answer %q", id, s.info.Status, s.answer)
	}
	return id, nil
}

// sessionOf returns the session of a task, empty if there is none, and checks it.
func (p *project) sessionOf(ctx context.Context, task int, o *outcome) (id string, err error) {
	for id, events := range p.acknowledge(o.lines()) {
		_, err := p.show(ctx, id, events)
		return id, err
	}
	list, err := p.list(ctx)
	for _, listed := range list {
		if strings.HasPrefix(listed.Summary, fmt.Sprintf("T%d ", task)) {
			_, err = p.show(ctx, listed.ID, nil)
			return listed.ID, err
		}
	}
	return "", err
}

// isClear matches what a user is told when something cannot be written: that, why and what
// to do, and the error itself, every line of which says it again.
var isClear = regexp.MustCompile(`\Atroupe: .*` + noRoom + `.*\n(troupe: .*\n){1,2}troupe: details: .*` + noRoom + `.*\n(troupe: .*` + noRoom + `.*\n)*\z`)

const noRoom = `(disk is full|file too large|cannot be written)`

// fillDisk has troupe work where files can only be so large, first hardly at all,
// then larger and larger.
func (w *world) fillDisk(ctx context.Context) error {
	p, old, err := w.prepared(ctx, "disk", diskTasks)
	if err != nil {
		return err
	}
	task, well := diskTasks, 0
	for share := 1; well < 2 && share < 100; share += 1 + share/5 {
		info, err := os.Stat(p.store())
		if err != nil {
			return err
		}
		blocks := 1 + int(info.Size())/512*share/20 // of what the store has now
		task++
		limited := runTask(task)
		limited.change = func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"sh", "-c", `ulimit -f "$0" && exec "$@"`, strconv.Itoa(blocks)}, cmd.Args...)
			cmd.Path = "/bin/sh"
		}
		o, err := p.do(ctx, limited)
		if err != nil {
			return err
		}
		w.report.add(diskLimits, 1)
		if o.code == 0 {
			well++
			if _, err := p.mustAnswer(ctx, task, o); err != nil {
				return err
			}
			continue
		}
		if !isClear.MatchString(o.err) || o.code != 1 {
			p.problem("with %d blocks for a file: exit code %d: %s", blocks, o.code, o.err)
		}
		if err := p.finish(ctx, task, o); err != nil {
			return err
		}
		if _, err := p.show(ctx, old, nil); err != nil {
			return err
		}
	}
	if well < 2 {
		p.problem("it is never enough")
	}
	return p.leftovers()
}

// finish brings a task to its end that a process had not.
func (p *project) finish(ctx context.Context, task int, o *outcome) error {
	again := runTask(task)
	id, err := p.sessionOf(ctx, task, o)
	if err != nil || id != "" && p.seen[id].answer != "" {
		return err
	}
	if id != "" {
		again.args = []string{"--json", "sessions", "resume", id}
	}
	if o, err = p.do(ctx, again); err == nil {
		_, err = p.mustAnswer(ctx, task, o)
	}
	return err
}

// takeRights has troupe work where it may read and not write.
func (w *world) takeRights(ctx context.Context) error {
	p, old, err := w.prepared(ctx, "rights", rightTask)
	if err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	if err := allow(data, 0o555, 0o444); err != nil {
		return err
	}
	before, err := contents(p.dir)
	if err != nil {
		return err
	}
	asNobody := func(cmd *exec.Cmd) {
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
	}
	for _, args := range [][]string{runTask(rightTask + 1).args, {"--json", "chat", "writer", "--session", old, "-m", "more"}, {"--json", "sessions", "delete", old, "--yes"}} {
		o, err := p.do(ctx, command{args: args, change: asNobody})
		if err != nil {
			return err
		}
		w.report.add(readOnlys, 1)
		if o.code != 1 || strings.Count(o.err, "\n") != 1 || !strings.Contains(o.err, data) {
			p.problem("troupe %q, where nothing may be written: exit code %d: %s", args, o.code, o.err)
		}
	}
	o, err := p.do(ctx, command{args: []string{"--json", "sessions", "show", "--events", old}, change: asNobody})
	if err != nil {
		return err
	}
	if o.code != 0 || o.out != strings.Join(p.seen[old].lines, "") {
		p.problem("a session cannot be shown where nothing may be written: exit code %d: %s", o.code, o.err)
	}
	after, err := contents(p.dir)
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		p.problem("something has changed where nothing may be written")
	}
	if err := allow(data, 0o700, 0o600); err != nil {
		return err
	}
	if o, err = p.do(ctx, runTask(rightTask+2)); err == nil {
		_, err = p.mustAnswer(ctx, rightTask+2, o)
	}
	return err
}

// allow changes what may be done with directories and files.
func allow(dir string, directories, files fs.FileMode) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, directories)
		}
		return os.Chmod(path, files)
	})
}

// contents returns what is in all files below a directory.
func contents(dir string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			found[path] = "directory"
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	return found, err
}
