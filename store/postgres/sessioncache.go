package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxAtHand is how many sessions are kept at hand.
const maxAtHand = 4096

// A sessionCache has the sessions that this process last wrote to, as they were then.
// One that somebody else has written to since is noticed: its checksum is another.
type sessionCache struct {
	mu       sync.Mutex
	sessions map[string]session
}

func newSessionCache() *sessionCache { return &sessionCache{sessions: map[string]session{}} }

func (c *sessionCache) get(id string) (session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sessions[id]
	return s, ok
}

func (c *sessionCache) put(id string, s session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) >= maxAtHand {
		clear(c.sessions)
	}
	c.sessions[id] = s
}

func (c *sessionCache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
}

// standing returns a session as it was last seen, or, if it has to be fresh or was not
// seen, as it is. One that is not there has no events.
func (s *Store) standing(ctx context.Context, id string, fresh bool) (at session, cached bool, err error) {
	if !fresh {
		if at, ok := s.atHand.get(id); ok {
			return at, true, nil
		}
	}
	at, err = scanSession(s.pool.QueryRow(ctx, "SELECT "+summary+" FROM sessions WHERE id = $1", id))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && at.info.Events == 0 {
		return session{}, false, nil
	}
	return at, false, err
}

// summary names the columns that make a session's summary.
const summary = "id, person, agent, title, status, started, updated, events, chain, month"

// scanSession reads the columns of summary, and more.
func scanSession(row interface{ Scan(...any) error }, more ...any) (s session, err error) {
	var started, updated int64
	info := &s.info
	columns := []any{&info.ID, &info.User, &info.Agent, &info.Title, &info.Status, &started, &updated, &info.Events, &s.chain, &s.month}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return session{}, err
	}
	info.Started, info.Updated = timeOf(started), timeOf(updated)
	return s, nil
}

// timeOf is the time that [store.Nanoseconds] made a number of.
func timeOf(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }
