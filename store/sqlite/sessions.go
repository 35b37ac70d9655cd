package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// stamp is the layout of times in texts that sort.
const stamp = "2006-01-02T15:04:05.000000000Z"

// summary names the columns that make a session's summary.
const summary = "number, id, user, agent, title, status, started, updated, events"

// standing is the status of a session, given the greatest key that is not of the
// file's present owner. One that still runs is interrupted if its last event is
// not the owner's either.
const standing = "CASE WHEN status = 'running' AND " +
	"(SELECT e.key FROM events e WHERE e.session = sessions.number AND e.seq = sessions.events) <= %d THEN 'interrupted' ELSE status END"

// scanSummary reads the columns of summary. A time that is damaged is zero, and
// keeps nobody from listing the session.
func scanSummary(scan func(...any) error) (number int64, info troupe.SessionInfo, err error) {
	var started, updated string
	if err := scan(&number, &info.ID, &info.User, &info.Agent, &info.Title, &info.Status, &started, &updated, &info.Events); err != nil {
		return 0, info, err
	}
	info.Started, _ = time.Parse(stamp, started)
	info.Updated, _ = time.Parse(stamp, updated)
	return number, info, nil
}

// A session is what the writer has to know of one to add to it. One that is not
// stored yet has the number 0.
type session struct {
	number int64
	info   troupe.SessionInfo
}

// maxAtHand is how many sessions the writer keeps at hand.
const maxAtHand = 4096

// session returns a session as it is in the transaction under way.
func (w *writer) session(id string) (s session, err error) {
	if s, known := w.atHand[id]; known {
		return s, nil
	}
	s.number, s.info, err = scanSummary(func(targets ...any) error {
		return w.get("SELECT "+summary+" FROM sessions WHERE id = ?", []any{id}, targets...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return session{}, nil
	}
	return s, err
}

// save writes a session's summary, and gives the session a number if it has none.
func (w *writer) save(id string, s *session) error {
	info := &s.info
	updated := info.Updated.UTC().Format(stamp)
	if s.number != 0 {
		_, err := w.exec("UPDATE sessions SET agent = ?, title = ?, status = ?, updated = ?, events = ? WHERE number = ?",
			info.Agent, info.Title, string(info.Status), updated, info.Events, s.number)
		return err
	}
	result, err := w.exec("INSERT INTO sessions (id, user, agent, title, status, started, updated, events) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		id, info.User, info.Agent, info.Title, string(info.Status), info.Started.UTC().Format(stamp), updated, info.Events)
	if err == nil {
		s.number, err = result.LastInsertId()
	}
	return err
}

// Sessions implements [troupe.Store]. It lists the sessions as they are when it is
// ranged over. One that was left running by a process that no longer has the file
// is interrupted.
func (r *Reader) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	return func(yield func(troupe.SessionInfo, error) bool) {
		found, err := r.list(ctx, match)
		for _, info := range found {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(info, nil) {
				return
			}
		}
		if err != nil {
			yield(troupe.SessionInfo{}, fmt.Errorf("list sessions: %w", r.readError(ctx, err)))
		}
	}
}

func (r *Reader) list(ctx context.Context, match troupe.SessionFilter) ([]troupe.SessionInfo, error) {
	before, err := r.file.foundByOwner()
	if err != nil {
		return nil, err
	}
	found, err := r.summaries(ctx, match, fmt.Sprintf(standing, before))
	if isDamage(err) { // of the events, perhaps, and not of the sessions
		return r.summaries(ctx, match, "status")
	}
	return found, err
}

func (r *Reader) summaries(ctx context.Context, match troupe.SessionFilter, status string) (found []troupe.SessionInfo, err error) {
	var where conditions
	where.equal("id", match.ID)
	where.equal("user", match.User)
	where.equal("agent", match.Agent)
	where.equal(status, string(match.Status))
	if !match.Since.IsZero() {
		where.add("updated >= ?", match.Since.UTC().Format(stamp))
	}
	limit := -1
	if match.Limit > 0 {
		limit = match.Limit
	}
	statement := "SELECT " + strings.Replace(summary, "status", status, 1) + " FROM sessions" + where.text() + " ORDER BY updated DESC, id LIMIT ?"
	err = r.file.read(ctx, func(db *sql.DB) error {
		found = nil
		rows, err := db.QueryContext(ctx, statement, append(where.values, limit)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			_, info, err := scanSummary(rows.Scan)
			if err != nil {
				return err
			}
			found = append(found, info)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Delete implements [troupe.Store]. The space is used again for later events.
func (s *Store) Delete(ctx context.Context, session string) error {
	err := s.writer.write(ctx, 0, func(w *writer) error { return w.delete(session) })
	if err != nil {
		return fmt.Errorf("delete session %s: %w", session, err)
	}
	return nil
}

func (w *writer) delete(id string) error {
	s, err := w.session(id)
	if err != nil {
		return err
	}
	if s.number == 0 {
		return troupe.ErrNotFound
	}
	delete(w.atHand, id)
	for _, query := range []string{
		"DELETE FROM texts WHERE rowid IN (SELECT key FROM events WHERE session = ?)",
		"DELETE FROM contents WHERE key IN (SELECT key FROM events WHERE session = ?)",
		"DELETE FROM events WHERE session = ?",
		"DELETE FROM sessions WHERE number = ?",
	} {
		if _, err := w.exec(query, s.number); err != nil {
			return err
		}
	}
	if err := w.get("SELECT coalesce(max(key), 0) FROM events", nil, &w.newest); err != nil {
		return err
	}
	// Whoever opens the file next must not miss what this takes away.
	return w.claim.acknowledge(min(w.newest, w.claim.note.Acknowledged), w.lastKey)
}
