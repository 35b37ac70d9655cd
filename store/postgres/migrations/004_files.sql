-- Files that agents and people save, by what is in them, and where they belong.
CREATE TABLE blobs (
	hash    text COLLATE "C" PRIMARY KEY,
	content bytea NOT NULL,
	made    timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE blobs ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE files (
	space text COLLATE "C" NOT NULL,
	path  text COLLATE "C" NOT NULL,
	hash  text COLLATE "C" NOT NULL REFERENCES blobs,
	PRIMARY KEY (space, path)
);
CREATE INDEX files_by_hash ON files (hash);
