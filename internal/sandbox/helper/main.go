// Helper is a program that is a sandbox and nothing else. Tests have it in place of
// themselves: with the race detector their own start takes longer than most commands.
package main

import (
	"os"

	"github.com/troupe-dev/troupe/internal/sandbox"
)

func main() { os.Exit(sandbox.Child()) }
