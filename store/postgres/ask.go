package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// A glance is how a session stood that another process has.
type glance struct {
	at, asked time.Time // when it was looked at, and when replies were last asked for
	outdated  bool      // something was heard of it since
	info      troupe.SessionInfo
	replies   []troupe.Event
}

const (
	// glanceTime is how long a glance is good for where nothing was heard: nobody says
	// that a process has ended.
	glanceTime = time.Second
	// maxGlances is how many are kept.
	maxGlances = 8192
)

// Ask implements [troupe.Store]. A request goes to the owner as a notification. Who asks
// again and again how a session stands is answered from memory, until something is heard
// of it.
func (s *Store) Ask(ctx context.Context, session string, request troupe.SessionRequest) (troupe.SessionInfo, []troupe.Event, error) {
	follows := request == (troupe.SessionRequest{})
	if s.readOnly {
		if !follows {
			return troupe.SessionInfo{}, nil, s.refuse("ask for", session)
		}
		return s.look(ctx, session)
	}
	if s.owner.deliver(session, request) {
		return s.look(ctx, session)
	}
	g, current := s.owner.glance(session)
	if follows && current {
		return g.info, g.replies, nil
	}
	info, replies, err := s.look(ctx, session)
	if err != nil {
		return info, nil, err
	}
	asks := info.Owner != (troupe.Owner{}) && (!follows || info.Owner != g.info.Owner || time.Since(g.asked) > glanceTime)
	s.owner.remember(session, info, replies, asks && follows)
	if asks {
		s.notices.add(notice{kind: asked, session: session, request: request})
	}
	return info, replies, nil
}

// look returns how a session stands, with the replies in progress.
func (s *Store) look(ctx context.Context, id string) (info troupe.SessionInfo, replies []troupe.Event, err error) {
	var text *string
	err = s.retrying(ctx, func(ctx context.Context) error {
		var h holder
		live := "(SELECT replies FROM live WHERE live.session = sessions.id AND live.epoch = sessions.epoch AND o.name IS NOT NULL)"
		at, err := scanSession(s.pool.QueryRow(ctx, "SELECT "+summary+", o.name, o.host, o.pid, since, "+waits+", "+live+" FROM "+withOwner+" WHERE id = $1 AND events > 0", id),
			&h.name, &h.host, &h.pid, &h.since, &h.waits, &text)
		info = h.standing(at.info)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = troupe.ErrNotFound
	}
	if err != nil {
		return troupe.SessionInfo{}, nil, fmt.Errorf("session %s: %w", id, err)
	}
	if text != nil && json.Unmarshal([]byte(*text), &replies) != nil {
		replies = nil // what is shown for a moment is not worth an error
	}
	return info, replies, nil
}

// glance returns what was last seen of a session, and whether that is good enough.
func (o *owner) glance(session string) (g glance, current bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.looked[session]
	if last == nil {
		if len(o.looked) >= maxGlances {
			clear(o.looked)
		}
		last = &glance{outdated: true}
		o.looked[session] = last
	}
	hasAsked := last.info.Owner == (troupe.Owner{}) || time.Since(last.asked) < glanceTime
	current = !last.outdated && time.Since(last.at) < glanceTime && hasAsked
	if !current {
		last.outdated = false // until something is heard while it is looked at
	}
	return *last, current
}

// remember keeps what was seen of a session, unless something was heard of it meanwhile.
func (o *owner) remember(session string, info troupe.SessionInfo, replies []troupe.Event, asks bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	g := o.looked[session]
	if g == nil {
		return
	}
	g.at, g.info, g.replies = time.Now(), info, replies
	if asks {
		g.asked = g.at
	}
}

// hear has a session looked at again, or every one, if it has no name.
func (o *owner) hear(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if session == "" {
		clear(o.looked)
	} else if g := o.looked[session]; g != nil {
		g.outdated = true
	}
}
