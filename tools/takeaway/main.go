// Command takeaway takes features away, one at a time, and reports which of them no test
// misses.
//
// features.txt says how each feature is taken away: a small edit of one file. The tests
// that must notice are those named there, and for a requirement those that say by t.Attr
// that they show it. At least one of them has to fail. The tree is never changed: the
// edited file is compiled in the place of the real one by an overlay or, where tests read
// it as a file, stands in a copy of the tree.
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
	if len(f.tests) == 0 {
		return nil, errors.New("no test is said to show it")
	}
	without := overlaid
	if f.isRead {
		without = copied
	}
	dir, flags, err := without(ctx, root, temp, f.file, source)
	if err != nil {
		return nil, err
	}
	for pkg, tests := range f.tests {
		arguments := append([]string{"test", "-count=1", "-timeout=5m", "-run", "^(" + strings.Join(tests, "|") + ")$"}, flags...)
		command := exec.CommandContext(ctx, "go", append(arguments, "./"+pkg)...)
		command.Dir = dir
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

// overlaid has a file compiled as source. It returns where tests are run, and with which flags.
func overlaid(_ context.Context, root, temp, file string, source []byte) (dir string, flags []string, err error) {
	edited, overlay := filepath.Join(temp, "edited.go"), filepath.Join(temp, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, file): edited}})
	if err != nil {
		return "", nil, err
	}
	err = errors.Join(os.WriteFile(edited, source, 0o600), os.WriteFile(overlay, list, 0o600))
	return root, []string{"-overlay", overlay}, err
}

// copied makes a copy of the tree in which a file is source.
func copied(ctx context.Context, root, temp, file string, source []byte) (dir string, flags []string, err error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return "", nil, fmt.Errorf("git ls-files: %w", err)
	}
	tree, err := os.OpenRoot(temp)
	if err != nil {
		return "", nil, err
	}
	defer tree.Close()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // deleted and not yet committed, or a link that no test of this kind needs
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", nil, err
		}
		if name == file {
			data = source
		}
		if err := errors.Join(tree.MkdirAll(filepath.Dir(name), 0o700), tree.WriteFile(name, data, info.Mode().Perm())); err != nil {
			return "", nil, err
		}
	}
	return temp, nil, nil
}
