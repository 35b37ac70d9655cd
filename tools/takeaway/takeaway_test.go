package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Every feature of the list can still be taken away, and every requirement is in it.
func TestTheListFitsTheCode(t *testing.T) {
	features, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := attributed("../..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range features {
		names = append(names, f.name)
		if _, err := f.edited("../.."); err != nil {
			t.Errorf("%s %s: %v", f.name, f.what, err)
		}
		for pkg, tests := range f.tests {
			files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			var source []byte
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				source = append(source, data...)
			}
			for _, test := range tests {
				if !bytes.Contains(source, []byte("\nfunc "+test+"(")) {
					t.Errorf("%s: there is no test %s in %s", f.name, test, pkg)
				}
			}
		}
		if len(f.tests) == 0 && len(shown[f.name]) == 0 {
			t.Errorf("%s: no test is said to show it", f.name)
		}
	}
	document, err := os.ReadFile("../../docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (FR-\d+[a-z]?) \|`).FindAllStringSubmatch(string(document), -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("%s is not in features.txt", m[1])
		}
	}
}
