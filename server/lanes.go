package server

import "sync"

// lanes let those who do something about the same session do it one after the other.
type lanes struct {
	mu     sync.Mutex
	inside map[string]*lane
}

type lane struct {
	sync.Mutex
	wanted int // by how many, with whoever is in it
}

// take waits until the lane of a session is free, and takes it until leave is called.
func (l *lanes) take(session string) (leave func()) {
	l.mu.Lock()
	if l.inside == nil {
		l.inside = map[string]*lane{}
	}
	own := l.inside[session]
	if own == nil {
		own = &lane{}
		l.inside[session] = own
	}
	own.wanted++
	l.mu.Unlock()
	own.Lock()
	return func() {
		own.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.wanted--; own.wanted == 0 {
			delete(l.inside, session)
		}
	}
}
