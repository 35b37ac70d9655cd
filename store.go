package troupe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
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
	// ended is running while somebody has a lease on the session, or is to take it up from a
	// queue, and else interrupted.
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

// A Lease is the right to write to a session. Its holder writes events that carry its
// epoch; those of a lease that is over are refused, however late they come.
type Lease interface {
	// Epoch is greater than that of every earlier lease on the session.
	Epoch() int64
	// Last is the number of the session's last event when the lease was acquired.
	Last() int64
	// Requests yields what others ask of the holder. The channel is closed when the
	// lease is over, because it was released or because another has the session now.
	Requests() <-chan SessionRequest
	// Show has others see replies in progress: one event each, a delta that holds all
	// there is of it so far. It is called while somebody has asked for them.
	Show(ctx context.Context, replies []Event) error
	// Release gives the session up. It does nothing where the lease is over.
	Release(ctx context.Context) error
}

// An Owner is a process that has a session. As an error, which is an [ErrBusy], it says
// who has the session that somebody else wants.
type Owner struct {
	Host  string    `json:"host,omitempty"`
	PID   int       `json:"pid,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// thisProcess returns this process as an owner from now on.
func thisProcess() Owner {
	return Owner{Host: thisHost(), PID: os.Getpid(), Since: time.Now().Round(0).UTC()}
}

var thisHost = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "localhost")
})

// Error names the owner.
func (o *Owner) Error() string {
	return fmt.Sprintf("process %d on %s has had it since %s: %v", o.PID, o.Host, o.Since.Format(time.RFC3339), ErrBusy)
}

func (o *Owner) Unwrap() error { return ErrBusy }

// A SessionRequest is what somebody asks of a session's owner. The zero request asks to
// see replies in progress, for a few seconds.
type SessionRequest struct {
	// Cancel asks to stop the run.
	Cancel bool `json:"cancel,omitempty"`
	// Title is what to rename the session to.
	Title string `json:"title,omitempty"`
	// Said answers the question of the run that has the id Question. Its JSON has at most 4 KiB.
	Said     *UserSaid `json:"said,omitempty"`
	Question string    `json:"question,omitempty"`
}

// A DayCost is what the answers that an agent got from models on a day have cost, those
// included that came to nothing.
type DayCost struct {
	// Day is as in 2024-02-29, in UTC.
	Day   string  `json:"day"`
	Agent string  `json:"agent"`
	Cost  float64 `json:"cost"`
}

// AddCost adds what the event says was spent to sums, which are in the order of days and
// agents. A store adds up the events that it stores together, and adds that to what it has.
// What a fork begins with, which is stored together with it, was paid in another session.
func (e *Event) AddCost(sums []DayCost) []DayCost {
	cost := 0.0
	switch b := e.Body.(type) {
	case *SessionForked:
		return sums[:0]
	case *ModelReplied:
		cost = b.Cost
	case *ModelFailed:
		cost = b.Cost
	}
	if cost == 0 {
		return sums
	}
	return addCost(sums, DayCost{e.Time.UTC().Format(time.DateOnly), e.Agent, cost})
}

func addCost(sums []DayCost, one DayCost) []DayCost {
	at, found := slices.BinarySearchFunc(sums, one, compareCosts)
	if !found {
		return slices.Insert(sums, at, one)
	}
	sums[at].Cost += one.Cost
	return sums
}

// compareCosts orders by day and agent.
func compareCosts(a, b DayCost) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Agent, b.Agent))
}
