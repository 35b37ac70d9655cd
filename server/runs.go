package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
)

// A running run is one that a request has begun. It goes on when the request ends.
type running struct {
	started
	// events are what happens, until it has ended. They are for the request alone.
	events chan happening
	cancel context.CancelCauseFunc
	asked  time.Time
}

// A happening is an event, or at last why the run broke off.
type happening struct {
	event troupe.Event
	err   error
}

// step makes the agent or flow of a name.
func (s *Server) step(ctx context.Context, name string) (troupe.Step, error) {
	return s.stepWith(ctx, name, "")
}

// stepIn makes the agent or flow of a session, with the model that was chosen for it.
func (s *Server) stepIn(ctx context.Context, name, session string) (troupe.Step, error) {
	if name == Pipeline && session != "" && s.config.Deliveries != nil {
		return s.config.Deliveries.Step(ctx, session) // as it began, with the options of its request
	}
	n, err := s.notes.of(session)
	if err != nil || session == "" {
		return s.step(ctx, name)
	}
	if s.config.StepIn == nil {
		return s.stepWith(ctx, name, n.Model)
	}
	step, err := s.config.StepIn(ctx, name, n.Model, session)
	return step, unmade(name, err)
}

// stepWith makes the agent or flow of a name with a model, the usual one if that is
// empty.
func (s *Server) stepWith(ctx context.Context, name, model string) (step troupe.Step, err error) {
	if model == "" || s.config.Models == nil {
		step, err = s.config.Cast.Step(ctx, name)
	} else {
		step, err = s.config.Models.Step(ctx, name, model)
	}
	return step, unmade(name, err)
}

// unmade says why there is no step, nil if there is one.
func unmade(name string, err error) error {
	if errors.Is(err, ErrUnknown) {
		return refuse(http.StatusNotFound, "there is no agent or flow named %.64q", name).concerning("model", "model_not_found")
	}
	if errors.Is(err, ErrBroken) {
		return refuse(http.StatusUnprocessableEntity, "%s cannot start: %v", name, err).withCode("agent_broken")
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}

// begin runs step in the background. It returns once the first event is stored: what
// is acknowledged is never lost.
func (s *Server) begin(c *call, step troupe.Step, input troupe.Input) (*running, error) {
	input.User = c.user
	run, err := s.begun(c, input.Session, func(ctx context.Context) iter.Seq2[troupe.Event, error] {
		return s.config.Runs.Run(ctx, step, input)
	})
	return run, otherRequest(input.IdempotencyKey, err)
}

// begun is begin for any way to run something.
func (s *Server) begun(c *call, session string, run func(context.Context) iter.Seq2[troupe.Event, error]) (r *running, err error) {
	err = s.whenFree(c, session, func() error {
		r, err = s.tryToBegin(c, run)
		return err
	})
	return r, err
}

// whenFree does something for which a session must have no run under way. A run that has
// ended on record keeps its session for a moment more: whoever comes that early waits.
func (s *Server) whenFree(c *call, session string, do func() error) error {
	err := do()
	if !errors.Is(err, troupe.ErrBusy) {
		return err
	}
	if info, _, lost := s.find(c, session); lost != nil || info.Status == "running" {
		return err
	}
	within, stop := context.WithTimeout(c.r.Context(), endWithin)
	defer stop()
	if ended := s.waitForEnd(within, session); ended != nil {
		if c.r.Context().Err() != nil {
			return ended
		}
		return err // the run is taken up again, or will be
	}
	return do()
}

// endWithin is for how long a run whose end is on record is waited for: as long as an engine waits for
// tools that do not end, and a little more.
const endWithin = 5 * time.Second

// ahead is how far a run may be ahead of the request that has begun it, which may have to
// wait for a disk while the run has a model to ask.
const ahead = 8

func (s *Server) tryToBegin(c *call, run func(context.Context) iter.Seq2[troupe.Event, error]) (*running, error) {
	ctx, leave, err := s.runs.enter(context.WithoutCancel(c.r.Context()), c.user)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{events: make(chan happening, ahead), cancel: cancel, asked: time.Now()}
	go func() {
		defer leave() // which the server waits for when it stops
		defer cancel(nil)
		mine := newWatched()
		defer close(mine.settled)
		if end, isOurs := s.watch(c.r.Context(), r, mine, run(ctx)); isOurs {
			s.ended(c.user, end)
		}
	}()
	select {
	case first := <-r.events:
		if first.err != nil {
			return nil, first.err
		}
		root, _, _ := strings.Cut(first.event.Run, ":")
		r.started = started{Session: first.event.Session, Run: root}
		s.drafts.remove(s.drafts.find(c.user, r.Session))
		return r, nil
	case <-c.r.Context().Done():
		return nil, context.Cause(c.r.Context())
	}
}

// watch hands on what happens until the request has ended, and says how the run did
// and whether it is one that this request has begun: a request that was sent again
// only reads along, for as long as there is somebody to read.
func (s *Server) watch(request context.Context, r *running, mine *watched, events iter.Seq2[troupe.Event, error]) (end ending, isOurs bool) {
	defer func() {
		close(mine.over)
		s.active.CompareAndDelete(end.session, mine)
		close(r.events)
	}()
	isOnRecord, isOld := false, false
	end.why = heldInterrupted
	for e, err := range events {
		if end.session == "" && err == nil {
			end.session = e.Session
			isOld = e.Time.Before(r.asked.Truncate(time.Millisecond))
			isOurs = !isOld && s.claim(end.session, mine)
		}
		if isOurs && err == nil {
			s.watched(&e)
			if e.Parent == "" && isEnd(e.Body) {
				end.why = whyHeld(&e)
			}
		}
		if e.Parent == "" && isEnd(e.Body) {
			isOnRecord, end.seq = true, e.Seq
			mine.ended.Store(true)
		}
		select {
		case r.events <- happening{e, err}:
		case <-request.Done():
			if isOld { // to leave a run that this request has begun would be to cancel it
				return end, false
			}
		}
		if isOurs && err != nil && !isOnRecord {
			s.config.Log.Error("run broke off", "session", end.session, "err", err)
		}
	}
	return end, isOurs
}

// A watched run is one that a request has begun and that has not quite left yet.
type watched struct {
	// ended says that its end is on record, over is closed once it is gone, and settled once the
	// queue goes on after it, or is held.
	ended         atomic.Bool
	over, settled chan struct{}
}

func newWatched() *watched { return &watched{over: make(chan struct{}), settled: make(chan struct{})} }

// claim makes a run the one that is watched in its session. It fails if there is
// another, of which the end is not on record.
func (s *Server) claim(session string, mine *watched) bool {
	before, isThere := s.active.LoadOrStore(session, mine)
	if !isThere {
		return true
	}
	return before.(*watched).ended.Load() && s.active.CompareAndSwap(session, before, mine)
}

// waitForEnd returns once the run that is watched in a session is gone.
func (s *Server) waitForEnd(ctx context.Context, session string) error {
	if under, ok := s.active.Load(session); ok {
		select {
		case <-under.(*watched).over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// isEnd reports whether a body is the last event of a run.
func isEnd(body troupe.Body) bool {
	switch body.(type) {
	case *troupe.RunFinished, *troupe.RunFailed, *troupe.RunCancelled:
		return true
	}
	return false
}

// started says where to find a run.
type started struct {
	Session string `json:"session"`
	Run     string `json:"run"`
}
