package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// holdName is the file that says that somebody changes the configuration. It is there for as
// long as somebody does.
const holdName = ".troupe.lock"

// A Held configuration is changed by nobody but its holder: neither in this process nor in
// another. What is written by hand, with an editor, asks nobody.
type Held struct {
	dir    string
	lookup func(string) (string, bool)
	lock   *flock.Flock
}

// Hold waits until nobody else changes the configuration of dir, and keeps others from it until
// Release.
func Hold(dir string, lookup func(string) (string, bool)) (*Held, error) {
	return hold(dir, lookup, Name)
}

// hold is Hold for somebody who is to write one of the files: an error names that.
func hold(dir string, lookup func(string) (string, bool), file string) (*Held, error) {
	name := filepath.Join(dir, holdName)
	for {
		lock := flock.New(name)
		if err := lock.Lock(); err != nil {
			return nil, unwritten(file, err)
		}
		held, err := lock.Stat()
		if there, absent := os.Stat(name); err == nil && absent == nil && os.SameFile(held, there) {
			return &Held{dir, lookup, lock}, nil
		}
		// Whoever had it has removed it: what is held here keeps nobody away.
		if err := lock.Close(); err != nil {
			return nil, fmt.Errorf("hold %s: %w", file, err)
		}
	}
}

// Release lets others change the configuration.
func (h *Held) Release() error {
	os.Remove(h.lock.Path()) // while it is held; a system that keeps what is open keeps an empty file
	if err := h.lock.Close(); err != nil {
		return fmt.Errorf("release %s: %w", Name, err)
	}
	return nil
}

// Load reads the configuration as it is now.
func (h *Held) Load() (*Config, error) { return Load(h.dir, h.lookup) }

// holding writes a file while nobody else changes the configuration of dir.
func holding(dir string, lookup func(string) (string, bool), file string, do func(*Held) error) (err error) {
	h, err := hold(dir, lookup, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Release()) }()
	return do(h)
}

// unwritten is the error of a file that was not written. That it may not be is said without the
// machine's own words: whoever changes a setting on a page can tell somebody.
func unwritten(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("nothing was changed: Troupe may not write %s or its directory", name)
	}
	return fmt.Errorf("write %s: %w", name, err)
}
