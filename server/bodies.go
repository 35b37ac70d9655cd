package server

import (
	"context"
	"sync"
	"time"
)

const (
	// mostBodies is how many bytes of large requests are read at the same time, if one
	// alone may not have more.
	mostBodies = 32 << 20
	// bodyPatience is how long a large request waits for others.
	bodyPatience = 5 * time.Second
)

// bodies bound what large requests take while they are read: several times their size.
type bodies struct {
	mu    sync.Mutex
	most  int64
	taken int64
	freed chan struct{} // closed when there is more room, where somebody waits for it
}

// take makes room for a request of so many bytes, and returns what gives it back. It
// waits for a moment if there is none.
func (b *bodies) take(ctx context.Context, size int64) (func(), error) {
	size = min(size, b.most)
	ctx, cancel := context.WithTimeoutCause(ctx, bodyPatience, errFull)
	defer cancel()
	for {
		b.mu.Lock()
		if b.taken+size <= b.most {
			b.taken += size
			b.mu.Unlock()
			return func() { b.give(size) }, nil
		}
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (b *bodies) give(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken -= size
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}
