package store

import (
	"fmt"

	"github.com/troupe-dev/troupe"
)

// Columns are what a store keeps beside an event, to find it by. They follow from the event.
type Columns struct {
	Time                          int64
	Run, Agent, Kind, Tool, Class string
}

// ColumnsOf returns the columns of an event.
func ColumnsOf(e *troupe.Event) Columns {
	tool, class := Facets(e.Body)
	return Columns{Nanoseconds(e.Time), e.Run, e.Agent, e.Kind(), tool, class}
}

// Against says which column is not what the event says, given the columns that follow from it.
// It returns nothing where all are.
func (c Columns) Against(derived Columns) string {
	if c.Time != derived.Time {
		return "the store has it at another time than it says itself"
	}
	return unlike("the store has it with the %s %.60q, and the event itself has %.60q", [][3]string{
		{"kind", c.Kind, derived.Kind}, {"agent", c.Agent, derived.Agent}, {"run", c.Run, derived.Run}, {"tool", c.Tool, derived.Tool}, {"class", c.Class, derived.Class},
	})
}

// AgainstEvents says what of a session's summary is not what its events say, given the summary
// that follows from them. It returns nothing where all is.
func AgainstEvents(kept, derived *troupe.SessionInfo) string {
	switch {
	case Nanoseconds(kept.Started) != Nanoseconds(derived.Started):
		return "it is listed with another start than its events say"
	case Nanoseconds(kept.Updated) != Nanoseconds(derived.Updated):
		return "it is listed with another time of its last event than that says"
	}
	return unlike("it is listed with the %s %.60q, and by its events it is %.60q", [][3]string{
		{"id", kept.ID, derived.ID}, {"user", kept.User, derived.User}, {"agent", kept.Agent, derived.Agent},
		{"title", kept.Title, derived.Title}, {"status", kept.Status, derived.Status},
	})
}

// unlike says which of some names has two values: what is kept, and what should be.
func unlike(format string, fields [][3]string) string {
	for _, f := range fields {
		// In JSON what is no text has become what a conversion makes of it.
		if kept := string([]rune(f[1])); kept != string([]rune(f[2])) {
			return fmt.Sprintf(format, f[0], kept, f[2])
		}
	}
	return ""
}
