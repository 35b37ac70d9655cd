package outputs

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
)

// soon is how long after a session has begun its folder and manifest are made at the
// latest. Most first runs end before it, and make them then: whoever waits for the first
// word of an answer does not wait for a file that says only that there will be one. It is also
// the least time between two ends for both to be written as they come: a new file for every one
// of many short turns is a seventh of what a turn costs.
const soon = 3 * time.Second

// writeSoon has a session's folder and manifest brought up to date soon. r.mu is held.
func (f *Folders) writeSoon(r *record) {
	if r.due {
		return
	}
	r.due = true
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due[r.session] = true
	if f.timer == nil && !f.closed {
		f.writing.Add(1)
		f.timer = time.AfterFunc(soon, f.writeDue)
	}
}

// Path returns the folder of a session on the host. It exists once the session's first
// event is stored, for whoever asks here for it, and has its manifest: readers may hear of a
// run's end before that is written.
func (f *Folders) Path(session string) (string, error) {
	path, err := f.View.Path(session)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	isDue := f.due[session]
	f.mu.Unlock()
	if !isDue {
		return path, nil
	}
	if err := f.writeNow(session); err != nil {
		f.options.Log.Warn("manifest is behind", "session", session, "err", err)
	}
	return path, nil
}

// forget has nothing made of a session that is deleted.
func (f *Folders) forget(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.due, session)
}

// writeDue makes the folders and manifests that are due and that nobody has made meanwhile.
func (f *Folders) writeDue() {
	defer f.writing.Done()
	f.mu.Lock()
	sessions := f.due
	f.due, f.timer = map[string]bool{}, nil
	f.mu.Unlock()
	for session := range sessions {
		// A session that is not there any more was deleted.
		if err := f.writeNow(session); err != nil && !errors.Is(err, troupe.ErrNotFound) {
			f.options.Log.Warn("manifest is behind", "session", session, "err", err)
		}
	}
}

func (f *Folders) writeNow(session string) error {
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	isDue := r.due || !r.written
	if r.due = false; !isDue {
		return nil // it was written meanwhile
	}
	return f.follow(context.Background(), r, nil)
}

// Close writes the manifests that are to be written soon, and gives up the handles on the
// directory. The store is not closed.
func (f *Folders) Close() error {
	f.mu.Lock()
	stopped := f.timer != nil && f.timer.Stop()
	f.closed = true
	f.mu.Unlock()
	if stopped {
		f.writeDue()
	}
	f.writing.Wait()
	return f.View.Close()
}
