// Command bmad-validate-schema checks a phase's output against its contract: it is 'troupe validate-schema'.
package main

import (
	"os"

	"github.com/troupe-dev/troupe/internal/alias"
)

func main() { os.Exit(alias.Run("validate-schema", os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
