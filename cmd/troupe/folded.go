package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe/internal/rawjson"
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
	// What comes after it may not be all there is, and is counted for now.
	_, err = foldAll(ctx, log, kept.Metrics, upto, math.MaxInt64)
	return kept.Metrics, err
}

// countEvery is how often what is new is counted while a project is served, and recount after how
// many times it is seen, too, whether anything that was counted is there no more.
const (
	countEvery = time.Minute
	recount    = 60
)

// counting has metrics counted by the clock, so that who asks for them waits for what the
// last minute brought and not for years. What fails is tried again a minute later, and whoever
// asks meanwhile is told.
func counting(opened *project.Project) func(context.Context) error {
	return func(ctx context.Context) error {
		next := time.NewTicker(countEvery)
		defer next.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return nil
			case <-next.C:
			}
			_ = count(ctx, opened, func(log store.Log) error {
				if n%recount > 0 {
					return countFirst(ctx, log, opened.DataDir(), math.MaxInt64)
				}
				_, err := foldKept(ctx, log, opened.DataDir())
				return err
			})
		}
	}
}

// count has metrics of a project counted in a way.
func count(ctx context.Context, opened *project.Project, by func(store.Log) error) error {
	reader, err := opened.OpenReader(ctx)
	if err != nil {
		return err
	}
	return errors.Join(by(reader), reader.Close())
}

// A command that has run something counts what is new, once that is worth keeping: no more
// than a tenth of a second's, and so that nobody ever has to wait for years to be counted.
const (
	mostAtOnce = 2 * worthKeeping
	someTime   = 2 * time.Second
)

// countSome brings a project's kept metrics closer to what is stored.
func countSome(opened *project.Project) error {
	ctx, cancel := context.WithTimeout(context.Background(), someTime)
	defer cancel()
	return count(ctx, opened, func(log store.Log) error { return countFirst(ctx, log, opened.DataDir(), mostAtOnce) })
}

// countFirst counts of what is new the first so many events, or a few more.
func countFirst(ctx context.Context, log store.Log, dir string, most int64) error {
	file := filepath.Join(dir, foldedName)
	after := readUpto(file)
	upto, err := log.Last(ctx)
	if err != nil {
		return err
	}
	if n, err := log.Count(ctx, after, upto); err != nil || n < worthKeeping {
		return err
	}
	kept := readFolded(file)
	if kept.Upto != after {
		return nil
	}
	counted, end, err := foldFirst(ctx, log, kept.Metrics, after, upto, most)
	if err != nil {
		return err
	}
	kept.Upto, kept.Events = end, kept.Events+counted
	return keepFolded(dir, kept)
}

// readUpto is up to where was counted, which is said at the beginning of what may be a large
// file.
func readUpto(path string) (upto int64) {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	beginning := make([]byte, 100)
	n, _ := io.ReadFull(f, beginning)
	c := rawjson.NewCursor(beginning[:n])
	c.Object(func(name []byte) {
		if string(name) == "upto" {
			upto = c.Int()
			c.Stop()
		} else {
			c.Skip()
		}
	})
	return upto
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
