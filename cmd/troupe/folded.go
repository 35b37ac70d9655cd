package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
)

// A folded file keeps metrics of all events up to a number, so that they need not be
// counted again. It can be removed at any time.
type foldedFile struct {
	Version int `json:"version"`
	// Upto is the number of the last event that is counted, and Events how many there
	// were up to it: if there are fewer, some were deleted and all is counted anew.
	Upto    int64            `json:"upto"`
	Events  int64            `json:"events"`
	Metrics *observe.Metrics `json:"metrics"`
}

const (
	foldedVersion = 1
	foldedName    = "metrics.json"
	// worthKeeping is from how many new events on the file is written.
	worthKeeping = 10_000
)

// foldKept computes metrics of all that is stored, beginning with what was kept in a
// directory.
func foldKept(ctx context.Context, log store.Log, dir string) (*observe.Metrics, error) {
	kept := readFolded(filepath.Join(dir, foldedName))
	if n, err := log.Count(ctx, 0, kept.Upto); err != nil {
		return nil, err
	} else if n != kept.Events {
		kept = newFolded()
	}
	upto, err := log.Last(ctx)
	if err != nil {
		return nil, err
	}
	n, err := foldAll(ctx, log, kept.Metrics, kept.Upto, upto)
	if err != nil {
		return nil, err
	}
	if n >= worthKeeping {
		kept.Upto, kept.Events = upto, kept.Events+n
		keepFolded(dir, kept) // where it cannot be kept, it is counted again
	}
	return kept.Metrics, nil
}

// countEvery is how often metrics are counted while a project is served, and countAfter when
// that is done first.
const (
	countEvery = time.Hour
	countAfter = time.Minute
)

// counting has metrics counted by the clock, so that who asks for them waits for what the
// last hour brought and not for years. What fails is tried again an hour later, and whoever
// asks meanwhile is told.
func counting(opened *project.Project) func(context.Context) error {
	return func(ctx context.Context) error {
		next := time.NewTimer(countAfter)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-next.C:
				_ = count(ctx, opened)
				next.Reset(countEvery)
			}
		}
	}
}

// count brings a project's kept metrics up to date.
func count(ctx context.Context, opened *project.Project) error {
	reader, err := opened.OpenReader(ctx)
	if err != nil {
		return err
	}
	_, err = foldKept(ctx, reader, opened.DataDir())
	return errors.Join(err, reader.Close())
}

func newFolded() *foldedFile {
	return &foldedFile{Version: foldedVersion, Metrics: observe.NewMetrics()}
}

// readFolded reads what was kept. What cannot be read is nothing.
func readFolded(path string) *foldedFile {
	kept := newFolded()
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, kept) != nil || kept.Version != foldedVersion || kept.Metrics == nil {
		return newFolded()
	}
	return kept
}

func keepFolded(dir string, kept *foldedFile) error {
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".troupe-tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, foldedName))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
