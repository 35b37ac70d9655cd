//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// turnsCompared is how many turns each of two stores is measured with.
const turnsCompared = 200

// compareStores measures turns, one at a time, in turn with a store that is empty at
// first and one that many conversations are in: whatever else the machine does
// meanwhile, it does to both.
func (w *world) compareStores(ctx context.Context) error {
	empty, err := w.newProject("empty")
	if err != nil {
		return err
	}
	full, err := w.newProject("full")
	if err != nil {
		return err
	}
	without, err := w.serve(ctx, empty)
	if err != nil {
		return err
	}
	defer without.stop()
	example, err := without.converse(ctx)
	if err != nil {
		return err
	}
	defer example.close()
	if _, err := example.say(ctx, question); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(full, "data", "troupe.db"), example.log, w.stored); err != nil {
		return err
	}
	with, err := w.serve(ctx, full)
	if err != nil {
		return err
	}
	defer with.stop()
	var took [2][]time.Duration
	for range turnsCompared {
		for i, child := range []*child{without, with} {
			t, err := child.once(ctx)
			if err != nil {
				w.report.fail(err)
				continue
			}
			took[i] = append(took[i], t.whole)
		}
	}
	before, after := percentile(took[0], 50), percentile(took[1], 50)
	w.report.row("a turn alone, p50, with nothing stored", "%v", before)
	w.report.row(fmt.Sprintf("- with %d conversations stored", w.stored), "%v", after)
	w.report.row("- ratio", "%.2f", float64(after)/float64(max(before, 1)))
	return ctx.Err()
}

// once has a conversation of one turn.
func (c *child) once(ctx context.Context) (turn, error) {
	v, err := c.converse(ctx)
	if err != nil {
		return turn{}, err
	}
	defer v.close()
	return v.say(ctx, question)
}

const (
	// writers is how many sessions are stored at a time: they share transactions.
	writers = 64
	// apart is how long after another one each stored conversation took place. Those
	// of the last minute would be looked after when the server starts.
	apart = 5 * time.Minute
)

// fill stores copies of a conversation in a new store.
func fill(ctx context.Context, path string, log []troupe.Event, copies int) (err error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	errs := make([]error, writers)
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for n := i; n < copies && errs[i] == nil; n += writers {
				id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)
				errs[i] = store.Append(ctx, id, copied(log, id, time.Duration(copies-n)*apart)...)
			}
		})
	}
	writing.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, err := range store.Search(ctx, sqlite.Query{Text: "six", Limit: 1}) { // which waits until all is indexed
		return err
	}
	return nil
}

// copied returns a log as that of another session, which took place so much earlier.
func copied(log []troupe.Event, session string, earlier time.Duration) []troupe.Event {
	events := slices.Clone(log)
	for i := range events {
		events[i].Session, events[i].Time = session, events[i].Time.Add(-earlier)
	}
	return events
}
