package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/store"
)

// keyBits is how much of a key is the event's place in its transaction: the rest is the
// transaction.
const keyBits = 20

// Append implements [troupe.Store]. It returns when the events are as durable as the
// server makes a commit. While the database does not answer it waits, as long as the
// store is patient.
func (s *Store) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if len(events) == 0 {
		return nil
	}
	err := s.refuse("append to", session)
	if err != nil {
		return err
	}
	if err = ctx.Err(); err == nil {
		// Half an append is not done: once it has begun, its outcome is waited for.
		err = s.append(context.WithoutCancel(ctx), session, events)
	}
	if err != nil {
		return fmt.Errorf("append to session %s: %w", session, err)
	}
	return nil
}

func (s *Store) append(ctx context.Context, session string, events []troupe.Event) error {
	for i := range events {
		if want := events[0].Seq + int64(i); events[i].Seq != want {
			return fmt.Errorf("event %d after %d: %w", events[i].Seq, want-1, troupe.ErrConflict)
		}
	}
	if len(events) >= 1<<keyBits {
		return fmt.Errorf("%d events at once: at most %d", len(events), 1<<keyBits-1)
	}
	b, err := encode(session, events)
	if err != nil {
		return err
	}
	return s.insisting(ctx, func(ctx context.Context) error { return s.attempt(ctx, b) })
}

// A batch is events that are stored together.
type batch struct {
	session  string
	events   []troupe.Event
	contents []string
	// The columns of the events.
	times                   []int64
	runs, agents, kinds     []string
	tools, classes          []*string
	sums                    [][]byte
	spent                   spendings // what they say was spent
	before, after           session   // the session without and with them
	unsure                  bool      // an attempt has no known outcome
	partitions, fresh, kept bool      // what was done about a refusal
}

func encode(session string, events []troupe.Event) (*batch, error) {
	b := &batch{session: session, events: events, sums: make([][]byte, len(events)), spent: spendingsIn(session, events)}
	for i := range events {
		e := &events[i]
		data, err := e.MarshalJSON()
		if err != nil {
			return nil, err
		}
		tool, class := store.Facets(e.Body)
		b.contents = append(b.contents, clean(string(data)))
		b.times = append(b.times, store.Nanoseconds(e.Time))
		b.runs = append(b.runs, clean(e.Run))
		b.agents = append(b.agents, clean(e.Agent))
		b.kinds = append(b.kinds, e.Kind())
		b.tools = append(b.tools, optional(clean(tool)))
		b.classes = append(b.classes, optional(class))
	}
	return b, nil
}

// clean returns a text that PostgreSQL takes: it knows no NUL, and no broken UTF-8.
func clean(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// attempt stores a batch, or says why not. It may be called again after a lost
// connection: what was stored then is recognized by its checksum.
func (s *Store) attempt(ctx context.Context, b *batch) error {
	for {
		at, cached, err := s.standing(ctx, b.session, b.unsure || b.fresh)
		if err != nil {
			return err
		}
		if b.unsure {
			stored, err := s.hasStored(ctx, b, &at)
			if err != nil {
				return err
			}
			if stored {
				return s.settle(b)
			}
		}
		if at.info.Events != b.events[0].Seq-1 {
			if cached {
				b.fresh = true
				continue
			}
			return fmt.Errorf("event %d after %d: %w", b.events[0].Seq, at.info.Events, troupe.ErrConflict)
		}
		b.follow(at, time.Now())
		failpoint.Here(failpoint.StoreBeforeCommit)
		stored, err := s.insert(ctx, b)
		switch {
		case isLost(err):
			b.unsure = true
			return err
		case codeOf(err) == "23514" && !b.partitions: // there is no partition for its month
			b.partitions = true
			if err := s.makeMonth(ctx, b.after.month); err != nil {
				return err
			}
		case err != nil:
			return err
		case stored:
			failpoint.Here(failpoint.StoreAfterCommit)
			return s.settle(b)
		case cached:
			b.fresh = true
		default:
			if again, err := s.whyRefused(ctx, b); !again {
				return err
			}
		}
	}
}

// settle has others know that a batch is stored.
func (s *Store) settle(b *batch) error {
	s.atHand.put(b.session, b.after)
	s.notices.add(notice{kind: changed, session: b.session})
	select {
	case s.stored <- struct{}{}:
	default:
	}
	failpoint.Here(failpoint.StoreBeforeAcknowledging)
	return nil
}

// follow computes what a session is with the batch.
func (b *batch) follow(at session, now time.Time) {
	b.before, b.after = at, at
	for i := range b.events {
		b.after.info.Note(&b.events[i])
		b.after.chain = store.Link(b.after.chain, b.contents[i])
		b.sums[i] = b.after.chain
	}
	if at.info.Events == 0 {
		b.after.month = monthFor(b.events[0].Time, now)
	}
}

const (
	// held is the condition under which a session's row may be changed by somebody with
	// an epoch, or, if that is 0, by somebody without a lease.
	held = "(CASE WHEN $13::bigint = 0 THEN sessions.owner IS NULL ELSE sessions.epoch = $13 AND sessions.owner = $14 END)"
	// addEvents adds events to the session that the statement before it has changed.
	addEvents = `INSERT INTO events (month, session, seq, key, time, run, agent, kind, tool, class, sum, event)
SELECT s.month, $1, $2 + e.n, (pg_current_xact_id()::text::bigint << 20) + e.n, e.time, e.run, e.agent, e.kind, e.tool, e.class, e.sum, e.event
FROM s, unnest($15::bigint[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::bytea[], $22::text[])
	WITH ORDINALITY AS e (time, run, agent, kind, tool, class, sum, event, n)`

	appendToSession = `WITH s AS (
	UPDATE sessions SET month = $4, person = $5, agent = $6, title = $7, status = $8, started = $9, updated = $10, events = $11, chain = $12
	WHERE id = $1 AND events = $2 AND chain = $3 AND ` + held + ` RETURNING month
) ` + addEvents

	appendToNewSession = `WITH s AS (
	INSERT INTO sessions (id, month, person, agent, title, status, started, updated, events, chain)
	SELECT $1, $4, $5, $6, $7, $8, $9, $10, $11, $12 WHERE $2::bigint = 0 AND $3::bytea = ''
	ON CONFLICT (id) DO UPDATE SET month = EXCLUDED.month, person = EXCLUDED.person, agent = EXCLUDED.agent, title = EXCLUDED.title, status = EXCLUDED.status,
		started = EXCLUDED.started, updated = EXCLUDED.updated, events = EXCLUDED.events, chain = EXCLUDED.chain
	WHERE sessions.events = 0 AND ` + held + ` RETURNING month
) ` + addEvents
)

// insert stores a batch in one statement. It reports false if the session is not what
// the batch follows, or is not the writer's.
func (s *Store) insert(ctx context.Context, b *batch) (stored bool, err error) {
	return s.insertIn(ctx, s.pool, b)
}

func (s *Store) insertIn(ctx context.Context, db execer, b *batch) (stored bool, err error) {
	statement, epoch := appendToSession, b.events[0].Epoch
	if epoch == 0 && b.before.info.Events == 0 {
		statement = appendToNewSession
	}
	if len(b.spent.days) > 0 {
		statement = withSpending(statement)
	}
	info := &b.after.info
	before := b.before.chain
	if before == nil {
		before = []byte{}
	}
	values := []any{
		b.session, b.before.info.Events, before, int32(b.after.month), clean(info.User), clean(info.Agent), clean(info.Title), string(info.Status),
		store.Nanoseconds(info.Started), store.Nanoseconds(info.Updated), info.Events, b.after.chain, epoch, s.owner.name,
		b.times, b.runs, b.agents, b.kinds, b.tools, b.classes, b.sums, b.contents,
	}
	tag, err := db.Exec(ctx, statement, append(values, b.spent.values()...)...)
	return err == nil && tag.RowsAffected() > 0, err
}

// hasStored reports whether an attempt whose outcome was not known has stored the batch.
func (s *Store) hasStored(ctx context.Context, b *batch, at *session) (bool, error) {
	last := len(b.events) - 1
	if at.info.Events < b.events[last].Seq {
		return false, nil
	}
	var sum []byte
	err := s.pool.QueryRow(ctx, "SELECT sum FROM events WHERE month = $1 AND session = $2 AND seq = $3", int32(at.month), b.session, b.events[last].Seq).Scan(&sum)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil && bytes.Equal(sum, b.sums[last]), err
}

// whyRefused returns why the session is not the writer's. A lease that is over is taken
// away from whoever has it: then it is worth trying again.
func (s *Store) whyRefused(ctx context.Context, b *batch) (again bool, err error) {
	at, err := s.holder(ctx, b.session)
	switch {
	case err != nil:
		return false, err
	case b.events[0].Epoch != 0:
		return false, fmt.Errorf("the lease that it is written under is over: %w", troupe.ErrConflict)
	case at.alive:
		return false, at.owned(b.session)
	case at.name == nil && b.kept:
		return false, fmt.Errorf("somebody else wrote to it: %w", troupe.ErrConflict)
	}
	b.kept = true
	if at.name != nil {
		_, err = s.pool.Exec(ctx, "UPDATE sessions SET owner = NULL WHERE id = $1 AND epoch = $2 AND owner = $3", b.session, at.epoch, *at.name)
	}
	return err == nil, err
}
