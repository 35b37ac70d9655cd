package outputs

import (
	"context"
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

// follow takes events into account that were just stored, and writes the manifest
// if they change it. Without events, or where some are missing, it reads the log.
// r.mu is held.
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
	if err := f.write(r); err != nil {
		return err
	}
	r.behind = false
	return nil
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

// putInOrder looks after what a killed process left behind. What it misses is put
// right when the session is next used.
func (f *Folders) putInOrder(ctx context.Context) {
	var sessions []string
	var last time.Time
	for info, err := range f.store.Sessions(ctx, troupe.SessionFilter{}) {
		if err != nil {
			f.options.Log.Warn("sessions not listed", "err", err)
			break
		}
		if last.IsZero() {
			last = info.Updated
		}
		if last.Sub(info.Updated) > aftermath {
			break
		}
		if hasFolder(info.ID) {
			sessions = append(sessions, info.ID)
		}
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
