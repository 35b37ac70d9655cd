package troupe

import (
	"context"
	"errors"
	"fmt"
)

// A keyed request is on record under its idempotency key.
type keyed struct {
	run   string
	first int64 // the event before it
	text  string
}

// noteKey remembers under which key a request was made.
func (s *session) noteKey(key string, request keyed) {
	if key == "" {
		return
	}
	if s.keys == nil {
		s.keys = map[string]keyed{}
	}
	s.keys[key] = request
}

// noteKeyOf remembers the key of an event of the latest run. What a fork has copied
// was asked for in another session.
func (s *session) noteKeyOf(e *Event, p *past) {
	switch b := e.Body.(type) {
	case *RunStarted:
		if e.Parent == "" {
			s.noteKey(b.IdempotencyKey, keyed{e.Run, e.Seq - 1, b.Input.Task})
		}
	case *UserSaid:
		if p.start != nil {
			s.noteKey(b.IdempotencyKey, keyed{p.start.Run, e.Seq - 1, b.Text})
		}
	case *SessionForked:
		s.keys = nil
	}
}

// repeat is what comes of a request that is on record. A run that was interrupted
// goes on: then there is no handle, and the execution is another pass over it.
func (x *execution) repeat(past *past, known keyed, input *Input) (*Handle, error) {
	if known.text != input.Text {
		return nil, otherRequest(x.feed.session, input)
	}
	if past.start != nil && past.start.Run == known.run && (past.open() || past.closed) {
		return nil, x.resume(past)
	}
	return &Handle{engine: x.engine, first: known.first, Session: x.feed.session, Run: known.run}, nil
}

func otherRequest(session string, input *Input) error {
	return fmt.Errorf("session %s: the idempotency key %.64q was used for another request: %w", session, input.IdempotencyKey, ErrConflict)
}

// underWay returns the run of a request that was sent again while its session is at work,
// here or in another process: with that request, or with a later one; or of one that answers
// what the run has asked. Otherwise the error stands.
func (e *Engine) underWay(ctx context.Context, step Step, session string, input *Input, busy error) (*execution, *Handle, error) {
	if !errors.Is(busy, ErrBusy) {
		return nil, nil, busy
	}
	if input.IdempotencyKey == "" {
		return e.answered(ctx, step, session, input, busy)
	}
	if active := e.activeIn(session); active != nil {
		select {
		case <-active.ready:
			if active.requestKey == input.IdempotencyKey && active.request.text == input.Text {
				return nil, &Handle{engine: e, exec: active, first: active.request.first, Session: session, Run: active.request.run}, nil
			}
		case <-active.done:
			return e.begin(ctx, step, *input)
		}
	}
	log, err := e.readKeys(ctx, session, input.User)
	if err != nil {
		return nil, nil, errors.Join(busy, err)
	}
	known, ok := log.keys[input.IdempotencyKey]
	switch {
	case !ok:
		return e.answered(ctx, step, session, input, busy)
	case known.text != input.Text:
		return nil, nil, otherRequest(session, input)
	}
	return nil, &Handle{engine: e, first: known.first, Session: session, Run: known.run}, nil
}

// activeIn returns the session's run that this engine has under way.
func (e *Engine) activeIn(session string) *execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[session]; s != nil {
		return s.active
	}
	return nil
}

// readKeys reads from a session's log under which keys a user made requests.
func (e *Engine) readKeys(ctx context.Context, id, user string) (*session, error) {
	log, p := &session{}, &past{}
	for event, err := range e.store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if started, ok := event.Body.(*RunStarted); ok && event.Seq == 1 && user != "" && started.User != user {
			return nil, fmt.Errorf("session %s: %w", id, ErrNotFound)
		}
		p.add(&event, newConversations())
		log.noteKeyOf(&event, p)
	}
	return log, nil
}

// isReady says that the execution is that of a request, for whoever sends it again.
func (x *execution) isReady(input *Input) {
	x.first = x.feed.last()
	x.requestKey, x.request = input.IdempotencyKey, keyed{x.run.id, x.first, input.Text}
	x.session.noteKey(x.requestKey, x.request)
	close(x.ready)
}
