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
// The file belongs to one process at a time; any number of others may read it with
// [OpenReadOnly]. A file that is damaged is set aside by its owner and reported,
// never repaired or deleted.
package sqlite
