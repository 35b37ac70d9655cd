// Package corpus finds the material that tests read and the repository does not hold.
package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns where a file or directory of the corpus is: below $TROUPE_CORPUS,
// or below ../shared/corpus beside the checkout. It skips the test, saying so,
// where there is none.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path := find(tb, name)
	if path == "" {
		tb.Skipf("corpus absent: %s is not there; set TROUPE_CORPUS to where the corpus is", name)
	}
	return path
}

// find returns what Path does, or "" where there is none.
func find(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("TROUPE_CORPUS")
	if root == "" {
		root = filepath.Join(ModuleRoot(tb), "..", "shared", "corpus")
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// ModuleRoot returns the directory of the module that the test is in.
func ModuleRoot(tb testing.TB) string {
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
