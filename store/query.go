package store

import (
	"math"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Query chooses events of all sessions. A zero field does not restrict.
type Query struct {
	// Text is what messages, tool calls, tool results and errors must contain: all
	// its words, in any case and order; a part in double quotes as it stands; a word
	// that ends in a star as the beginning of one. The first 64 KiB of an event can
	// be found.
	Text string
	// Session, Run, Agent and Tool are exact.
	Session, Run, Agent, Tool string
	// Kinds are those that an event may be of.
	Kinds []string
	// OrErrors adds to what is of these Kinds all that failed, whatever its kind.
	OrErrors bool
	// Class is a class of failure. A run that failed has "failed".
	Class string
	// Errors leaves only what failed, whatever its class.
	Errors bool
	// Since is the earliest time of an event, and Until the one it must be before.
	Since, Until time.Time
	// After and Before are the Numbers of hits, to go on from there.
	After, Before int64
	// Limit is the most hits.
	Limit int
}

// A Hit is an event that a query chose.
type Hit struct {
	// Number orders the events of all sessions as they were stored.
	Number int64
	// Event has no body where Err is set.
	Event troupe.Event
	// Err says that the stored event cannot be decoded.
	Err error
}

// Facets returns the tool that an event is about, and the class of failure it is.
func Facets(body troupe.Body) (tool, class string) {
	switch b := body.(type) {
	case *troupe.ToolCalled:
		return b.Tool, ""
	case *troupe.ToolReturned:
		return b.Tool, b.Class
	case *troupe.InputRequested:
		return b.Tool, ""
	case *troupe.RunFailed:
		return "", "failed"
	}
	return "", ""
}

// Nanoseconds returns a time to filter by. What is out of range is at its end.
func Nanoseconds(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year < 1700:
		return math.MinInt64
	case year > 2200:
		return horizon
	}
	return t.UnixNano()
}

// horizon is the latest time that is filtered by. It leaves room for keys that follow
// times to grow.
const horizon = 7_300_000_000 * int64(time.Second)
