package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe/server"
)

// Shelf keeps small things beside the sessions: in the database that servers share, or
// else in the data directory.
func (p *Project) Shelf(ctx context.Context) (server.Shelf, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	return s.anyShelf(), nil
}

// anyShelf is the database's, or else the data directory's.
func (s *stage) anyShelf() server.Shelf {
	if shared := s.shelf(); shared != nil {
		return shared
	}
	return &folderShelf{dir: filepath.Join(s.project.DataDir(), "shelf")}
}

// A folderShelf is a shelf for the processes of one machine: a file for each name.
type folderShelf struct {
	dir string
	mu  sync.Mutex
}

// file is named by a hash: names are as others choose them.
func (f *folderShelf) file(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".json")
}

// Read implements [server.Shelf].
func (f *folderShelf) Read(_ context.Context, name string) ([]byte, error) { return f.read(name) }

func (f *folderShelf) read(name string) ([]byte, error) {
	data, err := os.ReadFile(f.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Change implements [server.Shelf]. What is kept is replaced at once or not at all.
func (f *folderShelf) Change(_ context.Context, name string, change func([]byte) ([]byte, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	others := flock.New(filepath.Join(f.dir, "lock"))
	if err := others.Lock(); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	defer others.Close()
	before, err := f.read(name)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	if after == nil {
		if err := os.Remove(f.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	temporary := f.file(name) + ".new"
	if err := os.WriteFile(temporary, after, 0o600); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	return os.Rename(temporary, f.file(name))
}
