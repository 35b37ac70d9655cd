// Package postgres keeps sessions and their events in PostgreSQL, for any number of
// processes on any number of machines.
//
// An append is one statement: it changes the session's row, if that is where the writer
// believes it to be and the writer's lease is the one that counts, and adds the events.
// Nobody else can get in between. Where the connection is lost before the answer has
// come, the store reads back what is there, and decides by the checksum of what it wrote.
//
// Leases go by the clock of the database, so a process whose clock is wrong does no harm.
// What a process has to tell others goes out together on a connection of its own, some
// milliseconds after it was stored: a NOTIFY inside the commits would put them in a queue.
//
// Events are ordered over all sessions by the transactions that stored them. A reader who
// follows compares snapshots, so that what was begun early and committed late is not
// missed, and nobody waits for somebody else's long transaction.
//
// Events are in partitions, one for each month in which sessions began: see [Store.Prune].
package postgres
