package troupe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// enlist makes an execution the session's active one, in this engine and elsewhere. It
// waits for whoever has the session for a moment only, to rename it for instance.
func (e *Engine) enlist(ctx context.Context, step Step, id string) (*execution, error) {
	for {
		x, active, err := e.activate(ctx, step, id)
		if active != nil && active.step == nil {
			<-active.done
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = x.own(ctx); err == nil {
			return x, nil
		}
		x.withdraw()
		if owned, ok := errors.AsType[*Owner](err); !ok || time.Since(owned.Since) > moment {
			return nil, err
		}
		if err := pause(ctx, askPause); err != nil {
			return nil, err
		}
	}
}

// moment is how long a session is had that no run is begun in.
const moment = 250 * time.Millisecond

// activate makes an execution the session's active one in this engine. It fails with
// ErrBusy if there is another, which it returns.
func (e *Engine) activate(ctx context.Context, step Step, id string) (x, active *execution, err error) {
	s, err := e.join(id)
	if err != nil {
		return nil, nil, err
	}
	x = newExecution(e, s, step)
	e.mu.Lock()
	active, closed := s.active, e.closed
	if active == nil && !closed {
		s.active = x
		x.base, x.cancel = context.WithCancelCause(ctx)
	}
	e.mu.Unlock()
	if active != nil || closed {
		e.leave(s)
		if closed {
			return nil, nil, ErrClosed
		}
		return nil, active, fmt.Errorf("session %s: %w", id, ErrBusy)
	}
	return x, nil, nil
}

// comeToNothing withdraws a run for which the session was read. Whoever comes next reads
// it again: there may be a question that waits, of which a conversation says nothing.
func (x *execution) comeToNothing() {
	x.session.talks = nil
	x.withdraw()
}

// comeToNothingUnless is comeToNothing for a run that was not made: something was refused, or
// what somebody else wrote has panicked.
func (x *execution) comeToNothingUnless(made *bool) {
	if !*made {
		x.comeToNothing()
	}
}

// withdraw undoes enlist for a run that did not come to be.
func (x *execution) withdraw() {
	x.cancel(nil)
	x.release()
}

// release lets the session have another run.
func (x *execution) release() {
	x.disown()
	x.feed.rest()
	x.engine.mu.Lock()
	x.session.active = nil
	x.engine.mu.Unlock()
	x.engine.leave(x.session)
	close(x.done)
}
