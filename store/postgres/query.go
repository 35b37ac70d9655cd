package postgres

import (
	"math"

	"github.com/troupe-dev/troupe/store"
)

// A selection chooses events: those of a query, between two keys.
type selection struct {
	query *store.Query
	terms []term // of the text that is looked for
	// after and before are the keys to stay between, and latestFirst the order.
	after, before int64
	latestFirst   bool
	// indexed looks for the text in the index. Otherwise it has to be sifted out.
	indexed bool
	// since and until are snapshots: what the first sees is left out, and what the second
	// does not. Empty ones do not restrict.
	since, until string
}

// columns are those that make a hit.
const columns = "e.key, e.session, e.seq, e.time, e.run, e.agent, e.event"

// transaction is the one that stored an event.
const transaction = "(e.key >> 20)::text::xid8"

// compile writes the statement that reads some rows of the selection.
func (c *selection) compile(limit int) (statement string, values []any) {
	q := c.query
	var where conditions
	from := "events e"
	if c.indexed {
		from = "texts t JOIN events e ON e.month = t.month AND e.key = t.key"
		where.add("t.words @@ %s::tsquery", expression(c.terms))
	}
	if q.Session != "" {
		where.add("e.session = %s AND e.month = (SELECT month FROM sessions WHERE id = %s)", clean(q.Session), clean(q.Session))
	}
	where.equal("e.run", q.Run)
	where.equal("e.agent", q.Agent)
	where.equal("e.tool", q.Tool)
	where.equal("e.class", q.Class)
	if q.Errors {
		where.add("e.class IS NOT NULL")
	}
	if len(q.Kinds) > 0 {
		if q.OrErrors {
			where.add("(e.kind = ANY(%s) OR e.class IS NOT NULL)", q.Kinds)
		} else {
			where.add("e.kind = ANY(%s)", q.Kinds)
		}
	}
	if !q.Since.IsZero() {
		where.add("e.time >= %s", store.Nanoseconds(q.Since))
	}
	if !q.Until.IsZero() {
		where.add("e.time < %s", store.Nanoseconds(q.Until))
	}
	where.add("e.key > %s", max(c.after, q.After))
	if c.before < math.MaxInt64 {
		where.add("e.key < %s", c.before)
	}
	if c.since != "" {
		where.add("NOT pg_visible_in_snapshot("+transaction+", %s::pg_snapshot)", c.since)
	}
	if c.until != "" {
		where.add("pg_visible_in_snapshot("+transaction+", %s::pg_snapshot)", c.until)
	}
	order := "ASC"
	if c.latestFirst {
		order = "DESC"
	}
	return "SELECT " + columns + " FROM " + from + where.text() + " ORDER BY e.key " + order + " LIMIT " + where.value(limit), where.values
}
