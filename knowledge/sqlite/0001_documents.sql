-- The id says whose file this is: "Tkbs".
PRAGMA application_id = 0x546b6273;

CREATE TABLE users (
	name       TEXT PRIMARY KEY,
	email      TEXT NOT NULL,
	role       TEXT NOT NULL,
	salt       BLOB NOT NULL,
	iterations INTEGER NOT NULL,
	hash       BLOB NOT NULL
) STRICT;

-- A version of a document. The content comes last, so that the rest is read without it.
CREATE TABLE documents (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	user        TEXT NOT NULL,
	name        TEXT NOT NULL,
	version     INTEGER NOT NULL,
	latest      INTEGER NOT NULL,
	sha256      TEXT NOT NULL,
	size        INTEGER NOT NULL,
	uploaded    INTEGER NOT NULL, -- nanoseconds since 1970
	description TEXT NOT NULL,
	tags        TEXT NOT NULL,    -- a JSON array
	content     TEXT NOT NULL,
	UNIQUE (user, name, version)
) STRICT;

CREATE UNIQUE INDEX documents_latest ON documents (user, name) WHERE latest;

-- The uploads that happen once.
CREATE TABLE keys (
	user     TEXT NOT NULL,
	key      TEXT NOT NULL,
	document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
	PRIMARY KEY (user, key)
) STRICT;

CREATE INDEX keys_of_document ON keys (document);

-- The parts of documents in their latest version.
CREATE TABLE passages (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
	heading  TEXT NOT NULL,
	text     TEXT NOT NULL
) STRICT;

CREATE INDEX passages_of_document ON passages (document);

CREATE VIRTUAL TABLE words USING fts5 (
	about, heading, text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER passages_deleted AFTER DELETE ON passages BEGIN
	DELETE FROM words WHERE rowid = old.id;
END;
