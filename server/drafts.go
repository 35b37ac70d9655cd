package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

const (
	// mostDrafts is how many sessions a user may have made in which nothing was said:
	// no fewer than there may be readers, so that those who begin at the same moment do
	// not push each other out.
	mostDrafts = 2000
	// draftLifetime is how long nothing may be said in a session that was made.
	draftLifetime = 7 * 24 * time.Hour
)

// drafts are sessions that were made and in which nothing was said yet: a store
// knows a session from its first event on. Each has a file, so that a page which was
// opened before a restart goes on after it; without a directory they are in memory.
type drafts struct {
	dir   string
	shelf Shelf // in place of the directory, nil where there is none
	mu    sync.Mutex
	list  []*draft // the oldest first
	// before are those of the server whose place this one's has taken: somebody may still
	// wait there for a session to begin, which it does here.
	before *drafts
}

type draft struct {
	info troupe.SessionInfo
	// over is closed once the session has begun, or will not.
	over chan struct{}
}

// newDrafts reads the drafts of a directory. Those that are too old go.
func newDrafts(dir string, shelf Shelf) (*drafts, error) {
	d := &drafts{shelf: shelf}
	if dir == "" || shelf != nil {
		return d, nil
	}
	d.dir = filepath.Join(dir, "drafts")
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep drafts: %w", err)
	}
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("keep drafts: %w", err)
	}
	for _, file := range files {
		id := strings.TrimSuffix(file.Name(), ".json")
		kept := d.read(id)
		if kept == nil && isBeingMade(file) {
			continue
		}
		if kept == nil || time.Since(kept.info.Started) > draftLifetime {
			os.Remove(filepath.Join(d.dir, file.Name())) // if it stays, it is tried again at the next start
			continue
		}
		d.list = append(d.list, kept)
	}
	slices.SortStableFunc(d.list, func(a, b *draft) int { return a.info.Started.Compare(b.info.Started) })
	return d, nil
}

// isBeingMade reports whether a file that is no draft may become one: another server of
// the same directory is writing it, or has just begun the session and taken it away.
func isBeingMade(file os.DirEntry) bool {
	info, err := file.Info()
	return err != nil || time.Since(info.ModTime()) < time.Hour
}

// read returns the draft that has a file, nil if it has none or only a part of one.
func (d *drafts) read(id string) *draft {
	if d.shelf != nil {
		var info troupe.SessionInfo
		if known, err := readShelf(d.shelf, shelfDraft+id, &info); err != nil || !known || time.Since(info.Started) > draftLifetime {
			return nil
		}
		return &draft{info, make(chan struct{})}
	}
	if d.dir == "" || !sessionid.Is(id) {
		return nil
	}
	data, err := os.ReadFile(d.path(id))
	var info troupe.SessionInfo
	if err != nil || json.Unmarshal(data, &info) != nil || info.ID != id {
		return nil
	}
	return &draft{info, make(chan struct{})}
}

func (d *drafts) path(id string) string { return filepath.Join(d.dir, id+".json") }

// add makes a draft. The oldest of the same user gives way if there are too many. Its
// file outlives this process; the loss of power may cost an empty session.
func (d *drafts) add(info troupe.SessionInfo) error {
	if err := d.keep(info); err != nil {
		return err
	}
	d.remove(d.enter(&draft{info, make(chan struct{})}))
	return nil
}

// keep writes a draft down, for other servers and the next process.
func (d *drafts) keep(info troupe.SessionInfo) error {
	if d.shelf != nil {
		return writeShelf(d.shelf, shelfDraft+info.ID, info)
	}
	if d.dir == "" {
		return nil
	}
	data, err := json.Marshal(info)
	unfinished := d.path(info.ID) + ".new" // nobody reads half of it
	if err == nil {
		err = os.WriteFile(unfinished, data, 0o600)
	}
	if err == nil {
		err = os.Rename(unfinished, d.path(info.ID))
	}
	if err != nil {
		return fmt.Errorf("keep a draft: %w", err)
	}
	return nil
}

// enter adds a draft to the list, and returns the one that is to give way to it, if any.
func (d *drafts) enter(made *draft) *draft {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := 0
	var oldest *draft
	for _, other := range d.list {
		if other.info.User != made.info.User {
			continue
		}
		if own++; own == 1 {
			oldest = other
		}
	}
	d.list = append(d.list, made)
	if own < mostDrafts {
		return nil
	}
	return oldest
}

// find returns the user's draft of an id, nil if there is none here.
func (d *drafts) find(user, id string) *draft {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.list, func(other *draft) bool { return other.info.ID == id })
	if i < 0 {
		return nil
	}
	if found := d.list[i]; user == "" || found.info.User == user {
		return found
	}
	return nil
}

// look is find for an id that neither the store nor this server knows: another server
// of the same directory may have made it.
func (d *drafts) look(user, id string) *draft {
	kept := d.read(id)
	if kept == nil || user != "" && kept.info.User != user {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.list, func(other *draft) bool { return other.info.ID == id }); i >= 0 {
		return d.list[i]
	}
	d.list = append(d.list, kept)
	return kept
}

// remove forgets a draft. It does nothing for one that is gone, or nil. Nobody waits for the
// disk, or for the database, but whoever has begun the session.
func (d *drafts) remove(gone *draft) {
	if gone == nil || !d.strike(gone) {
		return
	}
	if d.before != nil {
		d.before.remove(d.before.find("", gone.info.ID))
	}
	if d.shelf != nil {
		_ = writeShelf(d.shelf, shelfDraft+gone.info.ID, nil) // one that stays is too old some day; the store is asked first
	} else if d.dir != "" {
		os.Remove(d.path(gone.info.ID)) // one that stays is too old some day; the store is asked first
	}
}

// strike takes a draft from the list, and reports whether it was there.
func (d *drafts) strike(gone *draft) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.list, gone)
	if i < 0 {
		return false
	}
	d.list = slices.Delete(d.list, i, i+1)
	close(gone.over)
	return true
}
