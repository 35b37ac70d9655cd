package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder stands in for the kernel's: whoever makes a group in it finds the files there that
// the kernel would put there.
func TestMemoryGroupsOfBothVersions(t *testing.T) {
	v2 := map[string]string{"memory.max": "", "cgroup.procs": "", "memory.events": "low 0\noom 1\noom_kill 1\n"}
	v1 := map[string]string{"memory.limit_in_bytes": "", "cgroup.procs": "", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"}
	for name, c := range map[string]struct {
		own, above, limit string
		files             map[string]string
		exceeded          bool
	}{
		"version 2":                        {"0::/user.slice/a\n", "user.slice/a", "memory.max", v2, true},
		"version 2 at the root":            {"0::/\n", "", "memory.max", v2, true},
		"version 1":                        {"5:cpu:/x\n4:memory:/a\n1:name=systemd:/y\n", "memory/a", "memory.limit_in_bytes", v1, false},
		"both, and version 2 has no files": {"0::/a\n4:memory:/a\n", "memory/a", "memory.limit_in_bytes", v1, false},
		"no files":                         {"0::/a\n", "a", "", nil, false},
		"none":                             {"", "", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"a", "user.slice/a", "memory/a"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			group := filepath.Join(root, c.above, "troupe-7")
			g := memoryGroupIn(root, c.own, 7, 1<<20, func(dir string) error {
				err := os.Mkdir(dir, 0o755)
				for name, content := range c.files {
					if err == nil && dir == group {
						err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
					}
				}
				return err
			})
			if c.limit == "" {
				if _, err := os.Lstat(group); g != nil || err == nil {
					t.Errorf("a group was made: %v, %v", g, err)
				}
				return
			}
			for file, want := range map[string]string{c.limit: "1048576", "cgroup.procs": "7"} {
				if got, err := os.ReadFile(filepath.Join(group, file)); string(got) != want {
					t.Errorf("%s is %q, %v", file, got, err)
				}
			}
			if got := g.close(); got != c.exceeded {
				t.Errorf("exceeded: %t", got)
			}
		})
	}
}
