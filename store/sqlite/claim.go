package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe/internal/failpoint"
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
	// Given is the greatest key that was ever given, and Found the greatest that
	// had been when the owner came.
	Given int64 `json:"given"`
	Found int64 `json:"found"`
	// Suspect says that the file must be checked.
	Suspect bool `json:"suspect"`
}

// noteSize is what every note is padded to, so that one replaces another.
const noteSize = 128

const (
	lockSuffix = ".lock"
	// lockPatience is how long an owner to be tries to get the lock. A reader who
	// asks whether there is an owner has it for some microseconds.
	lockPatience = 200 * time.Millisecond
)

// stakeClaim locks the store at path. The claim's note is that of the last owner,
// but for its process and what it found.
func stakeClaim(ctx context.Context, path string) (*claim, error) {
	name := path + lockSuffix
	c := &claim{lock: flock.New(name)}
	patience, stop := context.WithTimeout(ctx, lockPatience)
	defer stop()
	locked, err := c.lock.TryLockContext(patience, lockPatience/20)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if c.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), c.lock.Unlock())
	}
	c.note = readNote(c.file)
	if !locked {
		return nil, errors.Join(&LockedError{c.note.PID, path}, c.file.Close())
	}
	c.note.PID, c.note.Found = os.Getpid(), math.MaxInt64 // all there is, as long as nothing is added
	if err := c.write(); err != nil {
		return nil, errors.Join(err, c.release())
	}
	failpoint.Here(failpoint.StoreLocked)
	return c, nil
}

// foundByOwner returns the greatest key that had been given when the owner of the
// store at path came. If it has no owner, no key is greater than what it returns.
func foundByOwner(path string) (int64, error) {
	lock := flock.New(path+lockSuffix, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if free || errors.Is(err, fs.ErrNotExist) {
		return math.MaxInt64, lock.Unlock()
	}
	if err != nil {
		return 0, fmt.Errorf("lock: %w", err)
	}
	file, err := os.Open(lock.Path())
	if err != nil {
		return 0, fmt.Errorf("lock: %w", err)
	}
	defer file.Close()
	return readNote(file).Found, nil
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

// begin notes up to which key all were given before.
func (c *claim) begin(found int64) error {
	c.note.Found = found
	return c.write()
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
	return c.write()
}

// suspect notes that the file was closed and must be checked.
func (c *claim) suspect() error {
	c.note.Acknowledged, c.note.Suspect = 0, true
	return c.write()
}

func (c *claim) release() error { return errors.Join(c.file.Close(), c.lock.Unlock()) }
