// Package mirror keeps directories the same on many machines, by way of a store of blobs.
//
// The directory on a machine is a working copy. It is brought up to date before somebody
// works in it, and what was changed in it is stored before anybody is told of the change.
package mirror

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// Blobs keep files by their hashes: see postgres.Store.
type Blobs interface {
	Files(ctx context.Context, space string) (hashes map[string]string, err error)
	PutFile(ctx context.Context, space, path, hash string, content []byte) error
	ReadBlob(ctx context.Context, hash string) ([]byte, error)
	DropFile(ctx context.Context, space, path string) error
}

// MaxFile is the largest file that is kept. Larger ones stay on their machine.
const MaxFile = 64 << 20

// A Mirror keeps directories up to date. It may be used concurrently.
type Mirror struct {
	blobs Blobs
	log   *slog.Logger

	mu     sync.Mutex
	spaces map[string]*copied
}

// copied is what is known of a working copy: the files as they were stored or fetched.
type copied struct {
	mu    sync.Mutex
	files map[string]file
}

type file struct {
	hash string
	size int64
	made time.Time
}

// New returns a mirror of what blobs have.
func New(blobs Blobs, log *slog.Logger) *Mirror {
	return &Mirror{blobs: blobs, log: log, spaces: map[string]*copied{}}
}

// maxSpaces is how many working copies are remembered. Of others all files are read again.
const maxSpaces = 4096

func (m *Mirror) space(name string) *copied {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.spaces[name]
	if c == nil {
		if len(m.spaces) >= maxSpaces {
			clear(m.spaces)
		}
		c = &copied{files: map[string]file{}}
		m.spaces[name] = c
	}
	return c
}

// Forget forgets a space and all its files, on all machines but in their directories.
func (m *Mirror) Forget(ctx context.Context, space string) error {
	m.mu.Lock()
	delete(m.spaces, space)
	m.mu.Unlock()
	return m.blobs.DropFile(ctx, space, "")
}

// Discard calls remove for a working copy of a space of which nothing is stored any more, and reports
// whether it did. Nothing is pushed or pulled meanwhile.
func (m *Mirror) Discard(ctx context.Context, space string, remove func() error) (bool, error) {
	c := m.space(space)
	c.mu.Lock()
	defer c.mu.Unlock()
	stored, err := m.blobs.Files(ctx, space)
	if err != nil || len(stored) > 0 {
		return false, err
	}
	if err := remove(); err != nil {
		return false, err
	}
	clear(c.files)
	return true, nil
}

// Push stores what was changed in a directory since it was last pushed or pulled.
func (m *Mirror) Push(ctx context.Context, space, dir string) error {
	c := m.space(space)
	c.mu.Lock()
	defer c.mu.Unlock()
	here, err := m.scan(c, dir)
	if err != nil {
		return err
	}
	return m.push(ctx, c, space, dir, here)
}

func (m *Mirror) push(ctx context.Context, c *copied, space, dir string, here map[string]file) error {
	for name, f := range here {
		if c.files[name].hash == f.hash {
			c.files[name] = f
			continue
		}
		content, err := read(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		f.hash = hashOf(content)
		if err := m.blobs.PutFile(ctx, space, name, f.hash, content); err != nil {
			return err
		}
		c.files[name] = f
	}
	for name := range c.files {
		if _, ok := here[name]; !ok {
			if err := m.blobs.DropFile(ctx, space, name); err != nil {
				return err
			}
			delete(c.files, name)
		}
	}
	return nil
}

// Pull makes a directory what is stored of it. What was changed here alone is stored; of
// what was changed here and elsewhere, what is stored counts.
func (m *Mirror) Pull(ctx context.Context, space, dir string) error {
	c := m.space(space)
	c.mu.Lock()
	defer c.mu.Unlock()
	stored, err := m.blobs.Files(ctx, space)
	if err != nil {
		return err
	}
	here, err := m.scan(c, dir)
	if err != nil {
		return err
	}
	for name, hash := range stored {
		f, isHere := here[name]
		known, isKnown := c.files[name]
		switch {
		case isHere && f.hash == hash:
			c.files[name] = f
			continue
		case isKnown && known.hash == hash && (!isHere || f.hash != hash):
			continue // it was changed or removed here alone
		}
		if here[name], err = m.fetch(ctx, dir, name, hash); err != nil {
			return err
		}
		c.files[name] = here[name]
	}
	for name, known := range c.files {
		if _, ok := stored[name]; ok || here[name].hash != known.hash {
			continue
		}
		// It was removed elsewhere.
		if err := remove(dir, name); err != nil {
			return err
		}
		delete(here, name)
		delete(c.files, name)
	}
	return m.push(ctx, c, space, dir, here)
}

// fetch writes a file as it is stored.
func (m *Mirror) fetch(ctx context.Context, dir, name, hash string) (file, error) {
	content, err := m.blobs.ReadBlob(ctx, hash)
	if err != nil {
		return file{}, err
	}
	if got := hashOf(content); got != hash {
		return file{}, fmt.Errorf("%s: what is stored as %.16s is %.16s: it was damaged", name, hash, got)
	}
	info, err := write(dir, name, content)
	if err != nil {
		return file{}, err
	}
	return file{hash, info.Size(), info.ModTime()}, nil
}

// scan returns the files of a directory, with their hashes. Of those that look as they did
// the hashes are known.
func (m *Mirror) scan(c *copied, dir string) (map[string]file, error) {
	here := map[string]file{}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return here, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return here, fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() || isPartial(name) {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if info.Size() > MaxFile {
			m.log.Warn("file stays on this machine: it is too large to be stored", "file", name, "size", info.Size())
			return nil
		}
		f := file{size: info.Size(), made: info.ModTime()}
		if known := c.files[name]; known.size == f.size && known.made.Equal(f.made) && time.Since(f.made) > settled {
			f.hash = known.hash
		} else if content, err := root.ReadFile(name); err == nil {
			f.hash = hashOf(content)
		} else {
			return ignoreGone(err)
		}
		here[name] = f
		return nil
	})
}

// settled is after how long a file's time tells whether it was changed.
const settled = 2 * time.Second

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isPartial reports whether a file is half written.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), partial) }

// partial begins the names of files in the making, as those of a workspace do.
const partial = ".troupe-tmp-"

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func read(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(name)
}

func remove(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ignoreGone(err)
	}
	defer root.Close()
	return ignoreGone(root.Remove(name))
}

// write puts a file in its place, whole or not at all.
func write(dir, name string, content []byte) (fs.FileInfo, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return nil, err
	}
	made := path.Join(path.Dir(name), partial+rand.Text())
	if err := root.WriteFile(made, content, 0o600); err != nil {
		return nil, err
	}
	if err := root.Rename(made, name); err != nil {
		return nil, err
	}
	return root.Stat(name)
}
