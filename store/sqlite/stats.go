package sqlite

import "sync/atomic"

// Stats counts what a store did since it was opened.
type Stats struct {
	// Appends and Events count what was stored, and Commits the transactions it
	// took. Refused counts writes that did not fit what is stored.
	Appends, Events, Commits, Refused int64
	// LargestCommit is the most appends that shared a transaction.
	LargestCommit int64
}

// Stats returns the counters of a store that is only read: it does nothing.
func (r *Reader) Stats() Stats { return Stats{} }

// Stats returns the counters as they are now.
func (s *Store) Stats() Stats {
	c := &s.writer.counters
	return Stats{c.appends.Load(), c.events.Load(), c.commits.Load(), c.refused.Load(), c.largest.Load()}
}

// counters are written by the writer alone.
type counters struct{ appends, events, commits, refused, largest atomic.Int64 }

// note counts the jobs of a transaction that was committed. It reports whether
// there are new events.
func (c *counters) note(batch []*job) bool {
	var appends int64
	for _, j := range batch {
		switch {
		case j.err != nil:
			c.refused.Add(1)
		case j.events > 0:
			appends++
			c.events.Add(int64(j.events))
		}
	}
	if appends > 0 {
		c.commits.Add(1)
		c.appends.Add(appends)
		c.largest.Store(max(c.largest.Load(), appends))
	}
	return appends > 0
}
