package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Query chooses events of all sessions. A zero field does not restrict.
type Query struct {
	// Text is what messages, tool calls, tool results and errors must contain: all
	// its words, in any case and order; a part in double quotes as it stands; a word
	// that ends in a star as the beginning of one. The first 64 KiB of an event can
	// be found.
	Text string
	// Session, Run, Agent, Tool and Kind are exact.
	Session, Run, Agent, Tool string
	Kind                      troupe.Kind
	// Class is a class of failure. A run that failed has [troupe.ClassFailed].
	Class troupe.Class
	// Errors leaves only what failed, whatever its class.
	Errors bool
	// Since is the earliest time of an event, and Until the one it must be before.
	Since, Until time.Time
	// Before is the Number of a hit, to go on after it.
	Before int64
	// Limit is the most hits.
	Limit int
}

// A Hit is an event that a query chose.
type Hit struct {
	// Number orders the events of all sessions as they were stored.
	Number int64
	// Event has no body where Err is set.
	Event troupe.Event
	// Err says that the stored event cannot be decoded.
	Err error
}

// Search yields the events that a query chooses, the latest first. Events that
// are stored meanwhile are not among them.
func (s *Store) Search(ctx context.Context, query Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		if err := s.search(ctx, &query, yield); err != nil {
			yield(Hit{}, fmt.Errorf("search: %w", s.readError(ctx, err)))
		}
	}
}

func (s *Store) search(ctx context.Context, q *Query, yield func(Hit, error) bool) error {
	statement, values, err := q.compile()
	if err != nil {
		return err
	}
	if q.Text != "" {
		if err := s.catchUp(ctx); err != nil {
			return err
		}
	}
	before, left := q.Before, q.Limit
	if before <= 0 {
		before = math.MaxInt64
	}
	if left <= 0 {
		left = math.MaxInt
	}
	for left > 0 {
		n := min(left, pageEvents)
		keys, err := s.keys(ctx, statement, append(values, before, n)...)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if wanted, err := s.show(ctx, key, yield); err != nil || !wanted {
				return err
			}
		}
		if len(keys) < n {
			return nil
		}
		left -= n
		before = keys[n-1]
	}
	return nil
}

// compile makes a statement that yields keys, and the values for it but for the
// last two: the key to begin before, and how many.
func (q *Query) compile() (statement string, values []any, err error) {
	from, key := "events e", "e.key"
	var where conditions
	if q.Text != "" {
		expression, err := matchExpression(q.Text)
		if err != nil {
			return "", nil, err
		}
		// The words come first: CROSS JOIN keeps the order of the tables.
		from, key = "texts CROSS JOIN events e ON e.key = texts.rowid", "texts.rowid"
		where.add("texts MATCH ?", expression)
	}
	if q.Session != "" {
		where.add("e.session = (SELECT number FROM sessions WHERE id = ?)", q.Session)
	}
	where.equal("e.run", q.Run)
	where.equal("e.agent", q.Agent)
	where.equal("e.tool", q.Tool)
	where.equal("e.kind", string(q.Kind))
	where.equal("e.class", string(q.Class))
	if q.Errors {
		where.add("e.class IS NOT NULL")
	}
	if !q.Since.IsZero() {
		// A key is not less than its event's time: here the search can end.
		since := nanoseconds(q.Since)
		where.add(key+" >= ? AND e.time >= ?", since, since)
	}
	if !q.Until.IsZero() {
		where.add("e.time < ?", nanoseconds(q.Until))
	}
	where.add(key + " < ?")
	return "SELECT " + key + " FROM " + from + where.text() + " ORDER BY " + key + " DESC LIMIT ?", where.values, nil
}

func (s *Store) keys(ctx context.Context, statement string, values ...any) ([]int64, error) {
	rows, err := s.readers.QueryContext(ctx, statement, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var keys []int64
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

// show yields an event, unless it was deleted meanwhile.
func (s *Store) show(ctx context.Context, key int64, yield func(Hit, error) bool) (wanted bool, err error) {
	hit := Hit{Number: key}
	e := stored{key: key}
	var when int64
	err = s.readers.QueryRowContext(ctx, "SELECT s.id, e.seq, e.time, e.run, e.agent, c.event FROM contents c "+
		"JOIN events e ON e.key = c.key JOIN sessions s ON s.number = e.session WHERE c.key = ?", key).
		Scan(&hit.Event.Session, &hit.Event.Seq, &when, &hit.Event.Run, &hit.Event.Agent, &e.content)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	hit.Event.Time = time.Unix(0, when).UTC()
	if event, err := e.decode(); err != nil {
		hit.Err = err
	} else {
		hit.Event = event
	}
	return yield(hit, nil), nil
}
