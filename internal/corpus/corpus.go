// Package corpus finds the material that tests read and the repository does not hold.
package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Path returns where a file or directory of the corpus is: below $TROUPE_CORPUS,
// or below ../shared/corpus beside the checkout. It skips the test, saying so,
// where there is none.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path := Find(tb, name)
	if path == "" {
		tb.Skipf("corpus absent: %s is not there; set TROUPE_CORPUS to where the corpus is", name)
	}
	return path
}

// Find returns what Path does, or "" for tests that can do without.
func Find(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("TROUPE_CORPUS")
	if root == "" {
		root = filepath.Join(moduleRoot(tb), "..", "shared", "corpus")
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// TraversalNames returns the names that others attack file servers with, nil where
// the corpus is absent.
func TraversalNames(tb testing.TB) []string {
	tb.Helper()
	file := Find(tb, "attacks/path-traversal.jsonl")
	if file == "" {
		tb.Log("without the corpus of attacks, only generated names are tried")
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for line := range bytes.Lines(data) {
		var attack struct{ Payload string }
		if err := json.Unmarshal(line, &attack); err != nil {
			tb.Fatal(err)
		}
		names = append(names, attack.Payload)
	}
	return names
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
