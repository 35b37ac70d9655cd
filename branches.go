package troupe

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/troupe-dev/troupe/internal/journal"
)

// errNotNeeded is the error of a branch that another one ended: see [Run.StopOthers].
var errNotNeeded = fmt.Errorf("%w: the others have come to an end without it", ErrCancelled)

// A branchGroup is the branches of one [Run.All].
type branchGroup struct {
	run     string       // whose branches they are
	at      journal.Path // and at which step of it
	cancels []context.CancelCauseFunc
	outer   *branchGroup
	// stopped says that the log has a branch ending the others: nothing new is done.
	stopped bool

	// room has an entry for each branch that is at work now. A branch that waits for an answer
	// gives its own back.
	room chan struct{}
	// working is how many branches are at work, or yet to begin; idle is closed once none is.
	// The early answers of the execution guard both.
	working int
	idle    chan struct{}
}

// isStopped reports whether this group, or one around it, is on record as ended.
func (g *branchGroup) isStopped() bool {
	for ; g != nil; g = g.outer {
		if g.stopped {
			return true
		}
	}
	return false
}

// All runs branches concurrently, each with its own Run, and returns their errors
// in the order given when all have returned. At most limit of them are at work at
// the same time, and they begin in order; 0 means all.
func (r *Run) All(ctx context.Context, limit int, branches ...func(context.Context, *Run) error) []error {
	errs := make([]error, len(branches))
	err := r.mayAct()
	if err == nil {
		err = r.flush()
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	at := r.next()
	if len(branches) == 0 {
		return nil
	}
	group := &branchGroup{
		run: r.id, at: at, cancels: make([]context.CancelCauseFunc, len(branches)), outer: r.group,
		stopped: r.stops[stopPlace{r.id, at}],
		room:    make(chan struct{}, max(orElse(limit, len(branches)), 1)),
		working: len(branches), idle: make(chan struct{}),
	}
	contexts := make([]context.Context, len(branches))
	runs := make([]Run, len(branches))
	for i := range branches {
		contexts[i], group.cancels[i] = context.WithCancelCause(ctx)
		runs[i] = r.branch(at.Branch(i))
		runs[i].group, runs[i].member = group, i
	}
	atomic.StoreUint32(&r.branching, 1)
	defer atomic.StoreUint32(&r.branching, 0)
	var left atomic.Int64
	left.Store(int64(len(branches)))
	done := make(chan struct{})
	for i, branch := range branches {
		r.front.enter(group.room) // here, so that they begin in order
		go func() {
			errs[i] = safely(func() error { return branch(contexts[i], &runs[i]) })
			errs[i] = together(errs[i], runs[i].flush())
			group.cancels[i](nil)
			r.exec.early.returned(group)
			<-group.room
			if left.Add(-1) == 0 {
				close(done)
			}
		}()
	}
	r.front.showUntil(done)
	for i := range runs {
		r.now = latest(r.now, runs[i].now)
		if errors.Is(errs[i], errNotNeeded) {
			errs[i] = errNotNeeded
		}
	}
	return errs
}

// StopOthers ends the other branches of the [Run.All] that this Run is a branch of:
// what they are doing is cancelled, and they fail with [ErrCancelled]. That is on
// record, so that nothing new is begun when the run is gone over again.
func (r *Run) StopOthers(ctx context.Context) error {
	if r.group == nil || !r.prefix.IsBranch() {
		return errors.New("stop others: this is not a branch of All")
	}
	if err := r.emit(ctx, &BranchesStopped{}); err != nil && !errors.Is(err, errNotNeeded) {
		return err
	}
	if err := r.flush(); err != nil {
		return err
	}
	for i, cancel := range r.group.cancels {
		if i != r.member {
			cancel(errNotNeeded)
		}
	}
	return nil
}

// branch returns a Run for what happens below a step.
func (r *Run) branch(at journal.Path) Run {
	b := *r
	b.prefix, b.count, b.noted, b.front, b.branching = at, 0, nil, nil, 0
	return b
}

// A crashError is a panic in a step.
type crashError struct {
	value any
	stack string
}

func (e *crashError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// safely turns a panic of f into an error.
func safely(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &crashError{value, string(debug.Stack())}
		}
	}()
	return f()
}
