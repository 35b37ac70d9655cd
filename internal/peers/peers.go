// Package peers finds the programs by others that tests talk to.
package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
	file := filepath.Join(moduleRoot(tb), "tools", "npm", "node_modules", ".bin", program)
	if _, err := os.Stat(file); err != nil {
		tb.Skipf("%s is not installed: run make setup", program)
	}
	return []string{node, file}
}

func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("the tests do not run inside the module")
		}
		dir = parent
	}
}
