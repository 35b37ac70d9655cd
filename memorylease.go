package troupe

import (
	"context"
	"fmt"
)

// maxRequests is how many requests wait for an owner. More than that say the same.
const maxRequests = 4

// A memoryLease is a lease on a session in memory. It lasts until it is released,
// because whoever has it lives as long as the store.
type memoryLease struct {
	store    *memoryStore
	session  string
	owner    Owner
	epoch    int64
	last     int64
	isOver   bool
	requests chan SessionRequest // made when somebody asks or listens
	replies  []Event
}

// Acquire implements [Store].
func (m *memoryStore) Acquire(_ context.Context, session string) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lease := m.leases[session]; lease != nil {
		return nil, fmt.Errorf("session %s: %w", session, &lease.owner)
	}
	m.epoch++
	lease := &memoryLease{store: m, session: session, owner: thisProcess(), epoch: m.epoch}
	if log := m.logs[session]; log != nil {
		lease.last = log.info.Events
	}
	m.leases[session] = lease
	return lease, nil
}

// Ask implements [Store].
func (m *memoryStore) Ask(_ context.Context, session string, request SessionRequest) (SessionInfo, []Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lease, log := m.leases[session], m.logs[session]
	if lease != nil {
		select {
		case lease.asked() <- request:
		default:
		}
	}
	if log == nil {
		return SessionInfo{}, nil, fmt.Errorf("session %s: %w", session, ErrNotFound)
	}
	info := m.standing(session, log)
	if lease == nil {
		return info, nil, nil
	}
	return info, lease.replies, nil
}

// Epoch implements [Lease].
func (l *memoryLease) Epoch() int64 { return l.epoch }

// Last implements [Lease].
func (l *memoryLease) Last() int64 { return l.last }

// Requests implements [Lease].
func (l *memoryLease) Requests() <-chan SessionRequest {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return l.asked()
}

// asked is what requests go through; the store's lock is held.
func (l *memoryLease) asked() chan SessionRequest {
	if l.requests == nil {
		l.requests = make(chan SessionRequest, maxRequests)
		if l.isOver {
			close(l.requests)
		}
	}
	return l.requests
}

// Show implements [Lease].
func (l *memoryLease) Show(_ context.Context, replies []Event) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.replies = replies
	return nil
}

// Release implements [Lease].
func (l *memoryLease) Release(context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.leases[l.session] == l {
		l.end()
	}
	return nil
}

// end makes the lease one that is over; the store's lock is held.
func (l *memoryLease) end() {
	delete(l.store.leases, l.session)
	l.isOver = true
	if l.requests != nil {
		close(l.requests)
	}
}
