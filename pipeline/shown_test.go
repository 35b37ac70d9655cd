package pipeline_test

import (
	"strings"
	"testing"
)

// A file may be replaced as a whole by an agent that has seen the whole of it: with its step,
// or with a tool. One that it has not seen may not.
func TestAFileThatWasSeenMayBeReplaced(t *testing.T) {
	y := shellYard(t).with("implementation", func(step, prompt string, n int) string {
		switch {
		case step == "1": // which names notes.txt
			return built(fileOf("step1.ok", "good\n"), fileOf("notes.txt", "four\nfive\nsix\n"))
		case n == 0:
			return built(fileOf("step2.ok", "good\n"), fileOf("README.md", "# Better\n"))
		case n == 1 && strings.Contains(prompt, "README.md, "):
			return `CALL read_file {"path":"README.md"}`
		}
		return built(fileOf("README.md", "# Better\n"))
	})
	y.mustRun("delivered")
	branch := strings.TrimSpace(y.sh("git branch --list 'troupe/*' --format '%(refname:short)'"))
	if got := y.sh("git show " + branch + ":notes.txt " + branch + ":README.md"); got != "four\nfive\nsix\n# Better\n" {
		t.Errorf("got %q", got)
	}
	if got := y.prompts("Nothing was written", "README.md, "); len(got) == 0 {
		t.Error("a file that nobody has seen was replaced")
	}
}
