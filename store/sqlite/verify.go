package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// A Fault is something that is not what was stored, or is not there.
type Fault = store.Fault

// Verify looks at every event of every session and yields what was changed or is
// missing since it was stored. Each event has a checksum of itself and of all events of
// its session before it. Events that an older Troupe stored have none, and count as
// sound if they are there. What stands beside them must follow from them.
func (r *Reader) Verify(ctx context.Context) iter.Seq2[Fault, error] {
	return func(yield func(Fault, error) bool) {
		if err := r.verify(ctx, yield); err != nil {
			yield(Fault{}, fmt.Errorf("verify: %w", r.readError(ctx, err)))
		}
	}
}

func (r *Reader) verify(ctx context.Context, yield func(Fault, error) bool) error {
	for after := int64(0); ; {
		sessions, err := r.sums(ctx, after)
		if err != nil {
			return err
		}
		if len(sessions) == 0 {
			return r.orphans(ctx, yield)
		}
		for i := range sessions {
			after = sessions[i].number
			fault, err := r.verifySession(ctx, &sessions[i])
			if err != nil {
				return err
			}
			if fault != nil && !yield(*fault, nil) {
				return nil
			}
		}
	}
}

// sums returns some sessions with the checksums of their last events.
func (r *Reader) sums(ctx context.Context, after int64) (found []session, err error) {
	err = r.file.read(ctx, func(db *sql.DB) error {
		found = nil
		rows, err := db.QueryContext(ctx, "SELECT "+summary+" FROM sessions WHERE number > ? ORDER BY number LIMIT ?", after, pageEvents)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			s, err := scanSummary(rows.Scan)
			if err != nil {
				return err
			}
			found = append(found, s)
		}
		return rows.Err()
	})
	return found, err
}

// orphans yields the sessions that have events and no row of their own.
func (r *Reader) orphans(ctx context.Context, yield func(Fault, error) bool) error {
	var found []Fault
	err := r.file.read(ctx, func(db *sql.DB) error {
		found = nil
		// SQLite takes the event from the row with the least number.
		rows, err := db.QueryContext(ctx, "SELECT min(e.seq), c.event FROM events e LEFT JOIN contents c ON c.key = e.key "+
			"WHERE e.session NOT IN (SELECT number FROM sessions) GROUP BY e.session ORDER BY e.session LIMIT ?", pageEvents)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			var content sql.NullString
			if err := rows.Scan(&seq, &content); err != nil {
				return err
			}
			event, err := (&stored{content: content.String}).decode()
			if err != nil {
				event.Session = "of which nothing else is known"
			}
			found = append(found, Fault{Session: event.Session, Problem: store.Orphaned})
		}
		return rows.Err()
	})
	if err != nil {
		return err
	}
	for _, fault := range found {
		if !yield(fault, nil) {
			break
		}
	}
	return nil
}

// verifySession returns the first fault of a session, nil if there is none.
func (r *Reader) verifySession(ctx context.Context, s *session) (*Fault, error) {
	v := &verification{session: s}
	for v.fault == nil && v.seq < s.info.Events {
		n := 0
		err := r.file.read(ctx, func(db *sql.DB) error {
			rows, err := db.QueryContext(ctx, "SELECT e.seq, e.sum, c.event, e.time, e.run, e.agent, e.kind, coalesce(e.tool, ''), coalesce(e.class, '') FROM events e LEFT JOIN contents c ON c.key = e.key "+
				"WHERE e.session = ? AND e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?", s.number, v.seq, s.info.Events, pageEvents)
			if err != nil {
				return err
			}
			defer rows.Close()
			for v.fault == nil && rows.Next() {
				var seq int64
				var sum []byte
				var content sql.NullString
				var c store.Columns
				if err := rows.Scan(&seq, &sum, &content, &c.Time, &c.Run, &c.Agent, &c.Kind, &c.Tool, &c.Class); err != nil {
					return err
				}
				v.check(seq, sum, content, c)
				n++
			}
			return rows.Err()
		})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			v.find(v.seq+1, "it is missing")
		}
	}
	if v.fault == nil && len(s.chain) > 0 && !bytes.Equal(v.sum, s.chain) {
		v.find(s.info.Events, "it is not the one that was stored last")
	}
	if v.fault == nil && v.derived == nil && len(s.chain) > 0 {
		if problem := store.AgainstEvents(&s.info, &v.info); problem != "" {
			v.derived = &Fault{Session: s.info.ID, Problem: problem, IsDerived: true}
		}
	}
	if v.fault == nil {
		return v.derived, nil
	}
	return v.fault, nil
}

// A verification goes through the events of a session.
type verification struct {
	session *session
	seq     int64
	sum     []byte
	info    troupe.SessionInfo // as the events so far say it is
	// fault is the first one of the events, and derived the first of what is beside them.
	fault, derived *Fault
}

func (v *verification) find(seq int64, problem string) {
	v.fault = &Fault{Session: v.session.info.ID, Seq: seq, Problem: problem}
}

func (v *verification) check(seq int64, sum []byte, content sql.NullString, c store.Columns) {
	switch {
	case seq != v.seq+1:
		v.find(v.seq+1, "it is missing")
	case !content.Valid:
		v.find(seq, "its content is missing")
	case sum == nil && v.sum != nil:
		v.find(seq, "its checksum is missing")
	case sum != nil && !bytes.Equal(sum, store.Link(v.sum, content.String)):
		v.find(seq, "it was changed, or one before it was")
	}
	v.seq, v.sum = seq, sum
	if v.fault != nil {
		return
	}
	event, err := (&stored{content: content.String}).decode()
	if err != nil {
		v.find(seq, "it cannot be read: "+err.Error())
		return
	}
	v.info.Note(&event)
	if problem := c.Against(store.ColumnsOf(&event)); problem != "" && v.derived == nil {
		v.derived = &Fault{Session: v.session.info.ID, Seq: seq, Problem: problem, IsDerived: true}
	}
}
