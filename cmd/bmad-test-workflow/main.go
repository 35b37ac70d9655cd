// Command bmad-test-workflow runs the whole pipeline: it is 'troupe test-workflow'.
package main

import (
	"os"

	"github.com/troupe-dev/troupe/internal/alias"
)

func main() { os.Exit(alias.Run("test-workflow", os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
