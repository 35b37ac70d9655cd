package work

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A Recorder puts runs on record and carries nothing of them out.
type Recorder struct {
	// Store is where they are put on record.
	Store troupe.Store
	// Tracing, where set, makes the caller's span the parent of the run's own, wherever
	// that is carried out.
	Tracing troupe.Tracing
}

// Recorded says which run is on record.
type Recorded struct {
	Session, Run string
	// After is the number of the event before those that were put on record.
	After int64
	// Known says that the request was on record, under its idempotency key, and has come
	// to something or is under way: nobody was told of it.
	Known bool
}

// errRecorded ends a run that is not to be carried out here.
var errRecorded = errors.New("the run is on record, for somebody else to carry out")

// Record puts a run of step on record, as [troupe.Engine.Run] would begin it: a message, an
// answer to a question, a request that was sent before. Just before it is stored, while
// nobody else can take the session, announce is called with the session, so that nothing
// that is on record is forgotten. Where it fails, nothing is stored.
func (r Recorder) Record(ctx context.Context, step troupe.Step, input troupe.Input, announce func(ctx context.Context, session string) error) (Recorded, error) {
	if step == nil {
		return Recorded{}, errors.New("record a run: there is no step to run")
	}
	return r.begin(step, &beginning{Store: r.Store, announce: announce}, func(engine *troupe.Engine) iter.Seq2[troupe.Event, error] {
		return engine.Run(ctx, unperformed{step}, input)
	})
}

// RecordAgain puts on record that a session's latest run is resumed, as [troupe.Engine.Resume] would
// begin with it. Otherwise it is as Record.
func (r Recorder) RecordAgain(ctx context.Context, step troupe.Step, session string, announce func(ctx context.Context, session string) error) (Recorded, error) {
	return r.begin(step, &beginning{Store: r.Store, announce: announce, isAgain: true}, func(engine *troupe.Engine) iter.Seq2[troupe.Event, error] {
		return engine.Resume(ctx, unperformed{step}, session)
	})
}

// begin has an engine begin with a run on the store that keeps how it begins.
func (r Recorder) begin(step troupe.Step, first *beginning, run func(*troupe.Engine) iter.Seq2[troupe.Event, error]) (Recorded, error) {
	engine, err := troupe.New(troupe.Config{Store: first, Tracing: r.Tracing})
	if err != nil {
		return Recorded{}, err
	}
	defer engine.Close()
	for e, err := range run(engine) {
		if first.failed != nil {
			return Recorded{}, first.failed
		}
		if err != nil && !errors.Is(err, errRecorded) {
			return Recorded{}, err
		}
		if err == nil && first.noted == nil {
			first.noted = &Recorded{Session: e.Session, Run: rootOf(e.Run), Known: true}
		}
		break
	}
	if first.noted == nil {
		return Recorded{}, fmt.Errorf("record a run of %s: nothing was stored", step.Name())
	}
	return *first.noted, nil
}

// rootOf returns the run that a nested one belongs to.
func rootOf(run string) string {
	root, _, _ := strings.Cut(run, ":")
	return root
}

// unperformed is a step that is begun and not carried out.
type unperformed struct{ troupe.Step }

func (unperformed) Do(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
	return troupe.Handoff{}, errRecorded
}

// A beginning stores how a run begins, and nothing that comes after.
type beginning struct {
	troupe.Store
	announce func(context.Context, string) error
	isAgain  bool // the run is resumed, and that is its beginning
	noted    *Recorded
	failed   error // why nothing is on record
}

// Append implements [troupe.Store]. What comes before the run is stored, too: that another
// one was given up for it.
func (b *beginning) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if b.failed != nil {
		return b.failed
	}
	if b.noted == nil && isEnd(events[0].Body) {
		return b.Store.Append(ctx, session, events...) // of a run before this one, which was given up
	}
	n := 0
	for n < len(events) && b.isFirst(events[n].Body) {
		n++
	}
	if b.noted == nil {
		if b.failed = b.announce(ctx, session); b.failed != nil {
			return b.failed
		}
		b.noted = &Recorded{Session: session, Run: rootOf(events[0].Run), After: events[0].Seq - 1}
	}
	if n == 0 {
		return errRecorded
	}
	if b.failed = b.Store.Append(ctx, session, events[:n]...); b.failed != nil {
		return b.failed
	}
	if n < len(events) {
		return errRecorded
	}
	return nil
}

// isFirst reports whether an event is to be stored.
func (b *beginning) isFirst(body troupe.Body) bool {
	switch body.(type) {
	case *troupe.RunResumed, *troupe.Warned:
		return b.isAgain
	}
	return begins(body)
}

// begins reports whether an event is of a run's beginning.
func begins(body troupe.Body) bool {
	switch body.(type) {
	case *troupe.RunStarted, *troupe.UserSaid:
		return true
	}
	return false
}

func isEnd(body troupe.Body) bool {
	switch body.(type) {
	case *troupe.RunFinished, *troupe.RunFailed, *troupe.RunCancelled:
		return true
	}
	return false
}
