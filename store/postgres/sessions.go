package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// conditions are what rows have to meet, with the values they name.
type conditions struct {
	terms  []string
	values []any
}

// value names a value in a statement.
func (c *conditions) value(v any) string {
	c.values = append(c.values, v)
	return fmt.Sprintf("$%d", len(c.values))
}

func (c *conditions) add(format string, values ...any) {
	names := make([]any, len(values))
	for i, v := range values {
		names[i] = c.value(v)
	}
	c.terms = append(c.terms, fmt.Sprintf(format, names...))
}

// equal restricts a column to a value that is not empty.
func (c *conditions) equal(column, value string) {
	if value != "" {
		c.add(column+" = %s", clean(value))
	}
}

func (c *conditions) text() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}

// isAlive is the condition under which an owner keeps its sessions. While the database
// was down nobody could be heard of, so that a lease lasts from when it was up again.
const isAlive = "(o.until > clock_timestamp() OR pg_postmaster_start_time() + o.lease > clock_timestamp())"

// withOwner joins sessions with who has them.
const withOwner = "sessions LEFT JOIN owners o ON o.name = sessions.owner AND " + isAlive

// waits is the condition under which a worker is to go on with a session's run.
const waits = "EXISTS (SELECT 1 FROM jobs WHERE jobs.session = sessions.id)"

// listPage is how many sessions are read at a time.
const listPage = 500

// firstPage is how many sessions are read first. Most callers want no more.
const firstPage = 100

// Sessions implements [troupe.Store]. It lists the sessions as they are while it is
// ranged over, page by page.
func (s *Store) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	return func(yield func(troupe.SessionInfo, error) bool) {
		if err := s.eachSession(ctx, match, yield); err != nil {
			yield(troupe.SessionInfo{}, fmt.Errorf("list sessions: %w", err))
		}
	}
}

func (s *Store) eachSession(ctx context.Context, match troupe.SessionFilter, yield func(troupe.SessionInfo, error) bool) error {
	var last *troupe.SessionInfo
	for size, left := firstPage, match.Limit; ; size = listPage {
		if match.Limit > 0 {
			size = min(size, left)
		}
		found, err := s.list(ctx, match, last, size)
		if err != nil {
			return err
		}
		for _, info := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(info, nil) {
				return nil
			}
		}
		if left -= len(found); len(found) < size || left == 0 {
			return nil
		}
		last = &found[len(found)-1]
	}
}

// list returns the sessions that match and come after another, if that is not nil.
func (s *Store) list(ctx context.Context, match troupe.SessionFilter, after *troupe.SessionInfo, limit int) (found []troupe.SessionInfo, err error) {
	var where conditions
	where.add("events > 0")
	where.equal("id", match.ID)
	where.equal("person", match.User)
	where.equal("agent", match.Agent)
	switch match.Status {
	case "running":
		where.add("status = 'running' AND (o.name IS NOT NULL OR " + waits + ")")
	case "interrupted":
		where.add("status = 'running' AND o.name IS NULL AND NOT " + waits)
	default:
		where.equal("status", string(match.Status))
	}
	if !match.Since.IsZero() {
		where.add("updated >= %s", store.Nanoseconds(match.Since))
	}
	if after != nil {
		updated := store.Nanoseconds(after.Updated)
		where.add("updated <= %s AND (updated < %s OR id > %s)", updated, updated, after.ID)
	}
	statement := "SELECT " + summary + ", o.name, o.host, o.pid, since, " + waits + " FROM " + withOwner + where.text() + " ORDER BY updated DESC, id LIMIT " + where.value(limit)
	err = s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, statement, where.values...)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (troupe.SessionInfo, error) {
			var h holder
			at, err := scanSession(row, &h.name, &h.host, &h.pid, &h.since, &h.waits)
			return h.standing(at.info), err
		})
		return err
	})
	return found, err
}

// Complete implements [store.Log].
func (s *Store) Complete(ctx context.Context, beginning string, limit int) (ids []string, err error) {
	err = s.retrying(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT id FROM sessions WHERE id >= $1 AND id < $2 AND events > 0 ORDER BY id LIMIT $3",
			clean(beginning), clean(beginning)+"\U0010FFFF", limit)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find sessions: %w", err)
	}
	return ids, nil
}
