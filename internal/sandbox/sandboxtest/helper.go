// Package sandboxtest builds the sandbox that tests run commands in.
package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/troupe-dev/troupe/internal/sandbox"
)

// Helper is the command that becomes the sandbox, once Main has built it.
var Helper []string

// A Runner is a [testing.M].
type Runner interface{ Run() int }

// Main builds the helper, runs the tests and returns the exit code for the test program.
func Main(tests Runner) (exitCode int) {
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "helper")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "github.com/troupe-dev/troupe/internal/sandbox/helper").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the sandbox: %v\n%s", err, out)
		return 1
	}
	Helper = []string{program, sandbox.HelperArgument}
	return tests.Run()
}
