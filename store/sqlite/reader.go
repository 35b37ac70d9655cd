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
	file access
	path string
	// self is the name of this process as an owner, empty where it is none.
	self     string
	prepared statements
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
	// rebuild begins the index anew, if this access can write.
	rebuild(ctx context.Context) error
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
	if path == "" {
		return nil, fmt.Errorf("open store: %w", errNoPath)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	g := &guest{path: path}
	if err := g.read(ctx, func(*sql.DB) error { return nil }); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Reader{file: g, path: path, closed: make(chan struct{})}, nil
}

// Append implements [troupe.Store]: it fails with [ErrReadOnly].
func (r *Reader) Append(_ context.Context, session string, _ ...troupe.Event) error {
	return fmt.Errorf("append to session %s: %w", session, ErrReadOnly)
}

// Delete implements [troupe.Store]: it fails with [ErrReadOnly].
func (r *Reader) Delete(_ context.Context, session string) error {
	return fmt.Errorf("delete session %s: %w", session, ErrReadOnly)
}

// Acquire implements [troupe.Store]: it fails with [ErrReadOnly].
func (r *Reader) Acquire(_ context.Context, session string) (troupe.Lease, error) {
	return nil, fmt.Errorf("acquire session %s: %w", session, ErrReadOnly)
}

// Ask implements [troupe.Store]: it says how the session stands, and fails with
// [ErrReadOnly] if anything else is asked.
func (r *Reader) Ask(ctx context.Context, session string, request troupe.SessionRequest) (troupe.SessionInfo, []troupe.Event, error) {
	if request != (troupe.SessionRequest{}) {
		return troupe.SessionInfo{}, nil, fmt.Errorf("ask for session %s: %w", session, ErrReadOnly)
	}
	info, err := r.one(ctx, session)
	if err != nil {
		return troupe.SessionInfo{}, nil, fmt.Errorf("session %s: %w", session, r.readError(ctx, err))
	}
	if info.Owner == (troupe.Owner{}) {
		return info, nil, nil // nobody shows anything
	}
	replies, err := r.replies(ctx, session)
	return info, replies, err
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
