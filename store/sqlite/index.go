package sqlite

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/store"
)

const (
	// indexDelay lets events gather before they are indexed: together they cost less.
	indexDelay = 100 * time.Millisecond
	// indexPause is how many times as long as indexing some events took the indexer
	// leaves the writer to others, if there are any.
	indexPause = 10
	// indexEvents and pageBytes bound what is indexed at a time, and so for how long
	// others wait. Where nothing is stored meanwhile, it is more.
	indexEvents, indexIdle = 32, 512
	// maxBacklog is how many events a search has indexed first. It looks through more
	// than that as they are, which is slower than the index and faster than to make it.
	maxBacklog = 1000
)

// allIndexed is the key up to which events are indexed when there are no others.
const allIndexed = math.MaxInt64

// indexInBackground indexes what is stored until ctx is done. An error ends it
// until more is stored; a search that needs the index meets the error itself.
func (s *Store) indexInBackground(ctx context.Context) {
	some := indexEvents
	for {
		var upto int64
		for upto != allIndexed {
			before, began := s.writer.appends.Load(), time.Now()
			var err error
			if upto, err = s.indexSome(ctx, some); err != nil {
				break
			}
			if some = indexIdle; s.writer.appends.Load() != before {
				some = indexEvents
				wait(ctx, indexPause*time.Since(began))
			}
		}
		select {
		case <-s.writer.stored:
			wait(ctx, indexDelay)
		case <-ctx.Done():
			return
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// catchUp returns when all that is stored now is indexed, if it is not too much.
func (s *Store) catchUp(ctx context.Context) error {
	upto, newest, err := s.marks(ctx)
	if err != nil || upto >= newest {
		return err
	}
	var backlog int
	err = s.read(ctx, func(db *sql.DB) error {
		const text = "SELECT count(*) FROM (SELECT 1 FROM events WHERE key > ? LIMIT ?)"
		return db.QueryRowContext(ctx, text, upto, maxBacklog+1).Scan(&backlog)
	})
	if backlog > maxBacklog {
		return err
	}
	for err == nil && upto < newest {
		upto, err = s.indexSome(ctx, indexEvents)
	}
	return err
}

// indexSome indexes a few events more and returns up to which key all are indexed.
func (s *Store) indexSome(ctx context.Context, some int) (upto int64, err error) {
	err = s.writer.writeLoosely(ctx, func(w *writer) (err error) {
		upto, err = w.index(some)
		return err
	})
	return upto, err
}

// index adds the words of some events to the index. An event that is damaged has
// none.
func (w *writer) index(some int) (upto int64, err error) {
	if err := w.get("SELECT upto FROM indexed", nil, &upto); err != nil {
		return 0, err
	}
	events, err := w.unindexed(upto, some)
	if err != nil || len(events) == 0 {
		return allIndexed, err
	}
	for _, e := range events {
		event, err := e.decode()
		if err != nil {
			continue
		}
		if text := store.Text(event.Body); text != "" {
			if _, err := w.exec("INSERT INTO texts (rowid, text) VALUES (?, ?)", e.key, text); err != nil {
				return 0, err
			}
		}
	}
	failpoint.Here(failpoint.StoreIndexing)
	upto = events[len(events)-1].key
	_, err = w.exec("UPDATE indexed SET upto = ?", upto)
	return upto, err
}

// unindexed returns some of the events that come after a key.
func (w *writer) unindexed(after int64, some int) ([]stored, error) {
	statement, err := w.prepare("SELECT key, event FROM contents WHERE key > ? ORDER BY key LIMIT ?")
	if err != nil {
		return nil, err
	}
	rows, err := statement.Query(after, some)
	if err != nil {
		return nil, err
	}
	return collect(rows)
}

// rebuildIndex begins the index anew, where it is damaged. What it is about is all
// there: searches complete it, or it is completed in the background.
func (w *writer) rebuildIndex() error {
	var definition string
	if err := w.get("SELECT sql FROM sqlite_schema WHERE name = 'texts'", nil, &definition); err != nil {
		return err
	}
	for _, statement := range []string{"DROP TABLE texts", definition, "UPDATE indexed SET upto = 0"} {
		if _, err := w.conn.ExecContext(context.Background(), statement); err != nil {
			return err
		}
	}
	return nil
}

// replaceIndex is rebuildIndex for an index whose tables may not even be fit to be
// dropped: then they are forgotten, and their pages given back by writing the file anew.
func (w *writer) replaceIndex(ctx context.Context) error {
	if err := w.attempt([]*job{{do: (*writer).rebuildIndex}}); err == nil {
		return nil
	}
	w.exec("ROLLBACK") // where SQLite has not done so itself
	var definition string
	if err := w.get("SELECT sql FROM sqlite_schema WHERE name = 'texts'", nil, &definition); err != nil {
		return err
	}
	for _, statement := range []string{
		"PRAGMA writable_schema = ON", "DELETE FROM sqlite_schema WHERE name = 'texts' OR tbl_name GLOB 'texts_*'", "PRAGMA writable_schema = RESET",
		"VACUUM", definition, "UPDATE indexed SET upto = 0",
	} {
		if _, err := w.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// rebuild implements access.
func (s *Store) rebuild(ctx context.Context) error {
	return s.writer.write(ctx, 0, (*writer).rebuildIndex)
}
