// Package alias makes programs of troupe's commands.
package alias

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Run runs 'troupe COMMAND' with further arguments and the given streams, and returns
// its exit code. The troupe that lies beside this program is preferred to that of
// the PATH.
func Run(command string, args []string, in io.Reader, out, complaints io.Writer) int {
	program, err := find()
	if err != nil {
		fmt.Fprintf(complaints, "bmad-%s: %v\n", command, err)
		return 1
	}
	c := exec.Command(program, append([]string{command}, args...)...)
	c.Stdin, c.Stdout, c.Stderr = in, out, complaints
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1)
	}
	if err != nil {
		fmt.Fprintf(complaints, "bmad-%s: %v\n", command, err)
		return 1
	}
	return 0
}

func find() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "troupe"))
		if err == nil {
			return beside, nil
		}
	}
	program, err := exec.LookPath("troupe")
	if err != nil {
		return "", errors.New("it needs the program troupe: go install github.com/troupe-dev/troupe/cmd/troupe@latest")
	}
	return program, nil
}
