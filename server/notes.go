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

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe"
)

// notes are what people have decided about a session and that is no part of what
// happened in it: they change nothing that an agent is told.
type notes struct {
	// Model is the model that answers in this session, where one was chosen.
	Model string `json:"model,omitempty"`
	// Agent is who was chosen to go on with this session when it had After events.
	Agent    string   `json:"agent,omitempty"`
	After    int64    `json:"after,omitempty"`
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
	// it waits for a word of its owner, because of Why: how that run ended.
	Queue []queued `json:"queue,omitempty"`
	Held  bool     `json:"held,omitempty"`
	Why   string   `json:"why,omitempty"`
	Next  int      `json:"next,omitempty"` // the number of the next message in the queue
	// Touched is how often somebody has changed a message in the queue, or taken one out, or
	// the plan of a delivery, or has taken its result or dropped it.
	Touched int `json:"touched,omitempty"`
	// Edits are versions of files that people wrote by hand.
	Edits []edit `json:"edits,omitempty"`
	// Kept are texts of versions that agents saved and that only the file had, until somebody
	// wrote into it by hand.
	Kept []string `json:"kept,omitempty"`
}

// clone returns notes that can be changed while others read these.
func (n *notes) clone() notes {
	c := *n
	c.Related, c.Given, c.Allowed = slices.Clone(n.Related), slices.Clone(n.Given), slices.Clone(n.Allowed)
	c.Queue, c.Edits, c.Kept = slices.Clone(n.Queue), slices.Clone(n.Edits), slices.Clone(n.Kept)
	return c
}

// allow lets a tool be called in this session without asking again.
func (n *notes) allow(tool string) {
	if !slices.Contains(n.Allowed, tool) {
		n.Allowed = append(n.Allowed, tool)
	}
}

// noteBook keeps the notes of all sessions, one file each, or in memory where it has
// no directory. Other processes may change the files: whoever changes one holds the lock
// beside them, and what is remembered of a file holds only for as long as it is the same.
type noteBook struct {
	dir    string
	shelf  Shelf // in place of the directory, nil where there is none
	mu     sync.Mutex
	all    map[string]*notes
	file   map[string]fs.FileInfo // what was remembered of a session is of this file, nil for none
	others *flock.Flock
	// isVisitor says that a server may be running which sends what waits in the queues.
	isVisitor bool
}

func newNoteBook(dir string, shelf Shelf) (*noteBook, error) {
	if dir != "" && shelf == nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("keep notes: %w", err)
		}
	}
	return openNoteBook(dir, shelf), nil
}

// openNoteBook is newNoteBook of a directory that is there, or from which is only read.
func openNoteBook(dir string, shelf Shelf) *noteBook {
	if shelf != nil {
		return &noteBook{shelf: shelf}
	}
	return &noteBook{dir: dir, all: map[string]*notes{}, file: map[string]fs.FileInfo{}, others: flock.New(filepath.Join(dir, ".lock"))}
}

// lock keeps other goroutines and processes from changing notes until unlock is called.
func (b *noteBook) lock() (unlock func(), err error) {
	b.mu.Lock()
	if b.dir == "" {
		return b.mu.Unlock, nil
	}
	if err := b.others.Lock(); err != nil {
		b.mu.Unlock()
		return nil, fmt.Errorf("keep notes: %w", err)
	}
	return func() {
		b.others.Close()
		b.mu.Unlock()
	}, nil
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
	return n.clone(), nil
}

// ofAll returns the notes of sessions, in their order. A shelf that can is asked for all of
// them at once.
func (b *noteBook) ofAll(list []troupe.SessionInfo) ([]notes, error) {
	all := make([]notes, len(list))
	if many, ok := b.shelf.(ManyReader); ok {
		names := make([]string, len(list))
		for i := range list {
			names[i] = shelfNotes + list[i].ID
		}
		return all, readShelfAll(many, names, func(i int) any { return &all[i] })
	}
	for i := range list {
		n, err := b.of(list[i].ID)
		if err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}

// change changes a session's notes. It returns when that is on disk.
func (b *noteBook) change(session string, f func(*notes)) error {
	if b.shelf != nil {
		return changeNotes(b.shelf, session, f)
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	n, err := b.load(session)
	if err != nil {
		return err
	}
	next := n.clone()
	f(&next)
	if err := b.save(session, &next); err != nil {
		return err
	}
	b.all[session] = &next
	if b.dir != "" {
		// Where it cannot be said which file it is, it is read again.
		if b.file[session], err = os.Stat(b.path(session)); err != nil {
			delete(b.all, session)
		}
	}
	return nil
}

// forget removes a session's notes.
func (b *noteBook) forget(session string) error {
	if b.shelf != nil {
		return writeShelf(b.shelf, shelfNotes+session, nil)
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	delete(b.all, session)
	delete(b.file, session)
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
	known := b.all[session]
	if b.dir == "" {
		if known == nil {
			known = &notes{}
			b.all[session] = known
		}
		return known, nil
	}
	if !filepath.IsLocal(session + ".json") {
		return nil, fmt.Errorf("the notes of %.64q: this is no session's id", session)
	}
	now, err := os.Stat(b.path(session))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the notes of a session: %w", err)
	}
	if known != nil && isSame(b.file[session], now) {
		return known, nil
	}
	n := &notes{}
	data, err := os.ReadFile(b.path(session))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the notes of a session: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(data, n); err != nil {
			return nil, fmt.Errorf("the notes in %s: %w", b.path(session), err)
		}
		if known == nil && !b.isVisitor {
			if !n.Held {
				n.Why = heldInterrupted // whoever would have sent it is gone
			}
			n.Held = len(n.Queue) > 0
		}
	}
	b.all[session], b.file[session] = n, now
	return n, nil
}

// isSame reports whether a file is still the one that was read: each change makes a new one.
func isSame(read, now fs.FileInfo) bool {
	if read == nil || now == nil {
		return read == nil && now == nil
	}
	return os.SameFile(read, now) && read.ModTime().Equal(now.ModTime()) && read.Size() == now.Size()
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
