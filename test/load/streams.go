//go:build unix

package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// streamPace is how long a token takes where conversations stream: an answer takes
// long enough that all are under way together.
const streamPace = 100 * time.Millisecond

// streamAtOnce opens many conversations, and then says something in all of them at
// the same moment.
func (w *world) streamAtOnce(ctx context.Context) error {
	dir, err := w.newProject("streams")
	if err != nil {
		return err
	}
	child, err := w.serve(ctx, dir)
	if err != nil {
		return err
	}
	defer child.stop()
	w.model.pace.Store(int64(streamPace))
	defer w.model.pace.Store(0)
	var mu sync.Mutex
	var overheads []time.Duration
	var opening, talking sync.WaitGroup
	opening.Add(w.concurrent)
	for range w.concurrent {
		talking.Go(func() {
			v, err := child.converse(ctx)
			opening.Done()
			if err != nil {
				w.report.fail(err)
				return
			}
			defer v.close()
			opening.Wait()
			t, err := v.say(ctx, question)
			if err != nil {
				w.report.fail(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			overheads = append(overheads, t.toFirstToken-w.model.ownTime())
		})
	}
	talking.Wait()
	w.report.row(fmt.Sprintf("conversations answered of %d begun at once", w.concurrent), "%d", len(overheads))
	w.report.row("- answers streaming at the same time, at most", "%d", w.model.mostOpen())
	w.report.row("- first token later than the model's, p50", "%v", percentile(overheads, 50))
	w.report.row("- first token later than the model's, p99", "%v", percentile(overheads, 99))
	w.report.row("- memory of the server at most", "%s", child.memory())
	w.report.row("- processor time of the server for each", "%v", (child.used() / time.Duration(max(len(overheads), 1))).Round(10*time.Microsecond))
	return ctx.Err()
}
