package server

import (
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
)

// mostDrafts is how many sessions a user may have made in which nothing was said: no
// fewer than there may be readers, so that those who begin at the same moment do not
// push each other out.
const mostDrafts = 2000

// drafts are sessions that were made and in which nothing was said yet: a store
// knows a session from its first event on.
type drafts struct {
	mu   sync.Mutex
	list []*draft // the oldest first
}

type draft struct {
	info troupe.SessionInfo
	// over is closed once the session has begun, or will not.
	over chan struct{}
}

// add makes a draft. The oldest of the same user gives way if there are too many.
func (d *drafts) add(info troupe.SessionInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := 0
	var oldest *draft
	for _, other := range d.list {
		if other.info.User != info.User {
			continue
		}
		if own++; own == 1 {
			oldest = other
		}
	}
	if own >= mostDrafts {
		d.drop(oldest)
	}
	d.list = append(d.list, &draft{info, make(chan struct{})})
}

// find returns the user's draft of an id, nil if there is none.
func (d *drafts) find(user, id string) *draft {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range d.list {
		if other.info.ID == id && (user == "" || other.info.User == user) {
			return other
		}
	}
	return nil
}

// remove forgets a draft. It does nothing for one that is gone, or nil.
func (d *drafts) remove(gone *draft) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(gone)
}

func (d *drafts) drop(gone *draft) {
	if i := slices.Index(d.list, gone); i >= 0 {
		d.list = slices.Delete(d.list, i, i+1)
		close(gone.over)
	}
}
