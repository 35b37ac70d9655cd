// Package store says what programs ask of a store beside what an engine needs: to
// search and follow the events of all sessions, to look for damage, to close it.
// store/sqlite and store/postgres both do that.
package store

import (
	"context"
	"iter"

	"github.com/troupe-dev/troupe"
)

// A Log is a store that can be searched. It may be used concurrently.
type Log interface {
	troupe.Store
	// Search yields the events that a query chooses, the latest first. It finds what
	// was stored before it began; events that are stored meanwhile are not among them.
	Search(ctx context.Context, query Query) iter.Seq2[Hit, error]
	// Scan yields all events with a number after one and up to another, the oldest first and
	// some at a time. Of sessions that are deleted meanwhile, and of what is stored meanwhile
	// with a number after Last, there may be some or all.
	Scan(ctx context.Context, after, upto int64) iter.Seq2[*Page, error]
	// Forks returns, for the forks among these events, the number within its session of the
	// event that ends what the session has from another.
	Forks(ctx context.Context, after, upto int64) (map[string]int64, error)
	// Count returns how many events there are with such a number.
	Count(ctx context.Context, after, upto int64) (int64, error)
	// Follow yields the events that a query chooses, the oldest first, then those to
	// come as they are stored, until ctx is done. It begins after query.After, or with
	// what is stored from now on if that is 0, and yields each event once, whoever
	// stores it. query.Before has no meaning here.
	Follow(ctx context.Context, query Query) iter.Seq2[Hit, error]
	// Last returns a Number up to which nothing is added any more: a Search for what
	// comes before its successor and a Follow after it miss nothing between them.
	Last(ctx context.Context) (int64, error)
	// Complete returns the ids of sessions that begin in a way, at most so many.
	Complete(ctx context.Context, beginning string, limit int) ([]string, error)
	// Verify looks at every event of every session and yields what was changed or is missing
	// since it was stored, and what the store keeps beside events and does not follow from
	// them. Of a session it yields what it finds first.
	Verify(ctx context.Context) iter.Seq2[Fault, error]
	// Close gives up the store. Reads under way fail, and writes under way are waited for.
	Close() error
}

// A Fault is an event, or a session, that is not what was stored, or is not there.
type Fault struct {
	Session string
	// Seq is the event's number, 0 where it is about the session as a whole, and Problem
	// what is wrong.
	Seq     int64
	Problem string
	// IsDerived says that the events are sound: only what follows from them is wrong, and
	// [Copy] computes it again.
	IsDerived bool
}

// Orphaned is the Problem of a session whose events are there and which is not listed.
const Orphaned = "its events are there, and it is in no list: its own row was deleted"
