package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A LockedError reports a store that another process is opening, or setting aside, and
// has not done with in time.
type LockedError struct {
	// PID is the process, 0 if it could not be told.
	PID  int
	Path string
}

// Error names the process.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: another process is opening it", e.Path)
	}
	return fmt.Sprintf("%s: process %d is opening it", e.Path, e.PID)
}

// A claim is the right to use a store's file, beside others. It is a lock on a file
// beside it, which the system takes back when the process ends, however it ends. Who
// comes first has it alone, and examines the store. In that file is a note for whoever
// comes when nobody has the store.
type claim struct {
	lock *flock.Flock
	file *os.File
	note note
	// first says that no other process had the store when this one came.
	first bool
	// rebuild says that the search index was found to be damaged.
	rebuild bool
}

// A note says who uses a store, and what has to be true of the file afterwards.
type note struct {
	PID int `json:"pid"`
	// Acknowledged is the key of an event that is on disk, 0 if the store was
	// closed. It is how a log file is missed that somebody took away or cut short.
	Acknowledged int64 `json:"acknowledged"`
	// Given is the greatest key that was ever given.
	Given int64 `json:"given"`
	// Suspect says that the file must be checked.
	Suspect bool `json:"suspect"`
}

// noteSize is what every note is padded to, so that one replaces another.
const noteSize = 128

const (
	lockSuffix = ".lock"
	// lockPatience is how long one who wants to use the store waits for another who
	// opens it: that one may have to look at every page.
	lockPatience = 30 * time.Second
	lockPause    = 10 * time.Millisecond
)

// stakeClaim locks the store at path: alone, if nobody has it, until settled says
// that others may come in. The claim's note is that of the last process.
func stakeClaim(ctx context.Context, path string) (*claim, error) {
	name := path + lockSuffix
	c := &claim{lock: flock.New(name)}
	locked, err := c.wait(ctx)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("lock: %w%s", err, whose(name))
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if c.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), c.lock.Unlock())
	}
	c.note = readNote(c.file)
	if !locked {
		return nil, errors.Join(&LockedError{c.note.PID, path}, c.file.Close())
	}
	c.note.PID = os.Getpid()
	if err := c.write(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	failpoint.Here(failpoint.StoreLocked)
	return c, nil
}

// wait gets the lock alone, or with those who have it once it can be shared.
func (c *claim) wait(ctx context.Context) (locked bool, err error) {
	patience, stop := context.WithTimeout(ctx, lockPatience)
	defer stop()
	for {
		if c.first, err = c.lock.TryLock(); c.first || err != nil {
			return c.first, err
		}
		if locked, err = c.lock.TryRLock(); locked || err != nil {
			return locked, err
		}
		select {
		case <-patience.Done():
			return false, ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// share lets others in.
func (c *claim) share() error {
	if !c.first {
		return nil
	}
	return c.lock.RLock() // the lock that is there becomes one that can be shared
}

// isLast gives up the lock if others have it too, and else takes it back from sharing.
func (c *claim) isLast() (bool, error) {
	if err := c.lock.Unlock(); err != nil {
		return false, err
	}
	return c.lock.TryLock()
}

// readNote returns what the file says. One that cannot be read says nothing.
func readNote(file io.ReaderAt) (n note) {
	data := make([]byte, noteSize)
	size, _ := file.ReadAt(data, 0)
	if json.Unmarshal(data[:size], &n) != nil {
		return note{}
	}
	return n
}

// write replaces the note. That somebody suspects the file stays.
func (c *claim) write() error {
	c.note.Suspect = c.note.Suspect || readNote(c.file).Suspect
	return c.overwrite()
}

func (c *claim) overwrite() error {
	data, err := json.Marshal(c.note)
	if err == nil {
		_, err = c.file.WriteAt(fmt.Appendf(nil, "%-*s\n", noteSize-1, data), 0)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// acknowledge notes that the event with this key is on disk, and up to which all
// were given.
func (c *claim) acknowledge(key, given int64) error {
	c.note.Acknowledged, c.note.Given = key, given
	return c.write()
}

// settle notes that the file was closed, or set aside.
func (c *claim) settle() error {
	c.note.Acknowledged, c.note.Suspect = 0, false
	return c.overwrite()
}

// suspect notes that the file was closed and must be checked.
func (c *claim) suspect() error {
	c.note.Acknowledged, c.note.Suspect = 0, true
	return c.write()
}

func (c *claim) release() error { return errors.Join(c.file.Close(), c.lock.Unlock()) }
