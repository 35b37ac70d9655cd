package troupe

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A past is what a session's log says about its latest run.
type past struct {
	start *Event
	last  time.Time // of its newest event
	// elapsed is how long the run has been at work, breaks between passes aside.
	elapsed  time.Duration
	finished bool
	waits    bool   // finished with a question
	asked    string // where that was asked
	stopped  bool   // failed or cancelled
	// events are those of the run and what is nested in it, before the
	// conversation as it was when the run began.
	events []Event
	before *history
}

// open reports a run that neither ended nor was stopped: its process died.
func (p *past) open() bool { return p.start != nil && !p.finished && !p.stopped }

// load reads the session from the store where it is not at hand. With a run to
// come, it also sees to the conversation, and returns what went before.
func (s *session) load(ctx context.Context, toRun bool) (*past, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded.Load() && (!toRun || s.talk != nil) {
		return &past{}, nil
	}
	p, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.loaded.Store(true)
	return p, nil
}

func (s *session) read(ctx context.Context) (*past, error) {
	talk, p := newHistory(), &past{}
	var seq int64
	for e, err := range s.feed.store.Events(ctx, s.feed.session, 0) {
		if err != nil {
			return nil, err
		}
		seq = e.Seq
		if started, ok := e.Body.(*RunStarted); ok && seq == 1 {
			s.owner = started.User
		}
		if loaded, ok := e.Body.(*ContextLoaded); ok {
			e.Body = s.feed.restored(loaded)
		}
		p.add(&e, talk)
		if e.Parent == "" {
			talk.apply(&e)
		}
	}
	s.feed.seek(seq)
	s.talk = talk
	return p, nil
}

// add takes the next event of the log into account. The conversation is as it was
// before the event.
func (p *past) add(e *Event, talk *history) {
	if _, ok := e.Body.(*RunStarted); ok && e.Parent == "" {
		*p = past{start: e, before: talk.clone()}
	}
	if p.start == nil || e.Run != p.start.Run && !strings.HasPrefix(e.Run, p.start.Run+":") {
		return
	}
	p.events = append(p.events, *e)
	if !p.last.IsZero() && !endsBreak(e.Body) {
		p.elapsed += max(e.Time.Sub(p.last), 0)
	}
	p.last = e.Time
	if _, answered := e.Body.(*UserSaid); answered {
		p.finished, p.waits = false, false
	}
	if e.Run == p.start.Run {
		switch b := e.Body.(type) {
		case *RunFinished:
			p.finished, p.stopped = true, false
			p.waits, p.asked = b.Stop == StopInput, b.Output.Meta.Asked
		case *RunFailed, *RunCancelled:
			p.stopped = true
		case *Warned:
			p.stopped = p.stopped && b.Code == codeForked
		default:
			p.stopped = false
		}
	}
}

// endsBreak reports whether a body says that a run goes on after a break.
func endsBreak(body Body) bool {
	switch b := body.(type) {
	case *Warned:
		return b.Code == codeResumed
	case *UserSaid:
		return true
	}
	return false
}

// abandon closes a run that its process left behind, so that another can begin.
func (s *session) abandon(p *past) error {
	s.talk.settle()
	return s.feed.publish([]Event{{
		Time: time.Now().Round(0).UTC(), Session: s.feed.session, Run: p.start.Run,
		Step: startStep, Agent: p.start.Agent, Body: &RunCancelled{Reason: errAbandoned.Error()},
	}})
}

// clone returns a copy that grows on its own.
func (h *history) clone() *history {
	c := *h
	c.messages = slices.Clip(h.messages)
	return &c
}
