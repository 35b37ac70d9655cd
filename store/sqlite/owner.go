package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe"
)

const (
	// ownerSuffix and a name are those of the file that a process which has the store
	// open keeps locked.
	ownerSuffix = ".owner-"
	// defaultLease is how long a process that does not answer keeps its sessions.
	defaultLease = 15 * time.Second
)

// An owner is this process, as one of those that have the store open, with the
// sessions it has. That it lives shows in a lock which the system takes back when the
// process ends.
type owner struct {
	name  string
	lock  *flock.Flock
	lease time.Duration

	mu     sync.Mutex
	leases map[string]*lease
	looked map[string]*glance // at sessions that others have
}

// newOwner makes this process one of a store's owners. The first one removes what
// those before have left behind.
func newOwner(path string, first bool, silence time.Duration) (*owner, error) {
	if first {
		if err := removeOwners(path); err != nil {
			return nil, err
		}
	}
	o := &owner{name: rand.Text(), lease: cmp.Or(silence, defaultLease), leases: map[string]*lease{}, looked: map[string]*glance{}}
	o.lock = flock.New(path+ownerSuffix+o.name, flock.SetPermissions(0o600))
	if locked, err := o.lock.TryLock(); err != nil || !locked {
		return nil, fmt.Errorf("lock: %s: %w", o.lock.Path(), cmp.Or(err, fs.ErrExist))
	}
	return o, nil
}

// removeOwners removes the files of processes that have ended.
func removeOwners(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+ownerSuffix) {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

func (o *owner) close() error { return errors.Join(os.Remove(o.lock.Path()), o.lock.Unlock()) }

// about is what others are told of this process.
func about(since time.Time) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	data, err := json.Marshal(troupe.Owner{Host: host, PID: os.Getpid(), Since: since.UTC()})
	return string(data), err
}

// ownerFrom reads what about wrote. What is damaged names nobody in particular.
func ownerFrom(about string) (o troupe.Owner) {
	if json.Unmarshal([]byte(about), &o) != nil {
		return troupe.Owner{Host: "an unknown host"}
	}
	return o
}

// hasEnded reports whether the process with this name has.
func hasEnded(path, name string) bool {
	lock := flock.New(path+ownerSuffix+filepath.Base(name), flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if free {
		lock.Unlock()
	}
	return free || errors.Is(err, fs.ErrNotExist)
}

// lostOwners returns the names of owners that have ended and still have sessions.
func (r *Reader) lostOwners(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := r.prepared.query(ctx, db, "SELECT DISTINCT owner FROM leases")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var lost []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", err
		}
		if name != r.self && hasEnded(r.path, name) {
			lost = append(lost, name)
		}
	}
	return strings.Join(lost, " "), rows.Err()
}

func (o *owner) hasLeases() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.leases) > 0
}

// leaseOn returns the lease that this process has on a session, nil if it has none.
func (o *owner) leaseOn(session string) *lease {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leases[session]
}

// refresh ends the leases that others have taken over.
func (o *owner) refresh(w *writer) error {
	if !o.hasLeases() {
		return nil
	}
	statement, err := w.prepare("SELECT epoch FROM leases WHERE owner = ?")
	if err != nil {
		return err
	}
	rows, err := statement.Query(o.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	held := map[int64]bool{}
	for rows.Next() {
		var epoch int64
		if err := rows.Scan(&epoch); err != nil {
			return err
		}
		held[epoch] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for session, l := range o.leases {
		if !held[l.epoch] {
			o.end(session)
		}
	}
	return nil
}

// forget ends the lease on a session that is no more.
func (o *owner) forget(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(session)
}

// end makes a lease one that is over; o.mu is held.
func (o *owner) end(session string) {
	if l := o.leases[session]; l != nil {
		delete(o.leases, session)
		close(l.requests)
	}
}
