-- A session, with the summary that lists show and with who may write to it. One that was
-- acquired and has no events yet is a row too. Times are nanoseconds.
CREATE TABLE sessions (
	id      text COLLATE "C" PRIMARY KEY,
	month   integer NOT NULL,                  -- that its events are kept under
	person  text COLLATE "C" NOT NULL DEFAULT '',
	agent   text COLLATE "C" NOT NULL DEFAULT '',
	title   text NOT NULL DEFAULT '',
	status  text COLLATE "C" NOT NULL DEFAULT '',
	started bigint NOT NULL DEFAULT 0,
	updated bigint NOT NULL DEFAULT 0,
	events  bigint NOT NULL DEFAULT 0,
	chain   bytea NOT NULL DEFAULT '',         -- the checksum of its last event
	epoch   bigint NOT NULL DEFAULT 0,
	owner   text COLLATE "C",                  -- NULL if nobody has it
	since   bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX sessions_latest ON sessions (updated DESC, id) WHERE events > 0;
CREATE INDEX sessions_of_person ON sessions (person, updated DESC, id) WHERE events > 0;
CREATE INDEX sessions_of_status ON sessions (status, updated DESC, id) WHERE events > 0;
CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL;
CREATE INDEX sessions_of_month ON sessions (month);

-- Epochs are never given twice, whatever becomes of the session.
CREATE SEQUENCE epochs;

-- A process that has the store open, and until when it keeps its sessions unheard.
CREATE TABLE owners (
	name  text COLLATE "C" PRIMARY KEY,
	host  text NOT NULL,
	pid   bigint NOT NULL,
	lease interval NOT NULL,
	until timestamptz NOT NULL
);

-- The events in JSON, as texts: jsonb knows no \u0000. The key is that of the transaction
-- that stored the event, and its place in it.
CREATE TABLE events (
	month   integer NOT NULL,
	session text COLLATE "C" NOT NULL,
	seq     bigint NOT NULL,
	key     bigint NOT NULL,
	time    bigint NOT NULL,
	run     text COLLATE "C" NOT NULL,
	agent   text COLLATE "C" NOT NULL,
	kind    text COLLATE "C" NOT NULL,
	tool    text COLLATE "C",
	class   text COLLATE "C",
	sum     bytea NOT NULL,
	event   text NOT NULL,
	PRIMARY KEY (month, session, seq)
) PARTITION BY RANGE (month);

CREATE INDEX events_in_order ON events (key);
CREATE INDEX events_failed ON events (key) WHERE class IS NOT NULL;
CREATE INDEX events_by_time ON events USING brin (time);

-- The words of events with a key up to the one in indexed.
CREATE TABLE texts (
	month integer NOT NULL,
	key   bigint NOT NULL,
	words tsvector NOT NULL,
	PRIMARY KEY (month, key)
) PARTITION BY RANGE (month);

CREATE INDEX texts_by_word ON texts USING gin (words);

CREATE TABLE indexed (upto bigint NOT NULL);
INSERT INTO indexed VALUES (0);

-- Replies in progress, while somebody asks for them. A crash may well lose them.
CREATE UNLOGGED TABLE live (
	session text COLLATE "C" PRIMARY KEY,
	epoch   bigint NOT NULL,
	replies text NOT NULL
);
