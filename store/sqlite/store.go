package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/store"
)

// A Store keeps sessions in a file. It may be used concurrently, and so may the file,
// by several processes.
type Store struct {
	*Reader
	claim   *claim
	owner   *owner
	readers *sql.DB
	writer  *writer
	damage  *DamagedError

	stopIndexing context.CancelFunc
	background   sync.WaitGroup
}

var _ store.Log = (*Store)(nil)

// Options say how a store is opened. The zero Options are fine.
type Options struct {
	// Recover begins an empty store where the file was damaged and set aside,
	// instead of failing: see [Store.Recovered].
	Recover bool
	// Lease is how long a process that does not answer keeps the sessions that it has
	// runs in, before others may take them over: 15 seconds by default. One that has
	// ended loses them at once.
	Lease time.Duration
}

// Open opens the store in the file at path, which it creates if there is none,
// with its directory. Several processes may have it open. It fails with a
// *[DamagedError] if the file is damaged, with a *[NewerError] if a newer Troupe wrote
// it, and with a *[LockedError] if another process has not done with opening it in time.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	s, err := open(ctx, path, options)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", whyUnopened(path, err))
	}
	return s, nil
}

func open(ctx context.Context, path string, options Options) (*Store, error) {
	path, err := fileAt(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	claim, err := stakeClaim(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &Store{claim: claim}
	s.Reader = &Reader{file: s, path: path}
	if claim.first {
		s.damage, err = prepare(ctx, path, claim, options)
	}
	if err == nil {
		err = s.connect(ctx, options)
	}
	if err != nil {
		return nil, errors.Join(err, claim.release())
	}
	s.Reader.closed = s.writer.stop
	indexing, stop := context.WithCancel(context.Background())
	s.stopIndexing = stop
	s.background.Go(s.writer.run)
	s.background.Go(func() { s.indexInBackground(indexing) })
	return s, nil
}

// connect opens the file for writing and reading, and lets others do so.
func (s *Store) connect(ctx context.Context, options Options) (err error) {
	if s.owner, err = newOwner(s.path, s.claim.first, options.Lease); err != nil {
		return err
	}
	if s.writer, err = newWriter(ctx, s.path, s.claim, s.owner); err != nil {
		return errors.Join(err, s.owner.close())
	}
	if s.readers, err = sql.Open("sqlite", dataSource(s.path, forReading)); err == nil {
		err = s.claim.share()
	}
	if err != nil {
		return errors.Join(err, s.writer.close(ctx), s.owner.close())
	}
	s.readers.SetMaxOpenConns(maxReaders)
	s.readers.SetMaxIdleConns(maxReaders)
	s.Reader.self = s.owner.name
	s.Reader.prepared.keep(s.readers)
	return nil
}

// maxReaders is how many pages are read at the same time.
const maxReaders = 8

// Recovered says what was wrong with the file that Open set aside to begin an
// empty store. It is nil if nothing was.
func (s *Store) Recovered() *DamagedError { return s.damage }

// read implements access.
func (s *Store) read(_ context.Context, act func(*sql.DB) error) error { return act(s.readers) }

// close implements access. The writer has been told to stop.
func (s *Store) close() error {
	s.stopIndexing()
	s.background.Wait()
	return errors.Join(s.readers.Close(), s.writer.close(context.Background()), s.owner.close(), s.claim.release())
}
