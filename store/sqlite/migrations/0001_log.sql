-- The id says whose file this is: "Trpe".
PRAGMA application_id = 0x54727065;

-- A session, with the summary that lists show. Times are texts of one length, in
-- UTC, so they sort. A number is never given twice.
CREATE TABLE sessions (
	number  INTEGER PRIMARY KEY AUTOINCREMENT,
	id      TEXT NOT NULL UNIQUE,
	agent   TEXT NOT NULL,
	title   TEXT NOT NULL,
	status  TEXT NOT NULL,
	started TEXT NOT NULL,
	updated TEXT NOT NULL,
	events  INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_latest ON sessions (updated DESC, id);

-- What searches filter by. Rows are short, so that a search which no index helps
-- can look at all of them. The key orders all events as they were stored, and is
-- not less than the event's time in nanoseconds.
CREATE TABLE events (
	key     INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	time    INTEGER NOT NULL,
	run     TEXT NOT NULL,
	agent   TEXT NOT NULL,
	kind    TEXT NOT NULL,
	tool    TEXT,
	class   TEXT
) STRICT;

CREATE UNIQUE INDEX events_of_session ON events (session, seq);

-- The events themselves, in JSON.
CREATE TABLE contents (
	key   INTEGER PRIMARY KEY,
	event TEXT NOT NULL
) STRICT;

-- The words of events with a key up to the one in indexed.
CREATE VIRTUAL TABLE texts USING fts5 (
	text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE indexed (upto INTEGER NOT NULL) STRICT;
INSERT INTO indexed VALUES (0);
