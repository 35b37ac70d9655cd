package server

import (
	"context"
	"errors"
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
}

type member struct {
	user   string
	cancel context.CancelCauseFunc
}

func newPool(most, mostOfUser int) *pool {
	return &pool{most: most, mostOfUser: mostOfUser, members: map[*member]bool{}, ofUser: map[string]int{}, empty: make(chan struct{})}
}

// retryAfter is when a client that was turned away may try again.
const retryAfter = 2 * time.Second

// errFull turns a request away that there is no room for.
var errFull = &problem{
	Status: http.StatusServiceUnavailable, Detail: "there is too much to do right now; try again in a moment", Code: "busy",
	headers: map[string]string{"Retry-After": strconv.Itoa(int(retryAfter / time.Second)), "Connection": "close"},
}

// enter makes room for one more, whose context is done once it is to end. The
// caller says when it has left.
func (p *pool) enter(ctx context.Context, user string) (_ context.Context, leave func(), _ error) {
	if p.admit != nil {
		if err := p.admit(ctx, user); err != nil {
			refusal := refuse(http.StatusTooManyRequests, "%s", err).withCode("quota")
			if spent, ok := errors.AsType[*MonthSpent](err); ok {
				wait := max(1, int(math.Ceil(time.Until(spent.Until).Seconds())))
				refusal.headers = map[string]string{"Retry-After": strconv.Itoa(wait)}
			}
			return nil, nil, refusal
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.members) >= p.most || user != "" && p.ofUser[user] >= p.mostOfUser {
		return nil, nil, errFull
	}
	ctx, cancel := context.WithCancelCause(ctx)
	m := &member{user, cancel}
	p.members[m] = true
	p.ofUser[user]++
	return ctx, func() { p.leave(m) }, nil
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
