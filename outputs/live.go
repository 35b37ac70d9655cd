package outputs

import (
	"context"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// maxLive is how many records are kept at hand. A session whose record is not is
// read from the log at its next event.
const maxLive = 1024

// hold returns the session's record for one more user.
func (f *Folders) hold(session string) *record {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.live[session]
	if r == nil {
		if len(f.live) >= maxLive {
			f.evict()
		}
		r = &record{session: session, options: &f.options}
		f.live[session] = r
	}
	r.users++
	return r
}

// letGo takes back what hold gave.
func (f *Folders) letGo(r *record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.users--
}

// evict drops a record that nobody uses; f.mu is held. One in use stays: a session
// must not have two.
func (f *Folders) evict() {
	for session, r := range f.live {
		if r.users == 0 {
			delete(f.live, session)
			return
		}
	}
}

// follow takes events into account that were just stored, and writes the manifest if
// it matters now: when a run has ended, when its session's first file is saved, and when it is
// asked for, without events. The first, another title, and the end of a run that soon follows
// another, are written soon otherwise. Where events are missing, it reads the log. r.mu is held.
func (f *Folders) follow(ctx context.Context, r *record, events []troupe.Event) error {
	if len(events) > 0 && events[0].Seq == 1 && !events[0].Time.Equal(r.info.Started) {
		r.reset() // the id had another log before
	}
	if len(events) > 0 && events[0].Seq == r.info.Events+1 {
		for i := range events {
			r.note(&events[i])
		}
	} else {
		for event, err := range f.store.Events(ctx, r.session, r.info.Events) {
			if err != nil {
				return err
			}
			r.note(&event)
		}
	}
	if !r.behind {
		return nil
	}
	isOver, now := slices.ContainsFunc(events, isEnd), time.Now()
	switch {
	case len(events) == 0, !r.written && slices.ContainsFunc(events, isSaved):
	case isOver && now.Sub(r.ended) >= soon:
		r.ended = now
	case isOver, !r.written, slices.ContainsFunc(events, isRename):
		f.writeSoon(r)
		return nil
	default:
		return nil
	}
	if err := f.write(r); err != nil {
		return err
	}
	r.behind, r.due, r.written = false, false, true
	return nil
}

// isEnd reports whether an event ends a run that a caller started.
func isEnd(e troupe.Event) bool {
	switch e.Body.(type) {
	case *troupe.RunFinished, *troupe.RunFailed, *troupe.RunCancelled:
		return e.Parent == ""
	}
	return false
}

// isRename reports whether an event gives the session another title.
func isRename(e troupe.Event) bool {
	_, is := e.Body.(*troupe.SessionRenamed)
	return is
}

// refresh writes a session's manifest as its log says, unless it is right already.
// It fails with [troupe.ErrNotFound] if the store does not know the session.
func (f *Folders) refresh(ctx context.Context, session string) error {
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = r.info.Events > 0
	return f.follow(ctx, r, nil)
}

// aftermath is how long before the last event of all a session may have had its
// own for its files to be in disorder: no write takes longer.
const aftermath = time.Minute

// maxDisorder is how many sessions are looked after at the start. Others are put right
// when they are next used.
const maxDisorder = 64

// putInOrder looks after what a killed process left behind. What it misses is put
// right when the session is next used.
func (f *Folders) putInOrder(ctx context.Context) {
	f.finishDeleting(ctx)
	f.finishForking(ctx)
	sessions, err := f.latest(ctx)
	if err != nil {
		f.options.Log.Warn("sessions not listed", "err", err)
	}
	for _, session := range sessions {
		err := f.refresh(ctx, session)
		if err == nil {
			err = f.sweep(session)
		}
		if err != nil {
			f.options.Log.Warn("folder not put in order", "session", session, "err", err)
		}
	}
}

// latest returns the sessions that may be in disorder: those with the latest events
// that nobody has.
func (f *Folders) latest(ctx context.Context) (sessions []string, err error) {
	var since time.Time
	for info, err := range f.store.Sessions(ctx, troupe.SessionFilter{Limit: 1}) {
		if err != nil {
			return nil, err
		}
		since = info.Updated.Add(-aftermath)
	}
	if since.IsZero() {
		return nil, nil
	}
	for info, err := range f.store.Sessions(ctx, troupe.SessionFilter{Since: since, Limit: maxDisorder}) {
		if err != nil {
			return sessions, err
		}
		if hasFolder(info.ID) && info.Owner == (troupe.Owner{}) {
			sessions = append(sessions, info.ID)
		}
	}
	return sessions, nil
}
