// Package peers finds the programs by others that tests talk to.
package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// Npm returns the command that runs a program of the packages in tools/npm, such
// as mcp-server-memory: node, and the program's file. Both are absolute, so that
// the command needs neither a directory nor an environment. It skips the test,
// saying so, where node or the program is not installed.
func Npm(tb testing.TB, program string) []string {
	tb.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		tb.Skipf("node is not installed, and %s needs it", program)
	}
	file := filepath.Join(corpus.ModuleRoot(tb), "tools", "npm", "node_modules", ".bin", program)
	if _, err := os.Stat(file); err != nil {
		tb.Skipf("%s is not installed: run make setup", program)
	}
	return []string{node, file}
}
