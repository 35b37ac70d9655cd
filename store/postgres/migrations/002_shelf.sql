-- Small things that servers share: what people decide about sessions, and the like.
CREATE TABLE shelf (
	name    text COLLATE "C" PRIMARY KEY,
	value   bytea NOT NULL,
	changed timestamptz NOT NULL DEFAULT now()
);
