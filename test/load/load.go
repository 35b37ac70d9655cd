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
)

// options say how much is asked of the server.
type options struct {
	seconds, concurrent, stored int
	out                         io.Writer
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
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", w.program, "github.com/troupe-dev/troupe/cmd/troupe")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build troupe: %w\n%s", err, out)
	}
	var err error
	if w.model, err = serveModel(); err != nil {
		return err
	}
	defer w.model.close()
	for _, measure := range []func(context.Context) error{w.countTurns, w.streamAtOnce, w.compareStores} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return w.report.print(o.out)
}
