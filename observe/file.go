package observe

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/DeRuina/timberjack"
)

// FileOptions say where a log file is and when it makes room. All but Path may be
// left out.
type FileOptions struct {
	Path string
	// MaxSize is how many megabytes the file holds before another is begun: 100 by
	// default. What is written at once must fit.
	MaxSize int
	// MaxAge is for how many days, and MaxCount how many, earlier files are kept:
	// all of them by default.
	MaxAge   int
	MaxCount int
	// Compress compresses earlier files with gzip.
	Compress bool
}

// OpenFile opens a log file for appending, with its directory, or says at once why
// that is not possible. Full files are renamed to name-TIME-size.ext. Only the owner
// may read them. One process may write to a path at a time.
//
// Use it under a handler, such as slog.NewJSONHandler(file, nil). Close waits for
// what is still to be compressed or removed.
func OpenFile(o FileOptions) (io.WriteCloser, error) {
	if o.Path == "" || o.MaxSize < 0 || o.MaxAge < 0 || o.MaxCount < 0 {
		return nil, errors.New("open log file: it needs a path, and limits that are not negative")
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	probe, err := os.OpenFile(o.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	compression := "none"
	if o.Compress {
		compression = "gzip"
	}
	return &logFile{rotating: &timberjack.Logger{
		Filename: o.Path, MaxSize: o.MaxSize, MaxAge: o.MaxAge, MaxBackups: o.MaxCount,
		Compression: compression, FileMode: 0o600,
	}}, nil
}

// A logFile refuses what comes after Close, which timberjack would still write.
type logFile struct {
	mu       sync.RWMutex
	closed   bool
	rotating *timberjack.Logger
}

// Write implements [io.Writer].
func (f *logFile) Write(p []byte) (int, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return 0, fs.ErrClosed
	}
	return f.rotating.Write(p)
}

// Close implements [io.Closer].
func (f *logFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.rotating.Close()
}
