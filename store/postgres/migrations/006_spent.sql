-- What models' answers have cost, by day (UTC) and by the agent that got them. Of each
-- there are several parts, so that sessions that are written to at the same time seldom
-- wait for each other.
CREATE TABLE spent (
	day   text COLLATE "C" NOT NULL,
	agent text COLLATE "C" NOT NULL,
	part  smallint NOT NULL,
	cost  double precision NOT NULL,
	PRIMARY KEY (day, agent, part)
) WITH (fillfactor = 70);

-- An event's text may have a \u0000, which PostgreSQL's JSON does not read. What follows
-- the cost are numbers, names and one flat object. What a fork begins with was paid in
-- another session.
INSERT INTO spent
SELECT day, agent, 0, sum(cost::double precision) FROM (
	SELECT to_char(to_timestamp(e.time / 1000000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, e.agent,
		substring(right(e.event, 4000) FROM '"cost":([-+0-9.eE]+),"latency_ms":[0-9]+,"first_token_ms":[^{}]*"context":[{][^{}]*[}][}][}]$') AS cost
	FROM events e
	LEFT JOIN (SELECT month, session, max(seq) AS seq FROM events WHERE kind = 'session_forked' GROUP BY month, session) f ON f.month = e.month AND f.session = e.session
	WHERE e.kind = 'model_replied' AND e.seq > coalesce(f.seq, 0)
) AS replies WHERE cost IS NOT NULL GROUP BY day, agent;
