-- How many runs, and how many readers, each process has of each user. A crash may well
-- lose them: each process says again how many it has.
CREATE UNLOGGED TABLE places (
	person text COLLATE "C" NOT NULL,
	kind   text COLLATE "C" NOT NULL,
	owner  text COLLATE "C" NOT NULL,
	n      integer NOT NULL,
	PRIMARY KEY (person, kind, owner)
) WITH (fillfactor = 50);
-- The batch that has a job carried out, so many at the same time, where there is one.
ALTER TABLE jobs ADD COLUMN batch text COLLATE "C" NOT NULL DEFAULT '';
