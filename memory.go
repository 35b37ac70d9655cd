package troupe

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
)

// A MemoryStore keeps sessions for as long as the process lives.
type MemoryStore struct {
	mu   sync.RWMutex
	logs map[string]*memoryLog
}

type memoryLog struct {
	info    SessionInfo
	batches [][]Event  // as they were appended: none is empty
	room    [4][]Event // for the first batches: most sessions are short
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{logs: map[string]*memoryLog{}} }

var _ Store = (*MemoryStore)(nil)

// Append implements [Store].
func (m *MemoryStore) Append(_ context.Context, session string, events ...Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	log := m.logs[session]
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
	if len(events) == 0 {
		return nil
	}
	if log == nil {
		log = &memoryLog{}
		log.batches = log.room[:0]
		m.logs[session] = log
	}
	log.batches = append(log.batches, events)
	for i := range events {
		log.info.Note(&events[i])
	}
	return nil
}

// Events implements [Store].
func (m *MemoryStore) Events(ctx context.Context, session string, after int64) iter.Seq2[Event, error] {
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
				if batch[i].Seq > after && !yield(batch[i], nil) {
					return
				}
			}
		}
	}
}

// Sessions implements [Store].
func (m *MemoryStore) Sessions(ctx context.Context, match SessionFilter) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		var found []SessionInfo
		m.mu.RLock()
		for _, log := range m.logs {
			if match.Matches(log.info) {
				found = append(found, log.info)
			}
		}
		m.mu.RUnlock()
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

// Delete implements [Store].
func (m *MemoryStore) Delete(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs[session] == nil {
		return fmt.Errorf("session %s: %w", session, ErrNotFound)
	}
	delete(m.logs, session)
	return nil
}
