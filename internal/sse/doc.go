// Package sse reads and writes server-sent events, the text/event-stream format
// of the HTML standard.
package sse

import (
	"errors"
	"time"
)

// DefaultMaxLine bounds a line, and the data of one event, where nothing else is said.
const DefaultMaxLine = 1 << 20

// ErrTooLong reports a line, or an event of many lines, beyond the reader's limit.
var ErrTooLong = errors.New("server-sent event is too long")

// ErrBadField reports an event name or id that would not survive being written:
// neither may hold a line break, nor an id a NUL.
var ErrBadField = errors.New("server-sent event name or id holds a line break or NUL")

// An Event is one message of a stream.
type Event struct {
	// Name is the event's type; empty means "message".
	Name []byte
	// ID is the last id the stream has given, with this event or an earlier one.
	ID []byte
	// Data is the event's data lines, joined by line feeds.
	Data []byte
	// Retry is the last reconnection time the stream has asked for; 0 means none.
	Retry time.Duration
	// Cut says that the stream ended before the blank line that ends an event.
	// The standard drops such an event, yet some servers leave the last blank line
	// out, so it is delivered and the caller judges whether Data is whole.
	Cut bool
}
