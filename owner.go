package troupe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// showPause is how often those who follow a session from elsewhere look at it. Where
	// nothing has changed, stores say so without asking their database.
	showPause = 100 * time.Millisecond
	// showTime is how long after they last asked they are shown it.
	showTime = 3 * time.Second
	// askPause is how often one who waits for a session's owner looks at it,
	// and askAgain after how many looks the request is repeated.
	askPause = 20 * time.Millisecond
	askAgain = 50
)

// errLeaseLost is why a run stops whose session another process has now.
var errLeaseLost = fmt.Errorf("another process has taken the session over: %w", ErrConflict)

// own acquires the session for the execution. What is at hand of it is forgotten if
// somebody else has written to it meanwhile.
func (x *execution) own(ctx context.Context) error {
	lease, err := x.engine.store.Acquire(ctx, x.feed.session)
	if err != nil {
		return err
	}
	x.lease = lease
	s := x.session
	s.loading.Lock()
	defer s.loading.Unlock()
	if x.feed.own(lease, s.loaded.Load()) {
		s.loaded.Store(false)
		s.talks, s.keys = nil, nil
	}
	return nil
}

// own has the feed write under a lease. It reports whether what is at hand of the
// session is out of date.
func (f *feed) own(lease Lease, loaded bool) (stale bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stale = loaded && (f.mirrored || lease.Last() != f.seq)
	f.epoch, f.mirrored = lease.Epoch(), false
	if stale {
		f.seq, f.recent = lease.Last(), nil
	}
	return stale
}

// disown ends the writing under a lease.
func (f *feed) disown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch = 0
}

// lose has the feed write nothing more.
func (f *feed) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == nil {
		f.broken = fmt.Errorf("session %s: %w", f.session, errLeaseLost)
	}
}

// heed does what others ask of the run until its lease is over.
func (x *execution) heed() {
	var ticks <-chan time.Time
	var until time.Time
	requests := x.lease.Requests()
	for {
		select {
		case request, ok := <-requests:
			switch {
			case !ok:
				if !x.released.Load() {
					x.feed.lose()
					x.cancel(errLeaseLost)
				}
				return
			case request.Cancel:
				x.cancel(ErrCancelled)
			case request.Said != nil:
				go x.answerFor(request.Question, request.Said)
			case request.Title != "":
				// A failure ends the run, which reports it. Who asked asks again where it has ended.
				_, _ = x.feed.publishOwned([]Event{renamed(x.feed.session, request.Title)})
			default:
				until = time.Now().Add(showTime)
				if ticks == nil {
					ticks = time.After(0)
				}
			}
		case <-ticks:
			ticks = nil
			// Who follows from elsewhere sees the reply when it is stored, at the latest.
			_ = x.lease.Show(context.WithoutCancel(x.base), x.feed.replying())
			if time.Now().Before(until) {
				ticks = time.After(showPause)
			}
		}
	}
}

// disown gives the session up.
func (x *execution) disown() {
	if x.lease == nil {
		return
	}
	x.released.Store(true)
	x.feed.disown()
	// Where the store cannot be told, the lease ends by itself.
	_ = x.lease.Release(context.WithoutCancel(x.base))
	x.heeding.Wait()
}

// replying returns all there is of the replies in progress.
func (f *feed) replying() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := reader{feed: f}
	for _, p := range f.replies {
		r.takeGrowth(p)
	}
	return r.deltas
}

// mirror has the feed's readers see what somebody else does with the session.
func (e *Engine) mirror(ctx context.Context, s *session) error {
	if s.feed.isOwned() {
		return nil
	}
	info, replies, err := e.store.Ask(ctx, s.feed.session, SessionRequest{})
	if err == nil {
		s.feed.mirror(info.Events, replies)
	}
	return err
}

func (f *feed) isOwned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epoch != 0
}

// mirror takes over where somebody else has brought the session to.
func (f *feed) mirror(last int64, replies []Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.epoch != 0 {
		return // a run of this engine's has begun meanwhile
	}
	if last <= f.seq && len(replies) == 0 && len(f.replies) == 0 {
		return // there is nothing to wake anybody for
	}
	if last > f.seq {
		f.seq, f.recent, f.mirrored = last, nil, true
	}
	f.replies = f.replyRoom[:0]
	for i := range replies {
		f.mirrorReply(&replies[i])
	}
	f.wake()
}

func (f *feed) mirrorReply(e *Event) {
	var p *reply
	for _, other := range f.replies {
		if other.run == e.Run && other.step == e.Step {
			p = other
		}
	}
	if p == nil {
		p = &reply{run: e.Run, parent: e.Parent, step: e.Step, agent: e.Agent}
		f.replies = append(f.replies, p)
	}
	switch b := e.Body.(type) {
	case *TextDelta:
		p.attempt = b.Attempt
		p.grow(e.Time, b.Text, "")
	case *ThoughtDelta:
		p.attempt = b.Attempt
		p.grow(e.Time, "", b.Text)
	}
}

// askOwner passes a request on to whoever has a session, and waits until done says
// that it has been met, or nobody has the session any more.
func (e *Engine) askOwner(ctx context.Context, session string, request SessionRequest, done func(SessionInfo) bool) error {
	var first Owner
	for n := 0; ; n++ {
		asked := SessionRequest{}
		if n%askAgain == 0 {
			asked = request
		}
		info, _, err := e.store.Ask(ctx, session, asked)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil:
			return err
		case first == (Owner{}):
			first = info.Owner
		}
		if info.Owner != first || info.Owner == (Owner{}) || done(info) {
			return nil
		}
		if err := pause(ctx, askPause); err != nil {
			return err
		}
	}
}

// pause waits, unless ctx is done before: then it fails with why.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
