package bundle

import (
	"encoding/binary"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe/troupetest"
)

// A watch counts the files that are opened below a directory, as the kernel sees it.
type watch struct {
	t    *testing.T
	fd   int
	root string
	dirs map[int32]string
}

func watchOpens(t *testing.T, root string) *watch {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Skip("the kernel does not watch files: ", err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	w := &watch{t, fd, root, map[int32]string{}}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		id, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN)
		w.dirs[int32(id)] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// opened returns the files opened since the last call, each once, and how often in all.
func (w *watch) opened() ([]string, int) {
	w.t.Helper()
	names := map[string]bool{}
	count := 0
	buffer := make([]byte, 1<<16)
	for {
		n, err := syscall.Read(w.fd, buffer)
		if err == syscall.EAGAIN {
			return slices.Sorted(maps.Keys(names)), count
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for at := 0; at < n; {
			event := buffer[at:]
			id, mask, length := int32(binary.NativeEndian.Uint32(event)), binary.NativeEndian.Uint32(event[4:]), binary.NativeEndian.Uint32(event[12:])
			name := strings.TrimRight(string(event[syscall.SizeofInotifyEvent:syscall.SizeofInotifyEvent+length]), "\x00")
			at += syscall.SizeofInotifyEvent + int(length)
			if mask&syscall.IN_ISDIR == 0 && name != "" {
				rel, err := filepath.Rel(w.root, filepath.Join(w.dirs[id], name))
				if err != nil {
					w.t.Fatal(err)
				}
				names[filepath.ToSlash(rel)] = true
				count++
			}
		}
	}
}

func TestFilesAreOpenedWhenTheyAreNeeded(t *testing.T) {
	dir := project(t)
	w := watchOpens(t, dir)
	expect := func(what string, times int, want ...string) {
		t.Helper()
		slices.Sort(want)
		got, count := w.opened()
		if !slices.Equal(got, want) || count != times {
			t.Errorf("%s opens %d times: %q; want %d times: %q", what, count, got, times, want)
		}
	}
	const home = "bmad/custom/bundles/requirements/"
	c := find(t, dir, Config{})
	// What lies in a directory of agents is looked into, to see whether it is one, and so
	// is a skill.
	expect("finding bundles", 9, "skills/plain/SKILL.md",
		home+"bundle.yaml", "bmad/custom/bundles/helper/bundle.yaml", "bmad/custom/bundles/broken/bundle.yaml", "skills/bmad-agent-sage/customize.toml",
		".bmad-core/agents/list.md", ".bmad-core/agents/map.md", ".bmad-core/agents/qa.md", "bmad/bmm/agents/pm.md")
	c.Entries()
	expect("listing entries", 0)

	s := play(t, c, "alex", Options{Outputs: t.TempDir()},
		troupetest.Say("Hello."), troupetest.Say("What?"), troupetest.Call("execute_workflow", `{"workflow_path":"{bundle-root}/workflows/intake/workflow.yaml"}`), troupetest.Say("Step 1."))
	expect("making an agent", 2, home+"agents/alex.md", home+"config.yaml")
	s.say("hello")
	expect("starting an agent", 2, home+"config.yaml") // known to the prompt, and loaded by an action
	s.say("more")
	expect("going on", 0)
	s.say("*intake-workflow")
	// Of the last two, and of the workflow once more, only whether they are there
	// and their size is asked for, which takes opening them.
	expect("a workflow", 8, home+"workflows/intake/workflow.yaml", home+"config.yaml", home+"workflows/intake/instructions.md",
		home+"templates/initial-requirements.md", home+"workflows/intake/checklist.md", home+"data/terms.csv")
}
