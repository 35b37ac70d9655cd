// Command takeaway takes features away, one at a time, and reports which of them no test
// misses.
//
// features.txt says how each feature is taken away: a small edit of one file. The tests
// that must notice are those named there, and for a requirement those that say by t.Attr
// that they show it. At least one of them has to fail. The tree is never changed: the
// edited file is compiled in the place of the real one by an overlay.
//
//	takeaway -root .. FR-004 M16
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "directory of the module")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "takeaway:", err)
		os.Exit(1)
	}
}

// run takes away all features, or those whose names are given.
func run(ctx context.Context, root string, only []string, out io.Writer) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	features, err := readAll()
	if err != nil {
		return err
	}
	shown, err := attributed(root)
	if err != nil {
		return err
	}
	missed, tried := 0, 0
	for _, f := range features {
		if len(only) > 0 && !slices.Contains(only, f.name) {
			continue
		}
		tried++
		for pkg, tests := range shown[f.name] {
			f.tests[pkg] = append(f.tests[pkg], tests...)
		}
		failed, err := f.takeAway(ctx, root)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if len(failed) == 0 {
			missed++
			fmt.Fprintf(out, "%-8s %s: NO TEST MISSES IT\n", f.name, f.what)
			continue
		}
		fmt.Fprintf(out, "%-8s %s: %s\n", f.name, f.what, strings.Join(failed, " "))
	}
	fmt.Fprintf(out, "%d features taken away, %d missed by no test\n", tried, missed)
	if missed > 0 || tried == 0 {
		return errors.New("not every feature is missed")
	}
	return nil
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// takeAway runs the tests of a feature without it, and returns those that fail.
func (f *feature) takeAway(ctx context.Context, root string) (failed []string, err error) {
	source, err := f.edited(root)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "takeaway")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	edited, overlay := filepath.Join(temp, "edited.go"), filepath.Join(temp, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, f.file): edited}})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(edited, source, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return nil, err
	}
	if len(f.tests) == 0 {
		return nil, errors.New("no test is said to show it")
	}
	for pkg, tests := range f.tests {
		command := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=5m", "-overlay", overlay, "-run", "^("+strings.Join(tests, "|")+")$", "./"+pkg)
		command.Dir = root
		output, err := command.CombinedOutput()
		if err == nil {
			continue
		}
		before := len(failed)
		for _, m := range failure.FindAllSubmatch(output, -1) {
			failed = append(failed, string(m[1]))
		}
		switch text := string(output); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
			return nil, fmt.Errorf("without it nothing is built:\n%s", text)
		case len(failed) == before: // it panics, or never ends
			failed = append(failed, "(the whole of ./"+pkg+")")
		}
	}
	slices.Sort(failed)
	return slices.Compact(failed), nil
}
