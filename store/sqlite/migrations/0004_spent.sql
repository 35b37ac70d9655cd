-- What models' answers have cost, by day (UTC) and by the agent that got them.
CREATE TABLE spent (
	day   TEXT NOT NULL,
	agent TEXT NOT NULL,
	cost  REAL NOT NULL,
	PRIMARY KEY (day, agent)
) STRICT, WITHOUT ROWID;

-- Events that cannot be read are counted by nobody, and what a fork begins with was paid
-- in another session.
INSERT INTO spent
SELECT day, agent, sum(cost) FROM (
	SELECT date(e.time / 1000000000, 'unixepoch') AS day, e.agent AS agent,
		CASE WHEN json_valid(c.event) THEN CAST(c.event ->> '$.body.cost' AS REAL) END AS cost
	FROM events e JOIN contents c ON c.key = e.key
	LEFT JOIN (SELECT session, max(seq) AS seq FROM events WHERE kind = 'session_forked' GROUP BY session) f ON f.session = e.session
	WHERE e.kind = 'model_replied' AND e.seq > coalesce(f.seq, 0)
) WHERE cost <> 0 GROUP BY day, agent;
