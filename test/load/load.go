//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// options say how much is asked of the server.
type options struct {
	seconds, concurrent, stored int
	// stalled and readers are how many come that take nothing in, and that come at once.
	stalled, readers int
	// sessions is how many a large store has, and keep the directory where it stays.
	sessions int
	keep     string
	// program is the one that is measured, empty for one that is built now.
	program string
	// only names measurements, all if there are none.
	only []string
	out  io.Writer
}

// A measurement is one part of the table.
type measurement struct {
	name string
	do   func(*world, context.Context) error
}

var measurements = []measurement{
	{"turns", (*world).countTurns}, {"streams", (*world).streamAtOnce}, {"stores", (*world).compareStores},
	{"stalled", (*world).stallReaders}, {"readers", (*world).crowdReaders}, {"strangers", (*world).crowdStrangers},
	{"large", (*world).useLargeStore},
}

func names() (names []string) {
	for _, m := range measurements {
		names = append(names, m.name)
	}
	return names
}

// A world is what all measurements share.
type world struct {
	options
	dir     string // where everything is
	program string
	model   *model
	report  report
}

// load makes all measurements and prints them. An error means that a turn failed,
// that events were lost or came twice, or that nothing could be measured: to be slow
// is not an error.
func load(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "troupe-load-")
	if err != nil {
		return err
	}
	return errors.Join(loadIn(ctx, o, dir), os.RemoveAll(dir))
}

func loadIn(ctx context.Context, o options, dir string) error {
	w := &world{options: o, dir: dir, program: filepath.Join(dir, "troupe")}
	if o.program != "" {
		w.program = o.program
	} else if err := w.build(ctx); err != nil {
		return err
	}
	var err error
	if w.model, err = serveModel(); err != nil {
		return err
	}
	defer w.model.close()
	for _, name := range o.only {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("there is no measurement named %q: there are %s", name, strings.Join(names(), ", "))
		}
	}
	for _, m := range measurements {
		if len(o.only) > 0 && !slices.Contains(o.only, m.name) {
			continue
		}
		if err := m.do(w, ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return w.report.print(o.out)
}

// build builds the program that is measured.
func (w *world) build(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", w.program, "github.com/troupe-dev/troupe/cmd/troupe")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build troupe: %w\n%s", err, out)
	}
	return nil
}
