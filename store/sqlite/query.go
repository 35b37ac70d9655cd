package sqlite

import (
	"strings"
	"time"
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
	// Class is a class of failure. A run that failed has ["failed"].
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

// floor returns a key that those of all events in question are greater than: a key
// is not less than its event's time. SQLite makes use of one such bound only.
func (q *Query) floor() int64 {
	if q.Since.IsZero() {
		return q.After
	}
	return max(q.After, max(nanoseconds(q.Since), 1)-1)
}

// A selection is SQL that yields the keys of events, and the values for it but for
// the last three: the keys to stay between, and how many.
type selection struct {
	text   string
	values []any
	// sift says that the text is still to be looked for.
	sift bool
}

// unindexed selects by everything but the text.
func (q *Query) unindexed(order string) selection {
	chosen := q.compile("events e", "e.key", conditions{}, order)
	chosen.sift = q.Text != ""
	return chosen
}

// indexed selects by the text too, in what is indexed.
func (q *Query) indexed(order string) (selection, error) {
	expression, err := matchExpression(q.Text)
	if err != nil {
		return selection{}, err
	}
	var where conditions
	where.add("texts MATCH ?", expression)
	// The words come first: CROSS JOIN keeps the order of the tables.
	return q.compile("texts CROSS JOIN events e ON e.key = texts.rowid", "texts.rowid", where, order), nil
}

func (q *Query) compile(from, key string, where conditions, order string) selection {
	if q.Session != "" {
		where.add("e.session = (SELECT number FROM sessions WHERE id = ?)", q.Session)
	}
	where.equal("e.run", q.Run)
	where.equal("e.agent", q.Agent)
	where.equal("e.tool", q.Tool)
	where.equal("e.class", string(q.Class))
	if q.Errors {
		where.add("e.class IS NOT NULL")
	}
	if len(q.Kinds) > 0 {
		term := "e.kind IN (?" + strings.Repeat(", ?", len(q.Kinds)-1) + ")"
		if q.OrErrors {
			term = "(" + term + " OR e.class IS NOT NULL)"
		}
		var kinds []any
		for _, kind := range q.Kinds {
			kinds = append(kinds, string(kind))
		}
		where.add(term, kinds...)
	}
	if !q.Since.IsZero() {
		where.add("e.time >= ?", nanoseconds(q.Since))
	}
	if !q.Until.IsZero() {
		where.add("e.time < ?", nanoseconds(q.Until))
	}
	where.add(key + " > ? AND " + key + " < ?")
	text := "SELECT " + key + " FROM " + from + where.text() + " ORDER BY " + key + " " + order + " LIMIT ?"
	return selection{text: text, values: where.values}
}
