package main

import (
	"io"
	"log/slog"
	"sync"

	"github.com/troupe-dev/troupe/observe"
)

// console makes what the log is shown with on standard error: as much as the flag or
// the configuration say.
func (p *program) console(level slog.Level) slog.Handler {
	if p.flags.logLevel != "" {
		level, _ = observe.ParseLevel(p.flags.logLevel) // which was checked
	}
	return observe.NewConsole(&p.log, observe.ConsoleOptions{Level: level, Colour: p.usesColour(p.err)})
}

// A heldLog passes lines on to a writer, except while they are held back because a
// terminal shows something else. Then it keeps the newest of them for later.
type heldLog struct {
	to io.Writer

	mu     sync.Mutex
	isHeld bool
	kept   []byte
}

// maxKept bounds what is held back, in bytes.
const maxKept = 64 << 10

// Write implements [io.Writer].
func (l *heldLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isHeld {
		return l.to.Write(line)
	}
	l.kept = append(l.kept, line...)
	if excess := len(l.kept) - maxKept; excess > 0 {
		l.kept = l.kept[excess:]
	}
	return len(line), nil
}

// hold begins to hold lines back, and release passes on what was held.
func (l *heldLog) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isHeld = true
}

func (l *heldLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isHeld = false
	l.to.Write(l.kept) // there is nobody left to tell
	l.kept = nil
}
