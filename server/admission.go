package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A pool bounds how many runs, or readers, there are at once: in all, and of each
// user who has a name.
type pool struct {
	most, mostOfUser int

	mu      sync.Mutex
	closed  bool
	members map[*member]bool
	ofUser  map[string]int
	empty   chan struct{} // closed when the last one has left a closed pool
	// admit is Config.Admit, nil for none.
	admit func(ctx context.Context, user string) error
	// kind is what there is of them: runs, or readers.
	kind string
	// places count a user's on other servers, too; nil where there are none.
	places Places
}

// Places bound how many runs, or readers, a user has at the same time on all servers of one
// store together. They may be used concurrently.
type Places interface {
	// TakePlace takes one of a user's places for a kind of thing, if on all servers together fewer
	// than most are taken. Whoever took it calls leave. What a server has that is gone is given
	// back by itself.
	TakePlace(ctx context.Context, kind, user string, most int) (leave func(), free bool, err error)
}

type member struct {
	user   string
	cancel context.CancelCauseFunc
}

func newPool(kind string, most, mostOfUser int) *pool {
	return &pool{kind: kind, most: most, mostOfUser: mostOfUser, members: map[*member]bool{}, ofUser: map[string]int{}, empty: make(chan struct{})}
}

// retryAfter is when a client that was turned away may try again.
const retryAfter = 2 * time.Second

// errFull turns a request away that there is no room for.
var errFull = &problem{
	Status: http.StatusServiceUnavailable, Detail: "there is too much to do right now; try again in a moment", Code: "busy",
	headers: map[string]string{"Retry-After": strconv.Itoa(int(retryAfter / time.Second)), "Connection": "close"},
}

// errEnding turns a request away that came when the server was told to end.
var errEnding = &problem{
	Status: http.StatusServiceUnavailable, Detail: "Troupe is shutting down. Try again in a moment.", Code: "closed", headers: errFull.headers,
}

// full turns a user away who has as many as they may.
func (p *pool) full() *problem {
	turned := *errFull
	turned.Detail = fmt.Sprintf("you have %d %s at the same time, which is the most that one user may have: try again when one of them has ended", p.mostOfUser, p.kind)
	return &turned
}

// enter makes room for one more, whose context is done once it is to end. The
// caller says when it has left.
func (p *pool) enter(ctx context.Context, user string) (_ context.Context, leave func(), _ error) {
	if p.admit != nil {
		if err := p.admit(ctx, user); err != nil {
			refusal := refuse(http.StatusTooManyRequests, "%s", err).withCode("quota")
			if until, ok := goesOn(err); ok {
				wait := max(1, int(math.Ceil(time.Until(until).Seconds())))
				refusal.headers = map[string]string{"Retry-After": strconv.Itoa(wait)}
			}
			return nil, nil, refusal
		}
	}
	run, m, err := p.join(ctx, user)
	if err != nil {
		return nil, nil, err
	}
	giveBack, err := p.takePlace(ctx, user)
	if err != nil {
		p.leave(m)
		return nil, nil, err
	}
	return run, func() { giveBack(); p.leave(m) }, nil
}

// goesOn is when somebody who was turned away may begin again, where that is known.
func goesOn(err error) (until time.Time, ok bool) {
	if month, ok := errors.AsType[*MonthSpent](err); ok {
		return month.Until, true
	}
	if day, ok := errors.AsType[*QuotaSpent](err); ok {
		return day.Until, true
	}
	return time.Time{}, false
}

// A QuotaSpent is the error of a user who has used up what they may use in a day.
type QuotaSpent struct {
	// Quota is what is used up, as in "3 runs".
	Quota string
	// Until is when the next day begins.
	Until time.Time
}

// Error says when it goes on.
func (e *QuotaSpent) Error() string {
	return fmt.Sprintf("today's quota of %s is used up; it begins anew at midnight UTC", e.Quota)
}

// join makes room for one more on this server.
func (p *pool) join(ctx context.Context, user string) (context.Context, *member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errEnding
	}
	if len(p.members) >= p.most {
		return nil, nil, errFull
	}
	if user != "" && p.ofUser[user] >= p.mostOfUser {
		return nil, nil, p.full()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	m := &member{user, cancel}
	p.members[m] = true
	p.ofUser[user]++
	return ctx, m, nil
}

// dismiss ends all that there is of a user.
func (p *pool) dismiss(user string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range p.members {
		if m.user == user {
			m.cancel(why)
		}
	}
}

// takePlace makes room for one more of a user on all servers.
func (p *pool) takePlace(ctx context.Context, user string) (giveBack func(), err error) {
	if p.places == nil || user == "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shelfTime)
	defer cancel()
	giveBack, free, err := p.places.TakePlace(ctx, p.kind, user, p.mostOfUser)
	if err != nil {
		return nil, err
	}
	if !free {
		return nil, p.full()
	}
	return giveBack, nil
}

func (p *pool) leave(m *member) {
	m.cancel(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, m)
	if p.ofUser[m.user]--; p.ofUser[m.user] == 0 {
		delete(p.ofUser, m.user)
	}
	p.noteEmpty()
}

func (p *pool) noteEmpty() {
	if p.closed && len(p.members) == 0 {
		close(p.empty)
	}
}

func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.members)
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close lets nobody in any more, waits until all have left, tells those that are
// still there after a while to end, and returns how many are there when ctx is
// done. It is called once.
func (p *pool) close(ctx context.Context, patience time.Duration) (left int) {
	p.mu.Lock()
	p.closed = true
	p.noteEmpty()
	p.mu.Unlock()
	select {
	case <-p.empty:
		return 0
	case <-time.After(patience):
	}
	p.mu.Lock()
	for m := range p.members {
		m.cancel(errStopping)
	}
	p.mu.Unlock()
	select {
	case <-p.empty:
	case <-ctx.Done():
	}
	return p.size()
}
