package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A failure is a test that failed, or a package where no test is named.
type failure struct {
	pkg, test, output string
}

// few is how many tests may have failed for a busy machine to be to blame.
const few = 3

// secondTry runs the tests that failed once more by run, if all that failed can have
// failed because the machine was busy. If every one passes now, nothing has failed.
func (r *report) secondTry(packages []string, run func(pkg, test string) bool) {
	var tests []failure
	for _, f := range r.failures {
		if !slices.ContainsFunc(packages, func(p string) bool { return strings.HasSuffix(f.pkg, "/"+p) }) || strings.Contains(f.output, "DATA RACE") || strings.Contains(f.output, "panic:") {
			return
		}
		if f.test != "" && !strings.Contains(f.test, "/") {
			tests = append(tests, f)
		}
	}
	if len(tests) == 0 || len(tests) > few || len(tests) < r.brokenPackages() {
		return
	}
	for _, f := range tests {
		fmt.Printf("\nonce more, alone: %s %s\n", f.pkg, f.test)
		if !run(f.pkg, f.test) {
			return
		}
	}
	for _, f := range tests {
		r.flaky = append(r.flaky, f.pkg+" "+f.test)
	}
	r.passed += len(tests)
	r.failed = 0
}

// brokenPackages counts the packages that failed. One that failed with no test of its
// own that did was not built, or ended before its time.
func (r *report) brokenPackages() int {
	n := 0
	for _, f := range r.failures {
		if f.test == "" {
			n++
		}
	}
	return n
}

// alone runs one test by itself, with the flags that testreport was given after its own,
// and reports whether it passed.
func alone(pkg, test string) bool {
	c := exec.Command("go", append([]string{"test", "-count=1", "-timeout=15m", "-run=^" + test + "$", pkg}, flag.Args()...)...)
	c.Dir, c.Stdout, c.Stderr = "..", os.Stdout, os.Stderr
	return c.Run() == nil
}
