package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// LostRuns knows which runs were under way in processes that are gone: see postgres.Store.
type LostRuns interface {
	// LostJobs returns jobs of a queue that the cluster has and whose sessions are a process's
	// that has not been heard of for as long as its lease lasts.
	LostJobs(ctx context.Context, queue string, limit int) ([]work.Job, error)
}

const (
	// lostPause is how often lost runs are looked for.
	lostPause = 200 * time.Millisecond
	// leaveFor is how long a run is left to others that this worker cannot carry out.
	leaveFor = 5 * time.Second
)

// TakeOver goes on with runs of the worker's queue whose workers are gone, as soon as the store says
// that their leases are over, until ctx is done: then those that it goes on with are
// interrupted, and it returns when that is on record. Any number of workers may do so.
//
// Nobody waits for Temporal, whose timers are late and which may give the run to a worker that is
// gone as well. Its activity stays the one that it was: TakeOver says by the activity's id that it
// lives, and what came of it. The worker before, if it is there after all, is refused by the
// store. Where a queue has a rate, lost runs are left to Temporal, which holds it.
func (w *Worker) TakeOver(ctx context.Context, c client.Client, namespace string, lost LostRuns, log *slog.Logger) {
	if w.RunsPerSecond > 0 {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	known := &knownRuns{until: map[string]time.Time{}}
	pause := time.NewTicker(lostPause)
	defer pause.Stop()
	for ctx.Err() == nil { // what it gives up then is lost, and is for others
		jobs, err := lost.LostJobs(ctx, w.Queue, w.maxParallel()+known.count())
		if err != nil && ctx.Err() == nil {
			log.Warn("lost runs not looked for; Temporal will miss them", "err", err)
		}
		for _, job := range jobs {
			if !known.take(job.Session) {
				continue
			}
			if !w.slots.take(w.maxParallel()) {
				known.put(job.Session, 0)
				break
			}
			running.Go(func() {
				defer w.slots.free()
				err := w.adopt(ctx, &adopted{client: c, namespace: namespace, session: job.Session, every: beatEvery(defaultHeartbeat)}, job)
				if err == nil || ctx.Err() != nil {
					known.put(job.Session, 0)
					return
				}
				log.Warn("lost run left to others", "session", job.Session, "agent", job.Step, "err", err)
				known.put(job.Session, leaveFor)
			})
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// adopt goes on with a lost run, in the place of the worker that Temporal has given it to. It
// fails where the run is left to others.
func (w *Worker) adopt(ctx context.Context, a *adopted, job work.Job) error {
	step, err := w.Step(ctx, job)
	if err != nil {
		return fmt.Errorf("make %s: %w", job.Step, err)
	}
	if err := w.check(job, step); err != nil {
		return err
	}
	late := context.WithoutCancel(ctx)
	beats, stop := context.WithCancel(late)
	cancelled := make(chan bool, 1)
	go func() {
		cancelled <- a.keep(beats, func() { _ = w.Engine.Cancel(beats, job.Session) })
	}()
	err = work.Perform(ctx, w.Engine, step, job.Session)
	stop()
	isCancelled := <-cancelled
	switch {
	case errors.Is(err, troupe.ErrBusy) || errors.Is(err, troupe.ErrConflict):
		return nil // somebody was faster, or has taken it over since, and says so
	case err != nil:
		// Others get it at once. A cause that is a cancelled context would be taken for the run's.
		a.complete(late, Result{}, temporal.NewApplicationError("to be tried again; the worker's log says why", notYet))
		return err
	}
	isKnown := a.activity != ""
	if !isKnown {
		a.find(late)
	}
	result, isRemoved, err := w.outcome(late, job, isCancelled)
	// What was found when the run had ended may be the activity of the session's next run, unless
	// the job of this one was still there afterwards.
	if isKnown || isRemoved {
		a.complete(late, result, err)
	}
	return nil
}

// knownRuns are the lost runs that a worker goes on with, and those that it leaves to others
// for a while.
type knownRuns struct {
	mu    sync.Mutex
	until map[string]time.Time // zero while it goes on with the run
}

func (k *knownRuns) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.until)
}

// take reports whether the worker is to go on with a run.
func (k *knownRuns) take(session string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if until, ok := k.until[session]; ok && (until.IsZero() || time.Now().Before(until)) {
		return false
	}
	k.until[session] = time.Time{}
	return true
}

// put gives a run back, and leaves it to others for a while.
func (k *knownRuns) put(session string, leave time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, until := range k.until {
		if !until.IsZero() && time.Now().After(until) {
			delete(k.until, other)
		}
	}
	delete(k.until, session)
	if leave > 0 {
		k.until[session] = time.Now().Add(leave)
	}
}
