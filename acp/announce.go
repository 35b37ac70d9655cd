package acp

import (
	"bytes"
	"io"
	"sync"
)

// An announcer writes to the editor, and does what is to be done after a message: an
// editor drops what it hears of a session before it knows the session's id.
type announcer struct {
	out io.Writer

	mu      sync.Mutex
	waiting map[string]func() // by session
	closed  bool
	doing   sync.WaitGroup
}

func newAnnouncer(out io.Writer) *announcer {
	return &announcer{out: out, waiting: map[string]func(){}}
}

// after has do called once the answer that names a session was written.
func (a *announcer) after(session string, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting[session] = do
}

// Write implements [io.Writer].
func (a *announcer) Write(message []byte) (int, error) {
	n, err := a.out.Write(message)
	a.mu.Lock()
	defer a.mu.Unlock()
	for session, do := range a.waiting {
		if !a.closed && bytes.Contains(message, []byte(`"result"`)) && bytes.Contains(message, []byte(session)) {
			delete(a.waiting, session)
			a.doing.Go(do)
		}
	}
	return n, err
}

// close waits for what is being done.
func (a *announcer) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.doing.Wait()
}
