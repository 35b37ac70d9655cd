-- Who may write to a session, and until when, in nanoseconds. The owner is the name of
-- a file that the process has locked for as long as it lives.
CREATE TABLE leases (
	epoch   INTEGER PRIMARY KEY AUTOINCREMENT,
	session TEXT NOT NULL UNIQUE,
	owner   TEXT NOT NULL,
	about   TEXT NOT NULL,
	until   INTEGER NOT NULL
) STRICT;

-- What others ask of a session's owner.
CREATE TABLE requests (
	number  INTEGER PRIMARY KEY,
	session TEXT NOT NULL,
	request TEXT NOT NULL,
	UNIQUE (session, request)
) STRICT;

-- Replies in progress, while somebody asks for them.
CREATE TABLE live (
	session TEXT PRIMARY KEY,
	replies TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_of_status ON sessions (status, updated DESC, id);

-- The greatest key that had been given when a session was last deleted.
ALTER TABLE indexed ADD COLUMN given INTEGER NOT NULL DEFAULT 0;

-- A checksum of the event and of the one before it, and the latest of a session. Events
-- that were stored before there were checksums have none.
ALTER TABLE events ADD COLUMN sum BLOB;
ALTER TABLE sessions ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
