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
	"sync"
	"time"
)

// options say how much is killed, and how.
type options struct {
	Kills   int
	Seed    uint64
	Keep    bool
	Verbose bool
	// Only is "serve" where nothing but servers are killed.
	Only string
	Out  io.Writer
}

// lanes is how many projects are worked on at the same time. Their processes wait
// for a model most of the time.
const lanes = 4

// A world is what all lanes share.
type world struct {
	options
	dir     string // where everything is
	program string
	model   *model
	report  *report
}

// torture does all there is to do. An error means that something is wrong with
// troupe, or that it could not be found out.
func torture(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "troupe-torture-")
	if err != nil {
		return err
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o777))
	if err == nil {
		err = tortureIn(ctx, o, dir)
	}
	if err != nil || o.Keep {
		fmt.Fprintf(o.Out, "seed %d; the projects are in %s\n", o.Seed, dir)
		return err
	}
	return os.RemoveAll(dir)
}

func tortureIn(ctx context.Context, o options, dir string) error {
	w := &world{options: o, dir: dir, program: filepath.Join(dir, "troupe"), report: newReport(o)}
	fmt.Fprintf(o.Out, "seed %d, %d kills\n", o.Seed, o.Kills)
	if err := w.build(ctx); err != nil {
		return err
	}
	var err error
	if w.model, err = serveModel(w.report); err != nil {
		return err
	}
	defer w.model.close()
	began := time.Now()
	if err := w.doAll(ctx); err != nil {
		return err
	}
	w.report.progress("done in %s", time.Since(began).Round(time.Second))
	return w.report.close()
}

// doAll gives every lane its part of the kills. Beside them, it does what is worse to
// a program than to be killed: to be refused.
func (w *world) doAll(ctx context.Context) error {
	if w.Only == "serve" {
		return w.killServers(ctx)
	}
	all := []func(context.Context) error{w.fillDisk, w.takeRights, w.getInTheWay, w.cutDeliveries, w.cutDeletions, w.freeze, w.killServers}
	for i := range lanes {
		kills := w.Kills / lanes
		if i < w.Kills%lanes {
			kills++
		}
		all = append(all, w.newLane(i, kills).run)
	}
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, do := range all {
		wg.Go(func() { errs[i] = do(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// build builds the program with its failpoints, and this one, whose ledger is started with
// every command: a test that is its own takes several times as long to start.
func (w *world) build(ctx context.Context) error {
	for program, source := range map[string]string{w.program: "cmd/troupe", w.ledger(): "test/torture"} {
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "failpoint", "-o", program, "github.com/troupe-dev/troupe/"+source)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", source, err, out)
		}
	}
	return nil
}

// ledger is the program of the tool that must not be called twice.
func (w *world) ledger() string { return w.program + "-ledger" }
