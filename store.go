package troupe

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Store keeps sessions and their events. Its methods may be called concurrently.
type Store interface {
	// Append adds events to a session's log, all or none, and returns when they
	// are as durable as the store makes them. The first event of a log has Seq 1;
	// Append fails with ErrConflict if events do not continue the log, or if their Epoch
	// is not that of the lease on the session. Events of epoch 0 are written by somebody
	// without a lease: they fail with an *Owner while there is one. The slice is
	// the store's to keep; neither side changes it afterwards.
	Append(ctx context.Context, session string, events ...Event) error
	// Events yields a session's events with Seq > after, in order, as they were
	// when the iteration began or later. An unknown session yields ErrNotFound.
	Events(ctx context.Context, session string, after int64) iter.Seq2[Event, error]
	// Sessions yields the sessions that match, the latest first.
	Sessions(ctx context.Context, match SessionFilter) iter.Seq2[SessionInfo, error]
	// Costs yields what was spent since a day began (UTC), by day and agent, in that
	// order. It takes no longer the more sessions there are.
	Costs(ctx context.Context, since time.Time) iter.Seq2[DayCost, error]
	// Delete forgets a session, and with it the lease on it; what was spent in it stays
	// spent. It fails with ErrNotFound if there is none.
	Delete(ctx context.Context, session string) error
	// Acquire makes the caller the only one who may write to a session, which need
	// not exist yet, until the lease is released. It fails with an *Owner while
	// another has it. Where processes share a store, one that has died or not been
	// heard of for long loses its leases.
	Acquire(ctx context.Context, session string) (Lease, error)
	// Ask passes a request on to whoever has a session, and returns how the session
	// stands, with the replies in progress as far as the store carries them: see
	// [Lease]. Where nobody has it, the Owner that is returned is zero and the request
	// is forgotten. It fails with ErrNotFound if there is no such session.
	Ask(ctx context.Context, session string, request SessionRequest) (SessionInfo, []Event, error)
}

var (
	// ErrConflict reports events that do not continue a session's log: somebody
	// else wrote to it.
	ErrConflict = errors.New("the events do not continue the session's log")
	// ErrNotFound reports a session that is not there.
	ErrNotFound = errors.New("no such session")
)

// A SessionInfo is a session at a glance, computed from its events.
type SessionInfo struct {
	ID string `json:"id"`
	// User is whose session it is, empty where nobody has said.
	User string `json:"user,omitempty"`
	// Agent is the step that the latest run is of.
	Agent string `json:"agent"`
	// Title is the beginning of the first thing the user said, or what the session
	// was renamed to.
	Title string `json:"title,omitempty"`
	// Status says how the latest run stands: "running", "waiting" (for a person's
	// answer), "completed", "failed", "cancelled" or "interrupted". A run that has not
	// ended is running while somebody has a lease on the session, and else interrupted.
	Status  string    `json:"status"`
	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	// Events is the number of stored events, and so the last one's Seq.
	Events int64 `json:"events"`
	// Owner is who has a run of the session under way, zero if nobody has.
	Owner Owner `json:"owner,omitzero"`
}

// The states of a session: see [SessionInfo].
const (
	statusRunning     = "running"
	statusWaiting     = "waiting" // for a person's answer
	statusCompleted   = "completed"
	statusFailed      = "failed"
	statusCancelled   = "cancelled"
	statusInterrupted = "interrupted"
)

// A SessionFilter chooses sessions. A zero field does not restrict.
type SessionFilter struct {
	ID     string
	User   string
	Agent  string
	Status string
	Since  time.Time
	Limit  int
}

// Matches reports whether the filter lets s through, Limit aside.
func (f SessionFilter) Matches(s SessionInfo) bool {
	return (f.ID == "" || f.ID == s.ID) &&
		(f.User == "" || f.User == s.User) &&
		(f.Agent == "" || f.Agent == s.Agent) &&
		(f.Status == "" || f.Status == s.Status) &&
		!s.Updated.Before(f.Since)
}

// titleRunes is how much of the first message makes a title.
const titleRunes = 60

// Note takes an event of the session into account. A store that keeps summaries
// beside its events calls it for each event in order.
func (s *SessionInfo) Note(e *Event) {
	if s.Events == 0 {
		s.ID, s.Started = e.Session, e.Time
	}
	s.Events, s.Updated = e.Seq, e.Time
	if e.Parent != "" {
		if _, answered := e.Body.(*UserSaid); answered {
			s.Status = statusRunning
		}
		return
	}
	switch b := e.Body.(type) {
	case *RunStarted:
		s.Agent, s.Status = e.Agent, statusRunning
		if e.Seq == 1 {
			s.User = b.User
		}
	case *UserSaid:
		if s.Title == "" && !b.Hidden {
			s.Title = shorten(b.Text, titleRunes)
		}
		s.Status = statusRunning
	case *SessionRenamed:
		s.Title = b.Title
	case *RunFinished:
		if s.Status = statusCompleted; b.Stop == stopInput {
			s.Status = statusWaiting
		}
	case *RunFailed:
		s.Status = statusFailed
	case *RunCancelled:
		s.Status = statusCancelled
	case *RunResumed, *ModelReplied, *ToolCalled, *ToolReturned:
		s.Status = statusRunning
	}
}
