package outputs

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
)

// soon is how long after a session has begun its folder and manifest are made at the
// latest. Most first runs end before it, and make them then: whoever waits for the first
// word of an answer does not wait for a file that says only that there will be one.
const soon = 3 * time.Second

// begin has a session's folder and manifest made soon, unless they are there. r.mu is held.
func (f *Folders) begin(r *record) {
	if r.written || r.begun {
		return
	}
	r.begun = true
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun[r.session] = true
	if f.timer == nil && !f.closed {
		f.writing.Add(1)
		f.timer = time.AfterFunc(soon, f.writeBegun)
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
	begun := f.begun[session]
	f.mu.Unlock()
	if !begun {
		return path, nil
	}
	if err := f.writeFirst(session); err != nil {
		f.options.Log.Warn("manifest is behind", "session", session, "err", err)
	}
	return path, nil
}

// forget has nothing made of a session that is deleted.
func (f *Folders) forget(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.begun, session)
}

// writeBegun makes the folders and manifests that nobody has made since their sessions began.
func (f *Folders) writeBegun() {
	defer f.writing.Done()
	f.mu.Lock()
	sessions := f.begun
	f.begun, f.timer = map[string]bool{}, nil
	f.mu.Unlock()
	for session := range sessions {
		// A session that is not there any more was deleted.
		if err := f.writeFirst(session); err != nil && !errors.Is(err, troupe.ErrNotFound) {
			f.options.Log.Warn("manifest is behind", "session", session, "err", err)
		}
	}
}

func (f *Folders) writeFirst(session string) error {
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written {
		return nil // a run has ended meanwhile
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
		f.writeBegun()
	}
	f.writing.Wait()
	return f.View.Close()
}
