package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A running run is one that a request has begun. It goes on when the request ends.
type running struct {
	started
	// events are what happens, until it has ended. They are for the request alone.
	events chan happening
	cancel context.CancelCauseFunc
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
	return s.stepWith(ctx, name, n.Model)
}

// stepWith makes the agent or flow of a name with a model, the usual one if that is
// empty.
func (s *Server) stepWith(ctx context.Context, name, model string) (step troupe.Step, err error) {
	if model == "" || s.config.Models == nil {
		step, err = s.config.Cast.Step(ctx, name)
	} else {
		step, err = s.config.Models.Step(ctx, name, model)
	}
	if errors.Is(err, ErrUnknown) {
		return nil, refuse(http.StatusNotFound, "there is no agent or flow named %.64q", name).concerning("model", "model_not_found")
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	return step, nil
}

// begin runs step in the background. It returns once the first event is stored: what
// is acknowledged is never lost.
func (s *Server) begin(c *call, step troupe.Step, input troupe.Input) (*running, error) {
	input.User = c.user
	return s.begun(c, input.Session, func(ctx context.Context) iter.Seq2[troupe.Event, error] {
		return s.config.Engine.Run(ctx, step, input)
	})
}

// begun is begin for any way to run something. A run that has ended on record keeps
// its session for a moment more: whoever comes that early waits.
func (s *Server) begun(c *call, session string, run func(context.Context) iter.Seq2[troupe.Event, error]) (*running, error) {
	r, err := s.tryToBegin(c, run)
	if !errors.Is(err, troupe.ErrBusy) {
		return r, err
	}
	if info, _, lost := s.find(c, session); lost != nil || info.Status == "running" {
		return nil, err
	}
	if ended, ok := s.active.Load(session); ok {
		select {
		case <-ended.(chan struct{}):
		case <-c.r.Context().Done():
		}
	}
	return s.tryToBegin(c, run)
}

func (s *Server) tryToBegin(c *call, run func(context.Context) iter.Seq2[troupe.Event, error]) (*running, error) {
	ctx, leave, err := s.runs.enter(context.WithoutCancel(c.r.Context()), c.user)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{events: make(chan happening), cancel: cancel}
	go func() {
		defer leave() // which the server waits for when it stops
		defer cancel(nil)
		s.ended(c.user, s.watch(c.r.Context(), r, run(ctx)))
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

// watch hands on what happens until the request has ended, and says how the run did.
func (s *Server) watch(request context.Context, r *running, events iter.Seq2[troupe.Event, error]) (end ending) {
	var session string
	over := make(chan struct{})
	defer func() {
		close(over)
		s.active.CompareAndDelete(session, over)
		close(r.events)
	}()
	isOnRecord := false
	for e, err := range events {
		if session == "" && err == nil {
			session = e.Session
			s.active.Store(session, over)
			end.session = session
		}
		if err == nil {
			s.watched(&e)
			if finished, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
				end.well, end.waits = finished.Stop == "answered", finished.Stop == "input_requested"
			}
		}
		isOnRecord = isOnRecord || e.Parent == "" && isEnd(e.Body)
		select {
		case r.events <- happening{e, err}:
		case <-request.Done():
		}
		if err != nil && !isOnRecord && session != "" {
			s.config.Log.Error("run broke off", "session", session, "err", err)
		}
	}
	return end
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
