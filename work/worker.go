package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Worker takes jobs from a queue and carries them out.
type Worker struct {
	// Engine carries out runs. The worker does not close it.
	Engine *troupe.Engine
	Queue  Queue
	// Name is that of the queue to take jobs from: the usual one by default.
	Name string
	// Step makes the step of a job. An error leaves the job to others.
	Step func(ctx context.Context, job Job) (troupe.Step, error)
	// Check fails if a step is not what a job is of: [Check] by default.
	Check func(job Job, step troupe.Step) error
	// MaxParallel is how many runs are carried out at the same time: 16 by default.
	MaxParallel int
	// Pause is how often the queue is looked at: every 200 ms by default.
	Pause time.Duration
	// Log is told of what goes wrong. Nil means nobody is.
	Log *slog.Logger
}

const (
	defaultParallel = 16
	defaultPause    = 200 * time.Millisecond
	// leaveFor is how long a job is left alone that this worker cannot carry out.
	leaveFor = 5 * time.Second
)

// ErrDefinition reports a job of another definition than this worker has for its step.
var ErrDefinition = errors.New("this worker has another definition of it")

// Work takes up jobs until ctx is done. It returns when the runs that it carries out have
// stopped; they are on record, and their jobs wait for other workers.
func (w *Worker) Work(ctx context.Context) error {
	log := cmp.Or(w.Log, slog.New(slog.DiscardHandler))
	free := make(chan struct{}, cmp.Or(w.MaxParallel, defaultParallel))
	var running sync.WaitGroup
	defer running.Wait()
	hands := &inHand{jobs: map[string]time.Time{}}
	pause := time.NewTicker(cmp.Or(w.Pause, defaultPause))
	defer pause.Stop()
	for {
		jobs, err := w.Queue.WaitingJobs(ctx, w.Name, cap(free)+hands.count())
		if err != nil && ctx.Err() == nil {
			log.Warn("jobs not read", "err", err)
		}
		for _, job := range jobs {
			if !hands.take(job.Session) {
				continue
			}
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			running.Go(func() {
				defer func() { <-free }()
				err := w.carryOut(ctx, job)
				if why := reason(err); why != "" && ctx.Err() == nil {
					log.Warn("job left to others", "session", job.Session, "agent", job.Step, "err", why)
				}
				hands.put(job.Session, err)
			})
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// carryOut goes on with a job's run. It fails where the job stays in the queue.
func (w *Worker) carryOut(ctx context.Context, job Job) error {
	step, err := w.Step(ctx, job)
	if err != nil {
		return err
	}
	check := w.Check
	if check == nil {
		check = Check
	}
	if err := check(job, step); err != nil {
		return err
	}
	if err := Perform(ctx, w.Engine, step, job.Session); err != nil {
		return err
	}
	_, err = w.Queue.RemoveJob(context.WithoutCancel(ctx), job)
	return err
}

// reason says in one line, each thing once, why a job is left to others: nothing where somebody else has it.
func reason(err error) string {
	switch {
	case err == nil || errors.Is(err, troupe.ErrBusy):
		return ""
	case errors.Is(err, troupe.ErrConflict):
		return "another process has taken the session over"
	}
	if failed, ok := errors.AsType[*troupe.RunError](err); ok {
		err = failed.Err // which agent it is of is said, and what it was asked is nobody's business
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// Check fails with [ErrDefinition] if a step is not what a job is of.
func Check(job Job, step troupe.Step) error {
	if digest := digestOf(step); job.Digest != "" && digest != job.Digest {
		return fmt.Errorf("%s: the run is of definition %s, and here it is %s: %w", job.Step, job.Digest, digest, ErrDefinition)
	}
	return nil
}

// Perform goes on with a session's latest run over its log, until that has come to
// something: an end, a failure, a question, or a person's word to stop, which are all on
// record. It fails where somebody has to go on with it: ctx was done, the session is
// another's, or the store is out of reach.
func Perform(ctx context.Context, engine *troupe.Engine, step troupe.Step, session string) error {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(troupe.ErrClosed) })()
	var ended bool
	for e, err := range engine.Resume(run, step, session) {
		switch {
		case errors.Is(err, troupe.ErrNothingToResume) || errors.Is(err, troupe.ErrNotFound):
			return nil
		case err != nil && !ended:
			return err
		case err == nil && e.Parent == "" && isEnd(e.Body):
			// What has failed once ctx is done has failed for that, as like as not.
			_, isDone := e.Body.(*troupe.RunFinished)
			ended = isDone || ctx.Err() == nil && !isInterruption(e.Body)
		}
	}
	if !ended {
		return cmp.Or(context.Cause(ctx), troupe.ErrClosed)
	}
	return nil
}

// inHand are the jobs that a worker has, and those that it leaves alone for a while.
type inHand struct {
	mu   sync.Mutex
	jobs map[string]time.Time // zero while it is carried out
}

func (h *inHand) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.jobs)
}

// take reports whether a job is to be carried out now.
func (h *inHand) take(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until, ok := h.jobs[session]; ok && (until.IsZero() || time.Now().Before(until)) {
		return false
	}
	h.jobs[session] = time.Time{}
	return true
}

// put gives a job back.
func (h *inHand) put(session string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other, until := range h.jobs {
		if !until.IsZero() && time.Now().After(until) {
			delete(h.jobs, other)
		}
	}
	delete(h.jobs, session)
	if err != nil {
		h.jobs[session] = time.Now().Add(leaveFor)
	}
}
