CREATE TABLE version (number INTEGER NOT NULL);

CREATE TABLE users (
	name       TEXT PRIMARY KEY,
	email      TEXT NOT NULL,
	role       TEXT NOT NULL,
	salt       BYTEA NOT NULL,
	iterations INTEGER NOT NULL,
	hash       BYTEA NOT NULL
);

-- A version of a document. What people write freely is kept as bytes: it may hold a zero
-- byte, which text may not.
CREATE TABLE documents (
	id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	"user"      TEXT NOT NULL,
	name        TEXT NOT NULL,
	version     INTEGER NOT NULL,
	latest      BOOLEAN NOT NULL,
	sha256      TEXT NOT NULL,
	size        BIGINT NOT NULL,
	uploaded    BIGINT NOT NULL, -- nanoseconds since 1970
	description BYTEA NOT NULL,
	tags        TEXT NOT NULL,   -- a JSON array
	content     BYTEA NOT NULL,
	UNIQUE ("user", name, version)
);

CREATE UNIQUE INDEX documents_latest ON documents ("user", name) WHERE latest;

-- The uploads that happen once.
CREATE TABLE keys (
	"user"   TEXT NOT NULL,
	key      BYTEA NOT NULL,
	document BIGINT NOT NULL REFERENCES documents ON DELETE CASCADE,
	PRIMARY KEY ("user", key)
);

CREATE INDEX keys_of_document ON keys (document);

-- The parts of documents in their latest version, and how many words each has.
CREATE TABLE passages (
	id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	document BIGINT NOT NULL REFERENCES documents ON DELETE CASCADE,
	heading  BYTEA NOT NULL,
	text     BYTEA NOT NULL,
	length   INTEGER NOT NULL
);

CREATE INDEX passages_of_document ON passages (document);

-- Which words are in which passages, and how often. It is a table of our own, because
-- what PostgreSQL takes for a word depends on the locale of the database.
CREATE TABLE words (
	term    TEXT NOT NULL,
	passage BIGINT NOT NULL REFERENCES passages ON DELETE CASCADE,
	often   REAL NOT NULL,
	PRIMARY KEY (term, passage)
);

CREATE INDEX words_of_passage ON words (passage);

-- Takes the endings of English words away; all words count, also the small ones.
CREATE TEXT SEARCH DICTIONARY stem (TEMPLATE = snowball, LANGUAGE = english);
