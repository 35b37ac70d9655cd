package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/troupe-dev/troupe/store"
)

// Scan implements [store.Log].
func (r *Reader) Scan(ctx context.Context, after, upto int64) iter.Seq2[*store.Page, error] {
	return func(yield func(*store.Page, error) bool) {
		for {
			page, err := r.scanned(ctx, after, upto)
			if err != nil {
				yield(nil, fmt.Errorf("scan: %w", r.readError(ctx, err)))
				return
			}
			if page.Len() == 0 {
				return
			}
			after = page.Upto // whoever has the page may release it
			if !yield(page, nil) {
				return
			}
		}
	}
}

// scanned reads what fills a page. The connection is free again before anybody looks at it.
func (r *Reader) scanned(ctx context.Context, after, upto int64) (page *store.Page, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		page = store.NewPage()
		return conn.Raw(func(conn any) error { return fillPage(ctx, page, conn.(driver.QueryerContext), after, upto) })
	})
	return page, err
}

// fillPage asks the driver itself: package database/sql takes as long for a row as SQLite does.
func fillPage(ctx context.Context, page *store.Page, conn driver.QueryerContext, after, upto int64) (err error) {
	rows, err := conn.QueryContext(ctx, "SELECT key, event FROM contents WHERE key > ? AND key <= ? ORDER BY key",
		[]driver.NamedValue{{Ordinal: 1, Value: after}, {Ordinal: 2, Value: upto}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for row := make([]driver.Value, 2); !page.IsFull(); {
		if err := rows.Next(row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		key, isKey := row[0].(int64)
		event, isText := row[1].(string)
		if !isKey || !isText {
			return fmt.Errorf("an event is stored as %T and %T", row[0], row[1])
		}
		page.Add(key, event)
	}
	return nil
}

// Forks implements [store.Log].
func (r *Reader) Forks(ctx context.Context, after, upto int64) (forks map[string]int64, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		forks = map[string]int64{}
		// A plus keeps SQLite from going over all events between the two, which it takes for few.
		rows, err := db.QueryContext(ctx, "SELECT s.id, max(e.seq) FROM events e JOIN sessions s ON s.number = e.session "+
			"WHERE +e.key > ? AND +e.key <= ? AND e.kind = 'session_forked' GROUP BY s.id", after, upto)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var seq int64
			if err := rows.Scan(&id, &seq); err != nil {
				return err
			}
			forks[id] = seq
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("look for forks: %w", r.readError(ctx, err))
	}
	return forks, nil
}

// Count implements [store.Log].
func (r *Reader) Count(ctx context.Context, after, upto int64) (n int64, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT count(*) FROM events WHERE key > ? AND key <= ?", after, upto).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count events: %w", r.readError(ctx, err))
	}
	return n, nil
}
