package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A writer makes all changes to the file, one transaction at a time.
type writer struct {
	path  string
	db    *sql.DB
	conn  *sql.Conn
	claim *claim
	jobs  chan *job
	stop  chan struct{}
	owner *owner
	// foreign counts how often another process was seen to have changed the file.
	foreign atomic.Int64
	// stored says that events came in since it was last heard.
	stored chan struct{}
	counters
	// broken is set once the file or the disk is not to be trusted.
	broken atomic.Pointer[error]
	// trouble is why the last write came to nothing, until one can be done again, and
	// stopped is closed when the store is broken and its file is not damaged.
	trouble atomic.Pointer[error]
	stopped chan struct{}

	// What follows belongs to the writer's goroutine.
	prepared map[string]*sql.Stmt
	lastKey  int64 // the greatest that was ever given
	newest   int64 // that of the newest event that is there
	atHand   map[string]session
	version  int64 // of the data, which other processes' changes change
	loose    bool  // commits do not wait for the disk
	heeded   int64 // how many changes of others there were when it was last seen what they ask for
	renewed  time.Time
	tried    time.Time // when it was last tried whether something can be written
}

// A job is one change. It may be done again, after a transaction that came to
// nothing.
type job struct {
	do     func(*writer) error
	events int  // how many it stores
	loose  bool // it may be undone by a loss of power
	err    error
	done   chan struct{}
}

// maxBatch is how many jobs share a transaction.
const maxBatch = 256

func newWriter(ctx context.Context, path string, c *claim, o *owner) (*writer, error) {
	db, conn, err := connectTo(ctx, path, forWriting)
	if err != nil {
		return nil, err
	}
	w := &writer{
		path: path, db: db, conn: conn, claim: c, owner: o, jobs: make(chan *job), stop: make(chan struct{}), stored: make(chan struct{}, 1), stopped: make(chan struct{}),
		prepared: map[string]*sql.Stmt{}, atHand: map[string]session{},
	}
	if err := w.begin(ctx, path); err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	return w, nil
}

// begin brings the file up to date and makes sure that it can be written to.
func (w *writer) begin(ctx context.Context, path string) error {
	version, err := checkSchema(ctx, w.conn, path)
	if err != nil {
		return err
	}
	if err := migrate(ctx, w.conn, version); err != nil {
		return err
	}
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback()
	if w.claim.first { // whoever had sessions is gone
		for _, table := range []string{"leases", "requests", "live"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				return explain(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return explain(err)
	}
	if w.claim.first && w.claim.note.Suspect {
		if err := w.writeAnew(ctx); err != nil {
			return err
		}
	}
	w.lastKey = w.claim.note.Given
	if w.claim.rebuild {
		if err := w.replaceIndex(ctx); err != nil {
			return explain(err)
		}
	}
	return w.refresh()
}

// writeAnew writes into the database what is in the log file of a store that had stopped,
// and begins the log file anew: of what is in there, the system may take for written what
// is not on disk, and what follows it would be lost with it.
func (w *writer) writeAnew(ctx context.Context) error {
	moved, err := w.checkpoint(ctx)
	if err == nil && !moved {
		err = errors.New("the log file of a store that had stopped cannot be written anew: another process reads it")
	}
	return err
}

// refresh learns what other processes have changed. What they change meanwhile is another
// change.
func (w *writer) refresh() error {
	var version, given int64
	if err := w.get("PRAGMA data_version", nil, &version); err != nil {
		return err
	}
	clear(w.atHand)
	err := w.get("SELECT coalesce(max(key), 0), (SELECT max(upto, given) FROM indexed) FROM events", nil, &w.newest, &given)
	if err != nil {
		return err
	}
	w.lastKey = max(w.lastKey, w.newest, given)
	err = w.owner.refresh(w)
	if err == nil {
		w.version = version
	}
	return err
}

// look reports whether another process has changed the file since the last refresh.
func (w *writer) look() (changed bool, err error) {
	var version int64
	err = w.get("PRAGMA data_version", nil, &version)
	return version != w.version, err
}

// tickPause is how often the writer looks for what other processes want.
const tickPause = 100 * time.Millisecond

// tryPause is how often a store that could not write tries whether it can.
const tryPause = time.Second

// tryAgain ends the trouble if something can be written: a page, to the disk.
func (w *writer) tryAgain() {
	w.tried = time.Now()
	probe := &job{do: func(w *writer) error {
		_, err := w.exec("UPDATE indexed SET upto = upto")
		return err
	}}
	if w.transact([]*job{probe}) == nil {
		w.trouble.Store(nil)
	}
}

// tick does what has to be done from time to time: it notices what other processes
// have changed, passes on what they ask for, and keeps leases alive. What fails is
// tried again at the next tick.
func (w *writer) tick() {
	if w.broken.Load() != nil {
		return
	}
	if w.trouble.Load() != nil && time.Since(w.tried) > tryPause {
		w.tryAgain()
	}
	changed, err := w.look()
	if err == nil && changed {
		if err = w.refresh(); err == nil {
			w.foreign.Add(1)
		}
	}
	if err != nil || !w.owner.hasLeases() {
		return
	}
	// A change may have been noticed by a job that came before.
	if seen := w.foreign.Load(); seen != w.heeded {
		take := &job{do: (*writer).takeRequests, loose: true}
		if w.perform([]*job{take}); take.err == nil {
			w.heeded = seen
		}
	}
	if time.Since(w.renewed) > w.owner.lease/3 {
		w.renewed = time.Now()
		w.perform([]*job{{do: (*writer).renew, loose: true}})
	}
}

// write has the writer do a job and returns when that is on disk, or refused. Once
// the writer has the job, ctx no longer matters: half a job is not done.
func (w *writer) write(ctx context.Context, events int, do func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.hand(ctx, &job{do: do, events: events, done: make(chan struct{})})
}

// writeLoosely is write for what may be undone by a loss of power, after which nobody
// needs it.
func (w *writer) writeLoosely(ctx context.Context, do func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.hand(ctx, &job{do: do, loose: true, done: make(chan struct{})})
}

func (w *writer) hand(ctx context.Context, j *job) error {
	select {
	case w.jobs <- j:
	case <-w.stop:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	<-j.done
	return j.err
}

// run does jobs until the writer is told to stop.
func (w *writer) run() {
	batch := make([]*job, 0, maxBatch)
	ticks := time.NewTicker(tickPause)
	defer ticks.Stop()
	for {
		select {
		case j := <-w.jobs:
			batch = w.gather(append(batch[:0], j))
		case <-ticks.C:
			w.tick()
			continue
		case <-w.stop:
			return
		}
		w.perform(batch)
		for _, j := range batch {
			close(j.done)
		}
	}
}

// gather adds the jobs that are waiting.
func (w *writer) gather(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// perform does jobs in one transaction, or each in its own if they are in each
// other's way.
func (w *writer) perform(batch []*job) {
	err := w.transact(batch)
	if isIndexDamage(err) {
		if err = w.transact([]*job{{do: (*writer).rebuildIndex}}); err == nil {
			err = w.transact(batch)
		}
	}
	if err != nil && len(batch) > 1 && w.broken.Load() == nil {
		for i := range batch {
			w.perform(batch[i : i+1])
		}
		return
	}
	if err != nil {
		for _, j := range batch {
			j.err = err
		}
		return
	}
	if w.counters.note(batch) {
		select {
		case w.stored <- struct{}{}:
		default:
		}
	}
}

// transact does jobs in a transaction. If it fails, none of them is done.
func (w *writer) transact(batch []*job) error {
	if broken := w.broken.Load(); broken != nil {
		return *broken
	}
	newest := w.newest
	if err := w.attempt(batch); err != nil {
		w.exec("ROLLBACK") // where SQLite has not done so itself
		w.newest = newest
		clear(w.atHand)
		return w.judge(err)
	}
	failpoint.Here(failpoint.StoreAfterCommit)
	// A note that stays behind says less, and nothing wrong.
	w.claim.acknowledge(w.newest, w.lastKey)
	failpoint.Here(failpoint.StoreBeforeAcknowledging)
	return nil
}

func (w *writer) attempt(batch []*job) error {
	if err := w.synchronize(!slices.ContainsFunc(batch, func(j *job) bool { return !j.loose })); err != nil {
		return err
	}
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if changed, err := w.look(); err != nil {
		return err
	} else if changed {
		if err := w.refresh(); err != nil {
			return err
		}
		w.foreign.Add(1)
	}
	for _, j := range batch {
		if j.err = j.do(w); j.err != nil && !isRefusal(j.err) {
			return j.err
		}
	}
	failpoint.Here(failpoint.StoreBeforeCommit)
	_, err := w.exec("COMMIT")
	return err
}

// synchronize has commits wait for the disk, or not.
func (w *writer) synchronize(loose bool) error {
	if loose == w.loose {
		return nil
	}
	level := "FULL"
	if loose {
		level = "NORMAL"
	}
	if _, err := w.conn.ExecContext(context.Background(), "PRAGMA synchronous = "+level); err != nil {
		return err
	}
	w.loose = loose
	return nil
}

// judge decides whether the store can go on after an error.
func (w *writer) judge(err error) error {
	err = explain(err)
	switch {
	case isFatal(err):
		isDamaged := isDamage(err)
		err = fmt.Errorf("%w: %w", ErrStopped, err)
		w.broken.Store(&err)
		w.claim.note.Suspect = true
		w.claim.write() // else it is noted on closing
		if !isDamaged {
			close(w.stopped)
		}
	case isTrouble(err):
		w.trouble.Store(&err)
	}
	return err
}

// exec runs a statement, which is prepared once.
func (w *writer) exec(query string, args ...any) (sql.Result, error) {
	statement, err := w.prepare(query)
	if err != nil {
		return nil, err
	}
	return statement.Exec(args...)
}

// get reads one row into targets.
func (w *writer) get(query string, args []any, targets ...any) error {
	statement, err := w.prepare(query)
	if err != nil {
		return err
	}
	return statement.QueryRow(args...).Scan(targets...)
}

func (w *writer) prepare(query string) (*sql.Stmt, error) {
	if statement := w.prepared[query]; statement != nil {
		return statement, nil
	}
	statement, err := w.conn.PrepareContext(context.Background(), query)
	if err == nil {
		w.prepared[query] = statement
	}
	return statement, err
}

// close gives up the connection. The last process to do so moves the log file's
// content into the database. Where a reader is in the way, the log file stays, and the
// note says what is in it.
func (w *writer) close(ctx context.Context) error {
	w.perform([]*job{{do: (*writer).releaseAll, loose: true}})
	last, err := w.claim.isLast()
	moved := false
	if last && err == nil {
		failpoint.Here(failpoint.StoreBeforeCheckpoint)
		moved, err = w.checkpoint(ctx)
		failpoint.Here(failpoint.StoreAfterCheckpoint)
	}
	switch {
	case err != nil || w.broken.Load() != nil:
		err = errors.Join(err, w.claim.suspect())
	case moved:
		err = w.claim.settle()
	}
	for _, statement := range w.prepared {
		err = errors.Join(err, statement.Close())
	}
	return errors.Join(err, w.conn.Close(), w.db.Close())
}

func (w *writer) checkpoint(ctx context.Context) (moved bool, err error) {
	if w.broken.Load() != nil {
		return false, nil
	}
	var busy, pages, copied int
	err = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	if err != nil {
		return false, fmt.Errorf("close store: checkpoint: %w", explain(err))
	}
	return busy == 0, nil
}
