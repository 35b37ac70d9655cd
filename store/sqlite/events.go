package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/troupe-dev/troupe"
)

// Events implements [troupe.Store]. It yields the session's events as they were
// when the iteration began. An event that is damaged ends it with an error, and
// concerns no other session.
func (r *Reader) Events(ctx context.Context, session string, after int64) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		if err := r.each(ctx, session, max(after, 0), yield); err != nil {
			yield(troupe.Event{}, fmt.Errorf("session %s: %w", session, r.readError(ctx, err)))
		}
	}
}

// each yields events page by page until there are no more or nobody wants them.
func (r *Reader) each(ctx context.Context, session string, after int64, yield func(troupe.Event, error) bool) error {
	var number, last int64
	err := r.file.read(ctx, func(db *sql.DB) error {
		return r.prepared.get(ctx, db, "SELECT number, events FROM sessions WHERE id = ?", []any{session}, &number, &last)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return troupe.ErrNotFound
	}
	if err != nil {
		return err
	}
	for after < last {
		page, err := r.page(ctx, number, after, last)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return r.absence(ctx, number, after+1)
		}
		for _, stored := range page {
			if err := ctx.Err(); err != nil {
				return err
			}
			event, err := stored.decode()
			if err == nil && event.Seq != after+1 {
				err = fmt.Errorf("it says it is event %d", event.Seq)
			}
			if err != nil {
				return fmt.Errorf("event %d is missing or damaged: %w", after+1, err)
			}
			if !yield(event, nil) {
				return nil
			}
			after++
		}
	}
	return nil
}

// A stored event is not decoded yet.
type stored struct {
	key     int64
	content string
}

func (s *stored) decode() (e troupe.Event, err error) {
	err = e.UnmarshalJSON([]byte(s.content))
	return e, err
}

// A page has at most pageEvents events, and ends with the one that fills pageBytes.
const (
	pageEvents = 256
	pageBytes  = 1 << 20
)

// page reads the events that follow a number. The connection is free again before
// anybody looks at them.
func (r *Reader) page(ctx context.Context, session, after, last int64) (page []stored, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		rows, err := r.prepared.query(ctx, db, "SELECT e.key, c.event FROM events e JOIN contents c ON c.key = e.key "+
			"WHERE e.session = ? AND e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?", session, after, last, pageEvents)
		if err != nil {
			return err
		}
		page, err = collect(rows)
		return err
	})
	return page, err
}

// collect reads rows of a key and an event, until they fill a page.
func collect(rows *sql.Rows) ([]stored, error) {
	defer rows.Close()
	var page []stored
	for size := 0; size < pageBytes && rows.Next(); {
		var e stored
		if err := rows.Scan(&e.key, &e.content); err != nil {
			return nil, err
		}
		page = append(page, e)
		size += len(e.content)
	}
	return page, rows.Err()
}

// absence says why an event is not there that was there a moment ago.
func (r *Reader) absence(ctx context.Context, session, seq int64) error {
	var n int
	err := r.file.read(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT 1 FROM sessions WHERE number = ?", session).Scan(&n)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return troupe.ErrNotFound
	case err != nil:
		return err
	}
	return fmt.Errorf("event %d is missing", seq)
}
