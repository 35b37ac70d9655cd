// Package outputs keeps one folder per session with a manifest.json computed from
// the session's events.
//
// [Keep] wraps a [troupe.Store]. A session has its folder and manifest three seconds
// after it began, at the end of its first run, with its first file, or when somebody asks
// for them, whichever comes first. Every end of a run is in the manifest: at once, or, where
// another run of the session ended less than three seconds before, three seconds later and
// for whoever asks for it. The log is the
// truth and the manifest follows from it: a manifest that is missing, damaged or behind is
// made again, and no trouble with a manifest fails what was stored.
package outputs

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// Options say what events do not. The zero Options are fine.
type Options struct {
	// Describe returns an agent's title and the bundle it belongs to. By default,
	// and where it returns nothing, they are the agent's name and "chat".
	Describe func(agent string) (title, bundle string)
	// User is whom sessions belong to whose input does not say: "User" by default.
	User string
	// Log is told of trouble with manifests. Nil means nobody is.
	Log *slog.Logger
}

// Folders is a store whose sessions have folders. Only sessions whose id is a UUID
// in lower case get one. It may be used concurrently.
type Folders struct {
	*View
	started time.Time

	mu   sync.Mutex
	live map[string]*record
	// due are the sessions whose folders and manifests are written when timer is over.
	due     map[string]bool
	timer   *time.Timer
	writing sync.WaitGroup
	closed  bool
}

var _ troupe.Store = (*Folders)(nil)

// Keep makes store a store with folders in dir, which it creates. It looks after
// the sessions that were in use when the process before this one ended: their
// manifests are brought up to date and half-written files removed.
func Keep(store troupe.Store, dir string, options Options) (*Folders, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep outputs: %w", err)
	}
	view, err := look(store, dir, options)
	if err != nil {
		return nil, fmt.Errorf("keep outputs: %w", err)
	}
	f := &Folders{View: view, started: time.Now(), live: map[string]*record{}, due: map[string]bool{}}
	f.putInOrder(context.Background())
	return f, nil
}

// Append implements [troupe.Store]. Its error is that of the store alone: a
// manifest that cannot be written is logged, and written at the next event. A fork is
// stored with the files that its log speaks of, or not at all.
func (f *Folders) Append(ctx context.Context, session string, events ...troupe.Event) error {
	forked := forkIn(events)
	if forked != nil && hasFolder(session) {
		if err := f.stageFork(ctx, session, forked.From, events); err != nil {
			return fmt.Errorf("session %s: copy files of %s: %w", session, forked.From, err)
		}
	}
	if hasFolder(session) && slices.ContainsFunc(events, isSaved) {
		if err := f.settleOnce(session); err != nil {
			return fmt.Errorf("session %s: keep its folder: %w", session, err)
		}
	}
	if err := f.store.Append(ctx, session, events...); err != nil {
		if forked != nil {
			f.dropStaged(session)
		}
		return err
	}
	if len(events) == 0 || !hasFolder(session) {
		return nil
	}
	if forked != nil {
		if err := f.placeFork(session); err != nil {
			f.options.Log.Warn("files of a fork not moved", "session", session, "err", err)
		}
	}
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := f.follow(context.WithoutCancel(ctx), r, events); err != nil {
		f.options.Log.Warn("manifest is behind", "session", session, "err", err)
	}
	return nil
}

// Events implements [troupe.Store].
func (f *Folders) Events(ctx context.Context, session string, after int64) iter.Seq2[troupe.Event, error] {
	return f.store.Events(ctx, session, after)
}

// Sessions implements [troupe.Store].
func (f *Folders) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	return f.store.Sessions(ctx, match)
}

// Costs implements [troupe.Store].
func (f *Folders) Costs(ctx context.Context, since time.Time) iter.Seq2[troupe.DayCost, error] {
	return f.store.Costs(ctx, since)
}

// Acquire implements [troupe.Store].
func (f *Folders) Acquire(ctx context.Context, session string) (troupe.Lease, error) {
	return f.store.Acquire(ctx, session)
}

// Ask implements [troupe.Store].
func (f *Folders) Ask(ctx context.Context, session string, request troupe.SessionRequest) (troupe.SessionInfo, []troupe.Event, error) {
	return f.store.Ask(ctx, session, request)
}

// hasFolder reports whether a session of this id gets a folder: such an id is the
// name of a directory and nothing else.
func hasFolder(session string) bool { return sessionid.Is(session) }
