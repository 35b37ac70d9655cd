package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
)

// logger writes to standard error, as much as the flag or the configuration say.
func (p *program) logger(c *config.Config) (*slog.Logger, error) {
	name := p.flags.logLevel
	if name == "" {
		name = c.Log.Level
	}
	level, err := parseLevel(name)
	if err != nil {
		return nil, err
	}
	return slog.New(slog.NewTextHandler(&p.log, &slog.HandlerOptions{Level: level})), nil
}

func parseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "", "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("%.20q is not a level; there are debug, info, warn and error", name)
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
