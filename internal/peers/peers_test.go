package peers_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/peers"
)

func TestAnInstalledProgramIsFoundWithAbsolutePaths(t *testing.T) {
	command := peers.Npm(t, "mcp-inspector")
	for _, file := range command {
		if !filepath.IsAbs(file) {
			t.Errorf("%s is not absolute", file)
		}
	}
	probe := exec.Command(command[0], append(command[1:], "--help")...)
	probe.Env, probe.Dir = []string{}, t.TempDir()
	if out, err := probe.CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("%v: %v: %s", command, err, out)
	}
}

func TestAProgramThatIsNotInstalledSkipsTheTestAndSaysWhatToDo(t *testing.T) {
	s := &skipping{TB: t}
	func() {
		defer func() { _ = recover() }()
		peers.Npm(s, "no-such-program")
	}()
	if want := "not installed: run make setup"; !strings.Contains(s.reason, want) {
		t.Errorf("the reason is %q, not %q", s.reason, want)
	}
}

// A skipping test notes why it would be skipped: a skip of its own would count as
// one for want of a program.
type skipping struct {
	testing.TB
	reason string
}

func (s *skipping) Skipf(format string, args ...any) {
	s.reason = fmt.Sprintf(format, args...)
	panic(s)
}
