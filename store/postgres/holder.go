package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// A holder is who has a session, as the database says.
type holder struct {
	name, host *string // nil if nobody has it
	pid        *int64
	since      int64
	epoch      int64
	events     int64
	alive      bool
	there      bool // the session has a row
	waits      bool // a worker is to go on with it
}

// owner returns the process that it is.
func (h *holder) owner() troupe.Owner {
	o := troupe.Owner{Host: "an unknown host", Since: timeOf(h.since)}
	if h.host != nil {
		o.Host = *h.host
	}
	if h.pid != nil {
		o.PID = int(*h.pid)
	}
	return o
}

// owned is the error of somebody who wants a session that it has.
func (h *holder) owned(session string) error {
	owner := h.owner()
	return fmt.Errorf("session %s: %w", session, &owner)
}

// standing returns how a session stands, given who has it.
func (h *holder) standing(info troupe.SessionInfo) troupe.SessionInfo {
	if h.name != nil {
		info.Owner = h.owner()
	} else if info.Status == "running" && !h.waits {
		info.Status = "interrupted"
	}
	return info
}

// holder returns who has a session, alive or not.
func (s *Store) holder(ctx context.Context, session string) (h holder, err error) {
	err = s.pool.QueryRow(ctx, "SELECT sessions.owner, host, pid, since, epoch, events, coalesce("+isAlive+", false) FROM sessions LEFT JOIN owners o ON o.name = sessions.owner WHERE id = $1", session).
		Scan(&h.name, &h.host, &h.pid, &h.since, &h.epoch, &h.events, &h.alive)
	if errors.Is(err, pgx.ErrNoRows) {
		return holder{}, nil
	}
	h.there = err == nil
	return h, err
}

// now is a time as it is stored.
func now() time.Time { return time.Now().Round(0).UTC() }
