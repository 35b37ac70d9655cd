package temporal

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
)

// slots are how many runs a worker carries out, those that Temporal has given to it and those that it
// has taken over.
type slots struct {
	mu   sync.Mutex
	used int
}

// take takes a slot if fewer than most are in use.
func (s *slots) take(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used >= most {
		return false
	}
	s.used++
	return true
}

func (s *slots) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
}

// wait takes a slot when there is one. Temporal gives a worker no more runs than it has slots,
// so that only those that it has taken over are waited for, and not for long: other workers may have
// slots. A run that was cancelled takes one in any case, to be cancelled in.
func (s *slots) wait(ctx context.Context, most int) error {
	until := time.Now().Add(busyTime)
	for !s.take(most) {
		if isCancel(ctx) {
			s.take(math.MaxInt)
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("this worker has taken over as much as it can carry out: %w", troupe.ErrBusy)
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			if !isCancel(ctx) {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}
