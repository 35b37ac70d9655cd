package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/packages"
)

// A trial is a package whose mutants are tried.
type trial struct {
	options
	pkg     *packages.Package
	tests   *packages.Package // whose tests are run
	dir     string            // of that one
	temp    string
	reached []reach // what each test carries out, the fastest first
}

// tryPackage tries the mutants of one package, or a sample of them. The tests are
// its own, or those of the package named after a =, for one that another tests.
func tryPackage(ctx context.Context, o options, pattern string) (*report, error) {
	broken, tests, ok := strings.Cut(pattern, "=")
	if !ok {
		tests = broken
	}
	p, err := load(ctx, o.root, broken)
	if err != nil {
		return nil, err
	}
	by, err := load(ctx, o.root, tests)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	t := &trial{options: o, pkg: p, tests: by, dir: filepath.Dir(by.CompiledGoFiles[0]), temp: temp}
	if t.reached, err = t.unbroken(ctx); err != nil {
		return nil, err
	}
	all, err := breed(p, os.ReadFile)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].File, err = filepath.Rel(o.root, all[i].path); err != nil {
			return nil, err
		}
	}
	covered := slices.DeleteFunc(all, func(m mutant) bool {
		return !m.isAt(o.at) || !slices.ContainsFunc(t.reached, func(r reach) bool { return r.covered.has(m.path, m.Line, m.Column) })
	})
	r := &report{Package: pattern, Seed: o.seed, Covered: len(covered)}
	for _, test := range t.reached {
		r.Tests += test.took
	}
	for _, m := range sample(covered, o.sample, o.seed) {
		r.Tried = append(r.Tried, attempt{mutant: m})
	}
	if err := t.all(ctx, r.Tried); err != nil {
		return nil, err
	}
	r.count()
	return r, nil
}

func load(ctx context.Context, root, pattern string) (*packages.Package, error) {
	found, err := packages.Load(&packages.Config{
		Context: ctx, Dir: root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, pattern)
	switch {
	case err != nil:
		return nil, err
	case len(found) != 1:
		return nil, fmt.Errorf("%d packages match; name one at a time", len(found))
	case len(found[0].Errors) > 0:
		return nil, found[0].Errors[0]
	case len(found[0].CompiledGoFiles) == 0:
		return nil, errors.New("it has no files")
	}
	return found[0], nil
}

// sample chooses n mutants, the same for the same seed, in the order they had.
func sample(all []mutant, n int, seed uint64) []mutant {
	if n <= 0 || n >= len(all) {
		return all
	}
	chosen := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(chosen)
	var some []mutant
	for _, i := range chosen {
		some = append(some, all[i])
	}
	return some
}

// all tries every mutant, several at a time, and writes down what became of it.
func (t *trial) all(ctx context.Context, attempts []attempt) error {
	next := make(chan *attempt)
	errs := make([]error, max(t.parallel, 1))
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			for a := range next {
				errs[i] = errors.Join(errs[i], t.one(ctx, a, filepath.Join(t.temp, strconv.Itoa(i))))
			}
		})
	}
	for i := range attempts {
		next <- &attempts[i]
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}

// one compiles one mutant in the place of the real file, and runs the tests that reach it.
func (t *trial) one(ctx context.Context, a *attempt, dir string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	began := time.Now()
	defer func() {
		a.Took = time.Since(began)
		if a.Outcome != "" {
			fmt.Fprintf(os.Stderr, "%s after %s: %s\n", a.Outcome, a.Took.Round(time.Second), a.at())
		}
	}()
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "broken.test")
	if err := t.replace(&a.mutant, dir, overlay); err != nil {
		return err
	}
	if out, err := t.build(ctx, program, "-overlay="+overlay); err != nil {
		a.Outcome, a.Detail = notBuilt, tail(out)
		return ctx.Err()
	}
	a.Outcome = survived
	patterns, took := rounds(t.reached, &a.mutant)
	for i, tests := range patterns {
		out, err := t.test(ctx, program, cmp.Or(t.limit, 3*took[i]+5*time.Second), "-test.run="+tests)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			continue
		case errors.Is(err, context.DeadlineExceeded) || strings.Contains(out, "panic: test timed out after"):
			a.Outcome = timedOut
		default:
			a.Outcome = killed
		}
		break
	}
	return nil
}

func (t *trial) replace(m *mutant, dir, overlay string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	source, err := os.ReadFile(m.path)
	if err != nil {
		return err
	}
	broken := filepath.Join(dir, "broken.go")
	if err := os.WriteFile(broken, m.apply(source), 0o644); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {m.path: broken}})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, data, 0o644)
}

func (t *trial) build(ctx context.Context, program string, flags ...string) (string, error) {
	// What debuggers read is left out, as go test does: linking takes a third less.
	arguments := append([]string{"test", "-c", "-ldflags=-s -w", "-o", program}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(arguments, t.tests.PkgPath)...)
	cmd.Dir = t.root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// test runs a test program where go test would. A program that does not end by
// itself when its time is up is ended.
func (t *trial) test(ctx context.Context, program string, limit time.Duration, flags ...string) (string, error) {
	within, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	arguments := append([]string{program, "-test.failfast", "-test.timeout=" + limit.String()}, flags...)
	if t.skip != "" {
		arguments = append(arguments, "-test.skip="+t.skip)
	}
	if t.short {
		arguments = append(arguments, "-test.short")
	}
	if t.memory > 0 {
		// A broken loop may append without end; that must not take the machine with it.
		confine := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$@"`, t.memory<<10)
		arguments = append([]string{"sh", "-c", confine, "sh"}, arguments...)
	}
	cmd := exec.CommandContext(within, arguments[0], arguments[1:]...)
	cmd.Dir, cmd.WaitDelay = t.dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && within.Err() != nil {
		err = within.Err()
	}
	return string(out), err
}

func tail(out string) string {
	const most = 2000
	return out[max(0, len(out)-most):]
}
