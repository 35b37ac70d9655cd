-- Runs that are on record and that a worker is to carry out.
CREATE TABLE jobs (
	session text COLLATE "C" PRIMARY KEY,
	step    text NOT NULL,
	digest  text NOT NULL,
	"user"  text NOT NULL,
	queue   text COLLATE "C" NOT NULL,
	since   timestamptz NOT NULL DEFAULT clock_timestamp(),
	-- handed says when another scheduler was last given the job
	handed  timestamptz
);
CREATE INDEX jobs_by_queue ON jobs (queue, since);
