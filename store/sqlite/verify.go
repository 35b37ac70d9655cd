package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/troupe-dev/troupe/store"
)

// A Fault is an event that is not what was stored, or is not there.
type Fault = store.Fault

// Verify looks at every event of every session and yields those that were changed or
// are missing since they were stored. Each has a checksum of itself and of all events of
// its session before it. Events that an older Troupe stored have none, and count as
// sound if they are there.
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
		if err != nil || len(sessions) == 0 {
			return err
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
		rows, err := db.QueryContext(ctx, "SELECT number, id, events, chain FROM sessions WHERE number > ? ORDER BY number LIMIT ?", after, pageEvents)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s session
			if err := rows.Scan(&s.number, &s.info.ID, &s.info.Events, &s.chain); err != nil {
				return err
			}
			found = append(found, s)
		}
		return rows.Err()
	})
	return found, err
}

// verifySession returns the first fault of a session, nil if there is none.
func (r *Reader) verifySession(ctx context.Context, s *session) (*Fault, error) {
	v := &verification{session: s}
	for v.fault == nil && v.seq < s.info.Events {
		n := 0
		err := r.file.read(ctx, func(db *sql.DB) error {
			rows, err := db.QueryContext(ctx, "SELECT e.seq, e.sum, c.event FROM events e LEFT JOIN contents c ON c.key = e.key "+
				"WHERE e.session = ? AND e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?", s.number, v.seq, s.info.Events, pageEvents)
			if err != nil {
				return err
			}
			defer rows.Close()
			for v.fault == nil && rows.Next() {
				var seq int64
				var sum []byte
				var content sql.NullString
				if err := rows.Scan(&seq, &sum, &content); err != nil {
					return err
				}
				v.check(seq, sum, content)
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
	return v.fault, nil
}

// A verification goes through the events of a session.
type verification struct {
	session *session
	seq     int64
	sum     []byte
	fault   *Fault
}

func (v *verification) find(seq int64, problem string) {
	v.fault = &Fault{Session: v.session.info.ID, Seq: seq, Problem: problem}
}

func (v *verification) check(seq int64, sum []byte, content sql.NullString) {
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
}
