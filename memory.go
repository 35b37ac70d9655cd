package troupe

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
	"time"
)

// A memoryStore keeps sessions for as long as the process lives.
type memoryStore struct {
	mu     sync.RWMutex
	logs   map[string]*memoryLog
	leases map[string]*memoryLease
	epoch  int64
	spent  []DayCost // by day and agent
}

type memoryLog struct {
	info    SessionInfo
	batches [][]Event  // as they were appended: none is empty
	room    [4][]Event // for the first batches: most sessions are short
}

// NewMemoryStore returns an empty store that keeps sessions for as long as the process
// lives.
func NewMemoryStore() Store {
	return &memoryStore{logs: map[string]*memoryLog{}, leases: map[string]*memoryLease{}}
}

var _ Store = (*memoryStore)(nil)

// Append implements [Store].
func (m *memoryStore) Append(_ context.Context, session string, events ...Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(events) == 0 {
		return nil
	}
	log := m.logs[session]
	if err := m.check(session, log, events); err != nil {
		return err
	}
	if log == nil {
		log = &memoryLog{}
		log.batches = log.room[:0]
		m.logs[session] = log
	}
	log.batches = append(log.batches, events)
	var costs []DayCost
	for i := range events {
		log.info.Note(&events[i])
		costs = events[i].AddCost(costs)
	}
	for _, one := range costs {
		m.spent = addCost(m.spent, one)
	}
	return nil
}

// Costs implements [Store].
func (m *memoryStore) Costs(ctx context.Context, since time.Time) iter.Seq2[DayCost, error] {
	return func(yield func(DayCost, error) bool) {
		m.mu.RLock()
		first, _ := slices.BinarySearchFunc(m.spent, DayCost{Day: since.UTC().Format(time.DateOnly)}, compareCosts)
		found := slices.Clone(m.spent[first:])
		m.mu.RUnlock()
		if err := ctx.Err(); err != nil {
			yield(DayCost{}, err)
			return
		}
		for _, one := range found {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// check fails if events may not be added to a log.
func (m *memoryStore) check(session string, log *memoryLog, events []Event) error {
	lease := m.leases[session]
	switch epoch := events[0].Epoch; {
	case epoch == 0 && lease != nil:
		return fmt.Errorf("session %s: %w", session, &lease.owner)
	case epoch != 0 && (lease == nil || lease.epoch != epoch):
		return fmt.Errorf("session %s: the lease it was written under is over: %w", session, ErrConflict)
	}
	var last int64
	if log != nil {
		last = log.info.Events
	}
	for i := range events {
		if events[i].Seq != last+1 {
			return fmt.Errorf("session %s: event %d after %d: %w", session, events[i].Seq, last, ErrConflict)
		}
		last++
	}
	return nil
}

// Events implements [Store].
func (m *memoryStore) Events(ctx context.Context, session string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		m.mu.RLock()
		log := m.logs[session]
		var batches [][]Event
		if log != nil {
			batches = log.batches // only ever appended to
		}
		m.mu.RUnlock()
		if log == nil {
			yield(Event{}, fmt.Errorf("session %s: %w", session, ErrNotFound))
			return
		}
		first := sort.Search(len(batches), func(i int) bool {
			return batches[i][len(batches[i])-1].Seq > after
		})
		for _, batch := range batches[first:] {
			for i := range batch {
				if err := ctx.Err(); err != nil {
					yield(Event{}, err)
					return
				}
				e := batch[i]
				e.Epoch = 0
				if e.Seq > after && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Sessions implements [Store].
func (m *memoryStore) Sessions(ctx context.Context, match SessionFilter) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		found := m.find(match)
		slices.SortFunc(found, func(a, b SessionInfo) int {
			return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
		})
		for i, info := range found {
			if err := ctx.Err(); err != nil {
				yield(SessionInfo{}, err)
				return
			}
			if match.Limit > 0 && i == match.Limit || !yield(info, nil) {
				return
			}
		}
	}
}

func (m *memoryStore) find(match SessionFilter) (found []SessionInfo) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	add := func(session string, log *memoryLog) {
		if info := m.standing(session, log); match.Matches(info) {
			found = append(found, info)
		}
	}
	if match.ID != "" {
		if log := m.logs[match.ID]; log != nil {
			add(match.ID, log)
		}
		return found
	}
	for session, log := range m.logs {
		add(session, log)
	}
	return found
}

// standing returns how a session stands; m.mu is held.
func (m *memoryStore) standing(session string, log *memoryLog) SessionInfo {
	info := log.info
	if lease := m.leases[session]; lease != nil {
		info.Owner = lease.owner
	} else if info.Status == statusRunning {
		info.Status = statusInterrupted
	}
	return info
}

// Delete implements [Store].
func (m *memoryStore) Delete(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs[session] == nil {
		return fmt.Errorf("session %s: %w", session, ErrNotFound)
	}
	delete(m.logs, session)
	if lease := m.leases[session]; lease != nil {
		lease.end()
	}
	return nil
}

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
