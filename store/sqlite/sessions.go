package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/troupe-dev/troupe"
)

// stamp is the layout of times in texts that sort.
const stamp = "2006-01-02T15:04:05.000000000Z"

// summary names the columns that make a session's summary.
const summary = "number, id, user, agent, title, status, started, updated, events, chain"

// scanSummary reads the columns of summary. A time that is damaged is zero, and
// keeps nobody from listing the session.
func scanSummary(scan func(...any) error, more ...any) (s session, err error) {
	var started, updated string
	info := &s.info
	columns := []any{&s.number, &info.ID, &info.User, &info.Agent, &info.Title, &info.Status, &started, &updated, &info.Events, &s.chain}
	if err := scan(append(columns, more...)...); err != nil {
		return session{}, err
	}
	info.Started, _ = time.Parse(stamp, started)
	info.Updated, _ = time.Parse(stamp, updated)
	return s, nil
}

// A session is what the writer has to know of one to add to it. One that is not
// stored yet has the number 0.
type session struct {
	number int64
	info   troupe.SessionInfo
	chain  []byte // the checksum of its last event
}

// maxAtHand is how many sessions the writer keeps at hand.
const maxAtHand = 4096

// session returns a session as it is in the transaction under way.
func (w *writer) session(id string) (s session, err error) {
	if s, known := w.atHand[id]; known {
		return s, nil
	}
	s, err = scanSummary(func(targets ...any) error {
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
		_, err := w.exec("UPDATE sessions SET agent = ?, title = ?, status = ?, updated = ?, events = ?, chain = ? WHERE number = ?",
			info.Agent, info.Title, string(info.Status), updated, info.Events, s.chain, s.number)
		return err
	}
	result, err := w.exec("INSERT INTO sessions (id, user, agent, title, status, started, updated, events, chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		id, info.User, info.Agent, info.Title, string(info.Status), info.Started.UTC().Format(stamp), updated, info.Events, s.chain)
	if err == nil {
		s.number, err = result.LastInsertId()
	}
	return err
}

// Sessions implements [troupe.Store]. It lists the sessions as they are when it is
// ranged over. One that was left running by a process that has ended, or lost it, is
// interrupted.
func (r *Reader) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	return func(yield func(troupe.SessionInfo, error) bool) {
		if err := r.eachSession(ctx, match, yield); err != nil {
			yield(troupe.SessionInfo{}, fmt.Errorf("list sessions: %w", r.readError(ctx, err)))
		}
	}
}

// firstSessions is how many sessions are read first. Most callers want no more.
const firstSessions = 100

// eachSession yields sessions: first the latest, then, if more are wanted, all others.
func (r *Reader) eachSession(ctx context.Context, match troupe.SessionFilter, yield func(troupe.SessionInfo, error) bool) error {
	if match.ID != "" {
		info, err := r.one(ctx, match.ID)
		if errors.Is(err, troupe.ErrNotFound) || err == nil && !fits(&info, &match) {
			return nil
		}
		if err == nil {
			yield(info, nil)
		}
		return err
	}
	first := match
	if first.Limit <= 0 || first.Limit > firstSessions {
		first.Limit = firstSessions
	}
	found, err := r.list(ctx, first, nil)
	if err != nil {
		return err
	}
	for n := range 2 {
		for _, info := range found {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(info, nil) {
				return nil
			}
		}
		if n == 1 || len(found) < firstSessions || match.Limit == firstSessions {
			return nil
		}
		rest := match
		if rest.Limit > 0 {
			rest.Limit -= firstSessions
		}
		if found, err = r.list(ctx, rest, &found[len(found)-1]); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether a session is one that is asked for.
func fits(info *troupe.SessionInfo, match *troupe.SessionFilter) bool {
	return (match.User == "" || match.User == info.User) && (match.Agent == "" || match.Agent == info.Agent) &&
		(match.Status == "" || match.Status == info.Status) && !info.Updated.Before(match.Since)
}

// one returns a session. It fails with [troupe.ErrNotFound] if there is none.
func (r *Reader) one(ctx context.Context, id string) (info troupe.SessionInfo, err error) {
	const text = "SELECT " + summary + ", l.owner, l.about, l.until FROM sessions LEFT JOIN leases l ON l.session = sessions.id WHERE sessions.id = ?"
	err = r.file.read(ctx, func(db *sql.DB) error {
		var owner, about sql.NullString
		var until sql.NullInt64
		found, err := scanSummary(func(targets ...any) error {
			return r.prepared.get(ctx, db, text, []any{id}, targets...)
		}, &owner, &about, &until)
		if err != nil {
			return err
		}
		info = found.info
		isOwned := owner.Valid && until.Int64 > time.Now().UnixNano() && (owner.String == r.self || !hasEnded(r.path, owner.String))
		if isOwned {
			info.Owner = ownerFrom(about.String)
		} else if info.Status == "running" {
			info.Status = "interrupted"
		}
		return nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = troupe.ErrNotFound
	}
	return info, err
}

// list returns the sessions that match and come after another, if that is not nil.
func (r *Reader) list(ctx context.Context, match troupe.SessionFilter, after *troupe.SessionInfo) (found []troupe.SessionInfo, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		lost, err := r.lostOwners(ctx, db)
		if err == nil {
			found, err = summaries(ctx, db, match, after, lost)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// holder is who has a session: NULL if nobody has.
const holder = "(SELECT about FROM leases l WHERE l.session = sessions.id AND l.until > ? AND NOT instr(?, l.owner))"

// summaries reads the sessions that match, given the owners that have ended.
func summaries(ctx context.Context, db *sql.DB, match troupe.SessionFilter, after *troupe.SessionInfo, lost string) (found []troupe.SessionInfo, err error) {
	now := time.Now().UnixNano()
	var where conditions
	where.equal("user", match.User)
	where.equal("agent", match.Agent)
	switch match.Status {
	case "running":
		where.add("status = 'running' AND "+holder+" IS NOT NULL", now, lost)
	case "interrupted":
		where.add("status = 'running' AND "+holder+" IS NULL", now, lost)
	default:
		where.equal("status", string(match.Status))
	}
	if !match.Since.IsZero() {
		where.add("updated >= ?", match.Since.UTC().Format(stamp))
	}
	if after != nil {
		updated := after.Updated.UTC().Format(stamp)
		where.add("updated <= ? AND (updated < ? OR id > ?)", updated, updated, after.ID)
	}
	limit := -1
	if match.Limit > 0 {
		limit = match.Limit
	}
	statement := "SELECT " + summary + ", " + holder + " FROM sessions" + where.text() + " ORDER BY updated DESC, id LIMIT ?"
	values := append([]any{now, lost}, where.values...)
	rows, err := db.QueryContext(ctx, statement, append(values, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var about sql.NullString
		s, err := scanSummary(rows.Scan, &about)
		if err != nil {
			return nil, err
		}
		if about.Valid {
			s.info.Owner = ownerFrom(about.String)
		} else if s.info.Status == "running" {
			s.info.Status = "interrupted"
		}
		found = append(found, s.info)
	}
	return found, rows.Err()
}

// Delete implements [troupe.Store]. The space is used again for later events.
func (s *Store) Delete(ctx context.Context, session string) error {
	err := s.writer.write(ctx, 0, func(w *writer) error { return w.delete(session) })
	if err != nil {
		return fmt.Errorf("delete session %s: %w", session, err)
	}
	s.owner.forget(session)
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
	for _, query := range []string{
		"DELETE FROM leases WHERE session = ?", "DELETE FROM requests WHERE session = ?", "DELETE FROM live WHERE session = ?",
	} {
		if _, err := w.exec(query, id); err != nil {
			return err
		}
	}
	if err := w.get("SELECT coalesce(max(key), 0) FROM events", nil, &w.newest); err != nil {
		return err
	}
	// Whoever opens the file next must not miss what this takes away, whichever process
	// was the last to acknowledge an event.
	_, err = w.exec("UPDATE indexed SET given = max(given, ?)", w.lastKey)
	return err
}

// Complete returns the ids of sessions that begin in a way, at most so many.
func (r *Reader) Complete(ctx context.Context, beginning string, limit int) (ids []string, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		ids = nil
		rows, err := db.QueryContext(ctx, "SELECT id FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", beginning, beginning+"\U0010FFFF", limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("find sessions: %w", r.readError(ctx, err))
	}
	return ids, nil
}
