// Command testreport reads what go test -json prints and shows what a person
// wants to see of it: a line for each package, the output of tests that failed,
// and at the end the slowest tests and every one that was skipped, with its reason. It exits with 1 if
// a test failed, or if CI=true and one was skipped for want of something that
// could be there: its reason then says "not installed" or "corpus absent".
//
// Tests that drive programs of others, a browser above all, can fail because the machine
// was busy. Those of the packages named by -again that failed are run once more, alone:
// what passes then is no failure, and is named at the end. A panic or a data race is
// never looked at twice, nor are more than a few failures.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

type event struct {
	Action, Package, Test, Output, FailedBuild, ImportPath string
	Elapsed                                                float64 // in seconds
}

func main() {
	again := flag.String("again", "", "packages, by the ends of their paths and with commas between, whose failed tests are run once more, alone")
	flag.Parse()
	r := report{output: map[string][]string{}}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			r.read(line)
		}
		if err != nil {
			break
		}
	}
	if *again != "" {
		r.secondTry(strings.Split(*again, ","), alone)
	}
	r.close()
	if r.failed > 0 || os.Getenv("CI") == "true" && r.missing > 0 {
		os.Exit(1)
	}
}

type report struct {
	output         map[string][]string
	passed, failed int
	missing        int
	skipped        []string
	failures       []failure
	flaky          []string
	timed          []timed
}

func (r *report) read(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Printf("%s", line) // what the build says is not always JSON
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.output[key] = append(r.output[key], e.Output)
		if e.Test == "" && !strings.HasPrefix(e.Output, "PASS") && !strings.HasPrefix(e.Output, "-test.shuffle") {
			fmt.Print(e.Output)
		}
	case "build-output":
		fmt.Print(e.Output)
	case "pass":
		if e.Test != "" {
			r.passed++
		}
		r.note(&e)
		delete(r.output, key)
	case "fail":
		output := strings.Join(r.output[key], "")
		delete(r.output, key)
		if e.Test == "" {
			output = r.unfinished(e.Package) + output
		}
		r.failed++
		r.failures = append(r.failures, failure{e.Package, e.Test, output})
		fmt.Print(output) // that of a package has the seed of the shuffle
	case "skip":
		defer delete(r.output, key)
		if e.Test != "" {
			why := reason(r.output[key])
			r.skipped = append(r.skipped, key+": "+why)
			if strings.Contains(why, "not installed") || strings.Contains(why, "corpus absent") {
				r.missing++
			}
		}
	}
}

// unfinished is what the tests said that had no end when their package failed: where one
// panicked, or took too long, nothing else tells it.
func (r *report) unfinished(pkg string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(key, pkg+" ") {
			text.WriteString(strings.Join(r.output[key], ""))
			delete(r.output, key)
		}
	}
	return text.String()
}

// reason is what a test said when it was skipped.
func reason(output []string) string {
	for _, line := range output {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return "no reason given"
}

func (r *report) close() {
	if slow := r.slowest(); len(slow) > 0 {
		fmt.Printf("\nThe slowest tests, with others beside them:\n  %s\n", strings.Join(slow, "\n  "))
	}
	if len(r.skipped) > 0 {
		fmt.Printf("\nSkipped, and why:\n")
		for _, line := range r.skipped {
			fmt.Println("  " + line)
		}
	}
	if len(r.flaky) > 0 {
		fmt.Printf("\nFailed at first, and passed when run again, alone:\n  %s\n", strings.Join(r.flaky, "\n  "))
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
}
