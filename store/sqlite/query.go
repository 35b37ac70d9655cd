package sqlite

import (
	"strings"

	"github.com/troupe-dev/troupe/store"
)

// A Query chooses events of all sessions, and a Hit is one of them.
type (
	Query = store.Query
	Hit   = store.Hit
)

// floor returns a key that those of all events in question are greater than: a key
// is not less than its event's time. SQLite makes use of one such bound only.
func floor(q *Query) int64 {
	if q.Since.IsZero() {
		return q.After
	}
	return max(q.After, max(store.Nanoseconds(q.Since), 1)-1)
}

// A selection is SQL that yields events, and the values for it but for the last three:
// the keys to stay between, and how many.
type selection struct {
	text   string
	values []any
	// sift says that the text is still to be looked for.
	sift bool
}

// unindexed selects by everything but the text.
func unindexed(q *Query, order string) selection {
	chosen := compile(q, "events e", "e.key", conditions{}, order)
	chosen.sift = q.Text != ""
	return chosen
}

// indexed selects by the text too, in what is indexed.
func indexed(q *Query, order string) (selection, error) {
	expression, err := matchExpression(q.Text)
	if err != nil {
		return selection{}, err
	}
	var where conditions
	where.add("texts MATCH ?", expression)
	// The words come first: CROSS JOIN keeps the order of the tables.
	return compile(q, "texts CROSS JOIN events e ON e.key = texts.rowid", "texts.rowid", where, order), nil
}

func compile(q *Query, from, key string, where conditions, order string) selection {
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
		where.add("e.time >= ?", store.Nanoseconds(q.Since))
	}
	if !q.Until.IsZero() {
		where.add("e.time < ?", store.Nanoseconds(q.Until))
	}
	where.add(key + " > ? AND " + key + " < ?")
	text := "SELECT e.key, s.id, e.seq, e.time, e.run, e.agent, c.event FROM " + from +
		" JOIN contents c ON c.key = e.key JOIN sessions s ON s.number = e.session" + where.text() + " ORDER BY " + key + " " + order + " LIMIT ?"
	return selection{text: text, values: where.values}
}
