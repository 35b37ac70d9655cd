package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// A LockedError reports a store that a process has open.
type LockedError struct {
	// PID is the process, 0 if it could not be told.
	PID  int
	Path string
}

// Error names the process.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: another process has it open", e.Path)
	}
	return fmt.Sprintf("%s: process %d has it open", e.Path, e.PID)
}

// A claim is the right to use a store's file. It is a lock on a file beside it,
// which the system takes back when the process ends, however it ends. In that file
// is a note for whoever comes next.
type claim struct {
	lock *flock.Flock
	file *os.File
	note note
}

// A note says who uses a store, and what has to be true of the file afterwards.
type note struct {
	PID int `json:"pid"`
	// Acknowledged is the key of an event that is on disk, 0 if the store was
	// closed. It is how a log file is missed that somebody took away or cut short.
	Acknowledged int64 `json:"acknowledged"`
	// Suspect says that the file must be checked.
	Suspect bool `json:"suspect"`
}

// noteSize is what every note is padded to, so that one replaces another.
const noteSize = 96

// stakeClaim locks the store at path. The claim's note is that of the last owner,
// but for its process.
func stakeClaim(path string) (*claim, error) {
	name := path + ".lock"
	c := &claim{lock: flock.New(name)}
	locked, err := c.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if c.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), c.lock.Unlock())
	}
	c.read()
	if !locked {
		return nil, errors.Join(&LockedError{c.note.PID, path}, c.file.Close())
	}
	c.note.PID = os.Getpid()
	if err := c.write(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// read takes what the file says. One that cannot be read says nothing.
func (c *claim) read() {
	data := make([]byte, noteSize)
	n, _ := c.file.ReadAt(data, 0)
	if json.Unmarshal(data[:n], &c.note) != nil {
		c.note = note{}
	}
}

func (c *claim) write() error {
	data, err := json.Marshal(c.note)
	if err == nil {
		_, err = c.file.WriteAt(fmt.Appendf(nil, "%-*s\n", noteSize-1, data), 0)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// acknowledge notes that the event with this key is on disk.
func (c *claim) acknowledge(key int64) error {
	c.note.Acknowledged = key
	return c.write()
}

// settle notes that the file was closed, or set aside.
func (c *claim) settle() error {
	c.note.Acknowledged, c.note.Suspect = 0, false
	return c.write()
}

// suspect notes that the file was closed and must be checked.
func (c *claim) suspect() error {
	c.note.Acknowledged, c.note.Suspect = 0, true
	return c.write()
}

func (c *claim) release() error { return errors.Join(c.file.Close(), c.lock.Unlock()) }
