package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"unicode"
)

const (
	maxNoise     = 1 << 20 // of one process, in all
	maxNoiseLine = 2 << 10
)

// A noise is what a server prints beside its messages. It goes to the log line by
// line, up to a limit; after that it is read and dropped, so that the server does
// not have to wait.
type noise struct {
	logger *slog.Logger

	mu     sync.Mutex
	rest   []byte // of a line that is not complete
	size   int
	latest string
}

// Write takes standard error, in pieces of any size. It never fails.
func (n *noise) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range bytes.Lines(p) {
		n.rest = append(n.rest, line[:min(len(line), maxNoiseLine-len(n.rest))]...)
		if bytes.HasSuffix(line, []byte("\n")) {
			n.say(n.rest)
			n.rest = n.rest[:0]
		}
	}
	return len(p), nil
}

// line takes one line that is complete.
func (n *noise) line(text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say(text[:min(len(text), maxNoiseLine)])
}

func (n *noise) say(text []byte) {
	line := strings.TrimSpace(printable(string(text)))
	if line == "" {
		return
	}
	n.latest = line
	if n.size > maxNoise {
		return
	}
	if n.size += len(line); n.size > maxNoise {
		line = "(what else it says is dropped)"
	}
	n.logger.Info("mcp server says", "text", line)
}

// last returns the last line.
func (n *noise) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.latest
}

// printable drops what does not show but has an effect: control characters, and
// those that hide text or change its direction.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}
