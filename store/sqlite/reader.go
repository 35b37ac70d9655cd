package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/troupe-dev/troupe"
)

// A Reader reads the sessions in a file, which may be another process's. As a
// [troupe.Store] it refuses what would change them. It may be used concurrently.
type Reader struct {
	file     access
	closed   chan struct{}
	closing  sync.Once
	closeErr error
}

var _ troupe.Store = (*Reader)(nil)

// An access is how a reader gets at the file: as its owner, or as a guest.
type access interface {
	// read calls act with connections to the file, again if what it read is not to
	// be relied on.
	read(ctx context.Context, act func(*sql.DB) error) error
	// catchUp has all indexed that is stored now, if this access can write.
	catchUp(ctx context.Context) error
	// foundByOwner returns the greatest key that had been given when the present
	// owner came. If there is none, no key is greater than what it returns.
	foundByOwner() (int64, error)
	close() error
}

// ErrClosed reports a store that was closed.
var ErrClosed = errors.New("the store is closed")

// OpenReadOnly opens the store in the file at path for reading: beside the process
// that owns it, or where there is none, and also where nothing may be written. It
// keeps nobody from becoming the owner, and changes nothing. It fails with
// [fs.ErrNotExist] if there is no file, with a *[NewerError] if a newer Troupe wrote
// it, and with a *[DamagedError] if it is damaged, which is left as it is.
func OpenReadOnly(ctx context.Context, path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	g := &guest{path: path}
	if err := g.read(ctx, func(*sql.DB) error { return nil }); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Reader{file: g, closed: make(chan struct{})}, nil
}

// Append implements [troupe.Store]: it fails with [ErrReadOnly].
func (r *Reader) Append(_ context.Context, session string, _ ...troupe.Event) error {
	return fmt.Errorf("append to session %s: %w", session, ErrReadOnly)
}

// Delete implements [troupe.Store]: it fails with [ErrReadOnly].
func (r *Reader) Delete(_ context.Context, session string) error {
	return fmt.Errorf("delete session %s: %w", session, ErrReadOnly)
}

// Close gives up the file. Reads under way fail, and writes under way are waited
// for. What was stored and is not indexed yet is indexed when the file next has an
// owner.
func (r *Reader) Close() error {
	r.closing.Do(func() {
		close(r.closed)
		r.closeErr = r.file.close()
	})
	return r.closeErr
}

// readError returns what a reader is told: that its context is done or the store
// is closed, where that is why reading ended.
func (r *Reader) readError(ctx context.Context, err error) error {
	select {
	case <-r.closed:
		return ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(err)
}
