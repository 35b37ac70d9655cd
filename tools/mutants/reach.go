package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A reach is what one test carries out of the package that is broken.
type reach struct {
	test    string
	covered coverage
	took    time.Duration
}

// quick is for how long the fastest tests that reach a mutant run before the others do.
const quick = 5 * time.Second

// unbroken runs each test as it is and alone, to see what it reaches and how long it takes.
// One that fails is left out, and named.
func (t *trial) unbroken(ctx context.Context) ([]reach, error) {
	program := filepath.Join(t.temp, "unbroken")
	if out, err := t.build(ctx, program, "-cover", "-covermode=set", "-coverpkg="+t.pkg.PkgPath); err != nil {
		return nil, fmt.Errorf("its tests do not build: %w\n%s", err, out)
	}
	if _, err := os.Stat(program); err != nil {
		return nil, errors.New("it has no tests")
	}
	names, err := t.list(ctx, program)
	if err != nil {
		return nil, err
	}
	plain := sync.OnceValues(func() (string, error) {
		at := filepath.Join(t.temp, "plain")
		_, err := t.build(ctx, at)
		return at, err
	})
	tests := make([]reach, len(names))
	errs := make([]error, len(names))
	free := make(chan struct{}, max(t.parallel, 1))
	var all sync.WaitGroup
	for i, name := range names {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			tests[i], errs[i] = t.look(ctx, program, plain, name)
		})
	}
	all.Wait()
	if tests = slices.DeleteFunc(tests, func(r reach) bool { return r.covered == nil }); len(tests) == 0 || ctx.Err() != nil {
		return nil, errors.Join(errs...)
	}
	for i, err := range errs {
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out: %s: %v\n", names[i], err)
		}
	}
	slices.SortFunc(tests, func(a, b reach) int { return cmp.Compare(a.took, b.took) })
	return tests, nil
}

var isTest = regexp.MustCompile("^(Test|Example|Fuzz)")

// list names the tests of a program that -run and -skip leave.
func (t *trial) list(ctx context.Context, program string) (names []string, err error) {
	out, err := t.test(ctx, program, time.Minute, "-test.list=.")
	if err != nil {
		return nil, fmt.Errorf("its tests cannot be listed: %w\n%s", err, tail(out))
	}
	only, err := regexp.Compile(t.only)
	if err != nil {
		return nil, err
	}
	skip, err := regexp.Compile(t.skip)
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(out) {
		if isTest.MatchString(name) && only.MatchString(name) && (t.skip == "" || !skip.MatchString(name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

// look runs one test. One that fails is run once more, because other programs can be late,
// and then by a plain program: one that counts what is reached may print more than it should.
// What such a test reaches is on file all the same.
func (t *trial) look(ctx context.Context, program string, plain func() (string, error), name string) (r reach, err error) {
	profile := filepath.Join(t.temp, name+".cover")
	run := func(program string, flags ...string) (out string, err error) {
		began := time.Now()
		out, err = t.test(ctx, program, time.Hour, append(flags, "-test.run=^"+name+"$")...)
		r = reach{test: name, took: time.Since(began)}
		return out, err
	}
	var out string
	for range 2 {
		if out, err = run(program, "-test.coverprofile="+profile); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		if other, built := plain(); built == nil {
			out, err = run(other)
		}
	}
	if err != nil {
		return r, fmt.Errorf("its tests fail as they are: %w\n%s", err, tail(out))
	}
	r.covered, err = readCoverage(profile, t.pkg)
	return r, err
}

// rounds are the tests that reach a mutant, the fastest first, and how long each round takes:
// most mutants die in the first, and each of the others takes three times as long.
func rounds(tests []reach, m *mutant) (patterns []string, took []time.Duration) {
	var names []string
	var sum time.Duration
	room := quick
	end := func() {
		if len(names) > 0 {
			patterns, took = append(patterns, "^("+strings.Join(names, "|")+")$"), append(took, sum)
		}
		names, sum = nil, 0
	}
	for _, r := range tests {
		if !r.covered.has(m.path, m.Line, m.Column) {
			continue
		}
		if sum+r.took > room && len(names) > 0 {
			end()
			room *= 3
		}
		names, sum = append(names, r.test), sum+r.took
	}
	end()
	return patterns, took
}
