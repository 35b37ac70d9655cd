// Command bmad-test-phase runs one phase of the pipeline: it is 'troupe test-phase'.
package main

import (
	"os"

	"github.com/troupe-dev/troupe/internal/alias"
)

func main() { os.Exit(alias.Run("test-phase", os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
