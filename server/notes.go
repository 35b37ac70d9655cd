package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// notes are what people have decided about a session and that is no part of what
// happened in it: they change nothing that an agent is told.
type notes struct {
	// Model is the model that answers in this session, where one was chosen.
	Model    string   `json:"model,omitempty"`
	Pinned   bool     `json:"pinned,omitempty"`
	Archived bool     `json:"archived,omitempty"`
	Related  []string `json:"related,omitempty"`
	// Given are the files that the first message comes with.
	Given []fileName `json:"given,omitempty"`
	// Seen is how many of the session's runs had ended when its owner last looked.
	Seen int `json:"seen,omitempty"`
	// Allowed are the tools that may be called in this session without asking again.
	Allowed []string `json:"allowed,omitempty"`
	// Queue is what is said once the run that is under way has ended. Held says that
	// it waits for a word of its owner, because that run failed or was stopped.
	Queue []queued `json:"queue,omitempty"`
	Held  bool     `json:"held,omitempty"`
	Next  int      `json:"next,omitempty"` // the number of the next message in the queue
	// Edits are versions of files that people wrote by hand.
	Edits []edit `json:"edits,omitempty"`
}

// allow lets a tool be called in this session without asking again.
func (n *notes) allow(tool string) {
	if !slices.Contains(n.Allowed, tool) {
		n.Allowed = append(n.Allowed, tool)
	}
}

// noteBook keeps the notes of all sessions, one file each, or in memory where it has
// no directory.
type noteBook struct {
	dir   string
	shelf Shelf // in place of the directory, nil where there is none
	mu    sync.Mutex
	all   map[string]*notes
}

func newNoteBook(dir string, shelf Shelf) (*noteBook, error) {
	if shelf != nil {
		return &noteBook{shelf: shelf}, nil
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("keep notes: %w", err)
		}
	}
	return &noteBook{dir: dir, all: map[string]*notes{}}, nil
}

// of returns a copy of a session's notes.
func (b *noteBook) of(session string) (notes, error) {
	if b.shelf != nil {
		var n notes
		_, err := readShelf(b.shelf, shelfNotes+session, &n)
		return n, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.load(session)
	if err != nil {
		return notes{}, err
	}
	copied := *n
	copied.Queue, copied.Edits, copied.Allowed = slices.Clone(n.Queue), slices.Clone(n.Edits), slices.Clone(n.Allowed)
	return copied, nil
}

// change changes a session's notes. It returns when that is on disk.
func (b *noteBook) change(session string, f func(*notes)) error {
	if b.shelf != nil {
		return changeNotes(b.shelf, session, f)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.load(session)
	if err != nil {
		return err
	}
	next := *n
	next.Queue, next.Edits, next.Allowed = slices.Clone(n.Queue), slices.Clone(n.Edits), slices.Clone(n.Allowed)
	f(&next)
	if err := b.save(session, &next); err != nil {
		return err
	}
	b.all[session] = &next
	return nil
}

// forget removes a session's notes.
func (b *noteBook) forget(session string) error {
	if b.shelf != nil {
		return writeShelf(b.shelf, shelfNotes+session, nil)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, session)
	if b.dir == "" {
		return nil
	}
	if err := os.Remove(b.path(session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the notes of a session: %w", err)
	}
	return nil
}

func (b *noteBook) path(session string) string { return filepath.Join(b.dir, session+".json") }

func (b *noteBook) load(session string) (*notes, error) {
	if n := b.all[session]; n != nil {
		return n, nil
	}
	n := &notes{}
	if b.dir != "" && !filepath.IsLocal(session+".json") {
		return nil, fmt.Errorf("the notes of %.64q: this is no session's id", session)
	}
	if b.dir != "" {
		data, err := os.ReadFile(b.path(session))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the notes of a session: %w", err)
		}
		if err == nil {
			if err := json.Unmarshal(data, n); err != nil {
				return nil, fmt.Errorf("the notes in %s: %w", b.path(session), err)
			}
			n.Held = len(n.Queue) > 0 // whoever would have sent it is gone
		}
	}
	b.all[session] = n
	return n, nil
}

func (b *noteBook) save(session string, n *notes) error {
	if b.dir == "" {
		return nil
	}
	data, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("the notes of a session: %w", err)
	}
	f, err := os.CreateTemp(b.dir, ".notes-*")
	if err != nil {
		return fmt.Errorf("keep notes: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), b.path(session))
	}
	if err != nil {
		return fmt.Errorf("keep notes: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
