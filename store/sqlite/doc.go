// Package sqlite keeps sessions and their events in one SQLite file.
//
// Writes of all sessions go through one goroutine, which commits together what
// came in while it was busy: see [Store.Append]. Reads have connections of their
// own, hold them only while they fetch a page, and so never keep a writer waiting.
//
// What [Reader.Search] looks for in texts is in a full-text index that is written
// in the background, so that appending does not wait for it. A search for text
// completes the index first, or looks at what is not in it yet where it may not
// write: it finds whatever was stored before it began.
//
// Several processes may write to the file, and any number may read it with
// [OpenReadOnly]. Who writes to a session has a lease on it; a process that has ended,
// or was not heard of for long, loses its leases. What processes want of each other is
// in small tables that each looks at when another has changed the file. A file that is
// damaged is set aside by the first to open it and reported, never repaired or deleted;
// a search index that is damaged is built again.
package sqlite
